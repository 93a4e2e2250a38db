"""Prints the fingerprint of an OpenPGP public key in ASCII armour, as gpg prints it.

usage: key_fingerprint.py < KEY

Images need not have gpg, and apt takes whatever key a file holds.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import sys
from collections.abc import Iterator

_PUBLIC_KEY = 6
_VERSION = 4


def fingerprints(armoured: str) -> list[str]:
    """Return the fingerprint of each primary key.

    Args:
        armoured: The key's text.

    Raises:
        ValueError: It is none.
    """
    found = [
        hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body, usedforsecurity=False)
        for tag, body in _packets(_dearmoured(armoured))
        if tag == _PUBLIC_KEY and body[0] == _VERSION
    ]
    return [digest.hexdigest().upper() for digest in found]


def _dearmoured(text: str) -> bytes:
    lines = [line.strip() for line in text.splitlines()]
    try:
        first = lines.index("-----BEGIN PGP PUBLIC KEY BLOCK-----")
        last = lines.index("-----END PGP PUBLIC KEY BLOCK-----")
        blank = lines.index("", first, last)
        data = [line for line in lines[blank:last] if not line.startswith("=")]
        return base64.b64decode("".join(data), validate=True)
    except (ValueError, binascii.Error):
        raise ValueError("this is no public key") from None


def _packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    # RFC 4880, section 4.2: packet headers.
    at = 0
    while at < len(data):
        head, at = data[at], at + 1
        if head & 0x40:
            tag, first = head & 0x3F, data[at]
            if first < 192:
                size, at = first, at + 1
            elif first < 224:
                size, at = ((first - 192) << 8) + data[at + 1] + 192, at + 2
            else:
                size, at = int.from_bytes(data[at + 1 : at + 5], "big"), at + 5
        else:
            tag, width = (head >> 2) & 0x0F, 1 << (head & 0x03)
            size, at = int.from_bytes(data[at : at + width], "big"), at + width
        yield tag, data[at : at + size]
        at += size


if __name__ == "__main__":
    try:
        print("\n".join(fingerprints(sys.stdin.read())))
    except ValueError as error:
        sys.exit(f"key_fingerprint: {error}")
