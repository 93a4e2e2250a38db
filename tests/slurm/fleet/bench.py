"""Machines with systemd on which single scripts of the boot are tried, and sites they reach."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests.slurm.lab.machines import Machine
from tests.waiting import wait_until
from trainshed._assets import ASSETS

from .aws import GATEWAY
from .image import bare_image
from .lab import FleetLab

_HERE = Path(__file__).resolve().parent
_AUTHORITY = "usr/local/share/ca-certificates/lab.crt"
SCRIPTS = "/opt/node"


class Bench(FleetLab):
    """A fleet lab whose machines boot nothing by themselves; the scripts are at /opt/node.

    Args:
        work: Empty directory.
        hosts: Names that are served over HTTPS, from ``site`` / name.
    """

    def __init__(self, work: Path, hosts: tuple[str, ...] = ()) -> None:
        super().__init__(work, bare_image(work))
        self._hosts = hosts
        self.site = work / "site"
        """What the hosts serve: a directory each."""

    def __enter__(self) -> Bench:
        """Start the network, AWS and the sites."""
        super().__enter__()
        for host in self._hosts:
            (self.site / host).mkdir(parents=True)
            self.aws.names[host.lower()] = GATEWAY
        if self._hosts:
            self._serve()
        return self

    def user_data(self, role: str, queue: str) -> str:
        """Return user data that does nothing."""
        return "#!/bin/sh\n"

    def start(self) -> Machine:
        """Start a machine that trusts the lab's authority."""
        machine = self.launch("login").machine
        # Until then, systemd still clears /tmp.
        state = ("systemctl", "is-system-running")
        wait_until(
            lambda: machine.try_run(*state).stdout.strip() in ("running", "degraded"), "systemd"
        )
        shutil.copytree(ASSETS / "node", machine.files / SCRIPTS.lstrip("/"))
        if self._hosts:
            shutil.copy(self.work / "cert.pem", machine.files / _AUTHORITY)
            machine.run("update-ca-certificates")
        return machine

    def _serve(self) -> None:
        certificate, key = self.work / "cert.pem", self.work / "key.pem"
        names = ",".join(f"DNS:{host}" for host in self._hosts)
        new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        files = ["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=lab"]
        extra = ["-addext", f"subjectAltName={names}"]
        subprocess.run([*new, *files, *extra], check=True, capture_output=True)
        command = [sys.executable, str(_HERE / "https_site.py"), GATEWAY, str(self.site)]
        with (self.work / "site.log").open("wb") as log:
            server = subprocess.Popen(
                [*self.in_switch(), *command, str(certificate), str(key)], stdout=log, stderr=log
            )
        self.children.append(server)


class Signer:
    """A key of the lab's own, with which packages and their lists are signed.

    Args:
        home: Empty directory for gpg.
    """

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self._gpg = ["gpg", "--batch", "--quiet", "--homedir", str(home)]
        new = ["--passphrase", "", "--quick-generate-key", "lab <lab@example.org>", "rsa2048"]
        self.run(*new)
        lines = self.run("--list-keys", "--with-colons").decode().splitlines()
        self.fingerprint = next(line.split(":")[9] for line in lines if line.startswith("fpr"))
        """As gpg prints it."""
        self.public = self.run("--armor", "--export")
        """The public key in ASCII armour."""

    def run(self, *arguments: str, data: bytes = b"") -> bytes:
        """Run gpg and return what it prints."""
        done = subprocess.run(
            [*self._gpg, *arguments], input=data, check=True, stdout=subprocess.PIPE
        )
        return done.stdout

    def close(self) -> None:
        """End gpg's agent."""
        home = self._gpg[-1]
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=True)


def make_package(directory: Path, name: str, files: dict[str, bytes], **control: str) -> Path:
    """Make a Debian package by dpkg-deb, and return it.

    Args:
        directory: Where it goes.
        name: Name of the package.
        files: Content of its programs by path; ``DEBIAN/postinst`` too.
        control: More lines of its control file.
    """
    tree = directory / f"{name}.tree"
    fields = {
        "Package": name,
        "Version": "1.0",
        "Architecture": "all",
        "Maintainer": "lab",
        "Description": "stands in",
        **control,
    }
    text = "".join(f"{key}: {value}\n" for key, value in fields.items())
    for path, data in {**files, "DEBIAN/control": text.encode()}.items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o644 if path.endswith("control") else 0o755)
    package = directory / f"{name}_1.0_all.deb"
    build = ["dpkg-deb", "--build", "--root-owner-group", str(tree), str(package)]
    subprocess.run(build, check=True, capture_output=True)
    shutil.rmtree(tree)
    return package


def make_repository(root: Path, suite: str, signer: Signer) -> None:
    """Write the signed lists of the packages in ``root``, as a mirror has them."""
    entries = []
    for package in sorted(root.glob("*.deb")):
        shown = subprocess.run(["dpkg-deb", "--field", package], check=True, capture_output=True)
        data = package.read_bytes()
        entries.append(
            f"{shown.stdout.decode().strip()}\nFilename: {package.name}\nSize: {len(data)}\n"
            f"SHA256: {hashlib.sha256(data).hexdigest()}\n"
        )
    lists = root / "dists" / suite
    index = lists / "main/binary-amd64/Packages"
    index.parent.mkdir(parents=True, exist_ok=True)
    index.write_text("\n".join(entries))
    size, sha256 = index.stat().st_size, hashlib.sha256(index.read_bytes()).hexdigest()
    release = (
        f"Suite: {suite}\nCodename: {suite}\nComponents: main\nArchitectures: amd64\n"
        f"Date: Sun, 29 Nov 2026 00:00:00 UTC\n"
        f"SHA256:\n {sha256} {size} main/binary-amd64/Packages\n"
    )
    (lists / "InRelease").write_bytes(signer.run("--clearsign", data=release.encode()))
