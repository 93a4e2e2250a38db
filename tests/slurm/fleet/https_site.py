"""Serves a directory over HTTPS to a lab's machines, by the host name that they ask for.

usage: https_site.py ADDRESS DIRECTORY CERTIFICATE KEY
"""

from __future__ import annotations

import http.server
import ssl
import sys
from functools import partial


class ByHost(http.server.SimpleHTTPRequestHandler):
    """Serves DIRECTORY/HOST/PATH."""

    # A connection that ends with its answer has no proper end of TLS, which apt wants.
    protocol_version = "HTTP/1.1"

    def translate_path(self, path: str) -> str:
        """Return the file of a path."""
        return super().translate_path(f"/{self.headers['Host']}{path}")


def main(address: str, directory: str, certificate: str, key: str) -> None:
    """Serve until killed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    handler = partial(ByHost, directory=directory)
    server = http.server.ThreadingHTTPServer((address, 443), handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
