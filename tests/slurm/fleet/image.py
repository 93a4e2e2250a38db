"""The disk that a lab's instances start from: a userland, and what stands in for AWS's image."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from trainshed._assets import ASSETS

from . import hardware
from .aws import ENDPOINT, GATEWAY, TIME

_HERE = Path(__file__).resolve().parent
CACHE = Path(__file__).resolve().parents[3] / ".cache" / "slurm"
BASE = CACHE / "root-fleet"
"""Debian 13 without Slurm: what the Deep Learning AMI is on AWS. scripts/slurm_lab.sh makes it."""
PACKAGES = CACHE / "packages.tar"
"""What assets/node/package_cache.sh made of it."""
SLURM_VERSION = "24.11"
_KEPT_SECONDS = 4 * 3600

# Units that a machine without hardware of its own does without.
_MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "console-getty.service",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty.target",
    "ldconfig.service",
    "mdmonitor.service",
    "remote-fs.target",
    "systemd-binfmt.service",
    "systemd-firstboot.service",
    "systemd-hwdb-update.service",
    "systemd-logind.service",
    "systemd-networkd-wait-online.service",
    "systemd-networkd.service",
    "systemd-networkd.socket",
    "systemd-resolved.service",
    "systemd-sysctl.service",
    "systemd-tmpfiles-clean.timer",
    "systemd-udev-trigger.service",
    "systemd-udevd-control.socket",
    "systemd-udevd-kernel.socket",
    "systemd-udevd.service",
)
# What cloud-init does with user data, for machines too small for cloud-init itself.
_USER_DATA = """\
[Unit]
Wants=network-online.target
After=network-online.target
ConditionPathExists=!/var/lib/cloud/lab-user-data
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/lab-user-data
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target
"""
_RUN_USER_DATA = """\
#!/bin/bash
set -eu
mkdir -p /var/lib/cloud
token=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' \
  http://169.254.169.254/latest/api/token)
curl -sf -H "X-aws-ec2-metadata-token: $token" -o /var/lib/cloud/lab-user-data \
  http://169.254.169.254/latest/user-data
chmod 0700 /var/lib/cloud/lab-user-data
exec /var/lib/cloud/lab-user-data
"""
# FSx: the directory that every machine of the lab has, under the name that the test mounts.
_MOUNT_LUSTRE = """\
#!/bin/bash
set -eu
[[ -d /srv/fsx/${1%%@*} ]] || {
  echo "mount.lustre: mount $1 at $2 failed: No route to host" >&2
  exit 113
}
exec mount --bind "/srv/fsx/${1%%@*}" "$2"
"""
_KERNEL = """
Package: linux-image-aws
Status: install ok installed
Maintainer: lab
Architecture: all
Version: 6.8.0-1
Description: stands in for the kernel of the image
"""


def image_files(base: Path) -> dict[str, str]:
    """Return the files that a lab's image has over a userland."""
    status = (base / "var/lib/dpkg/status").read_text()
    unit = "etc/systemd/system"
    return {
        "etc/systemd/system.conf.d/lab.conf": (
            f"[Manager]\nDefaultEnvironment=AWS_ENDPOINT_URL={ENDPOINT} TRAINSHED_ROUND_SECONDS=3\n"
        ),
        "etc/resolv.conf": f"nameserver {GATEWAY}\noptions timeout:1 attempts:1\n",
        "etc/hosts": "127.0.0.1 localhost\n",
        "etc/fstab": "",
        # The clock is the host's, so chrony compares and does not set.
        "etc/default/chrony": 'DAEMON_OPTS="-F 1 -x"\n',
        "etc/chrony/sources.d/amazon.sources": f"server {TIME} prefer iburst minpoll 4 maxpoll 4\n",
        f"{unit}/chrony.service.d/lab.conf": "[Unit]\nConditionCapability=\n",
        f"{unit}/lab-user-data.service": _USER_DATA,
        "etc/apt/sources.list": f"deb [trusted=yes] http://{GATEWAY}:8080/ ./\n",
        "etc/cloud/cloud-init.disabled": "",
        "var/lib/dpkg/info/linux-image-aws.list": "/.\n",
        "var/lib/dpkg/info/linux-image-aws.md5sums": "",
        "var/lib/dpkg/status": status.rstrip("\n") + "\n" + _KERNEL,
    }


def image_programs() -> dict[str, str]:
    """Return the programs that stand in for what only AWS's image has."""
    return {
        "usr/local/sbin/lab-user-data": _RUN_USER_DATA,
        "usr/sbin/mount.lustre": _MOUNT_LUSTRE,
        "usr/sbin/lctl": "#!/bin/sh\nexit 0\n",
        # Lustre's module, of which the boot asks whether it is there.
        "usr/local/sbin/modinfo": (
            '#!/bin/sh\ncase "$*" in *" lustre") exit 0 ;; esac\nexec /usr/sbin/modinfo "$@"\n'
        ),
    }


def write_image(base: Path, target: Path) -> None:
    """Write a layer that makes a lab's image of a userland."""
    for name, text in {**image_files(base), **hardware.image_files()}.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, text in {**image_programs(), **hardware.image_programs()}.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    units = target / "etc/systemd/system"
    for name in _MASKED:
        (units / name).symlink_to("/dev/null")
    (units / "multi-user.target.wants").mkdir()
    (units / "multi-user.target.wants/lab-user-data.service").symlink_to(
        "/etc/systemd/system/lab-user-data.service"
    )


@dataclass(frozen=True)
class Image:
    """Layers of a machine's disk, the uppermost first."""

    layers: tuple[Path, ...]

    @property
    def lower(self) -> str:
        """What an overlay is told."""
        return ":".join(str(layer) for layer in self.layers)


def bare_image(work: Path, base: Path = BASE) -> Image:
    """Return an image without Slurm, made below a directory."""
    layer = work / "image"
    if not layer.exists():
        write_image(base, layer)
    return Image((layer, base))


def installed_image(work: Path, base: Path = BASE, packages: Path = PACKAGES) -> Image:
    """Return an image on which install_packages.sh has run, for head and compute nodes.

    It is kept in ``.cache`` as long as nothing that it is made of changes.
    """
    bare = bare_image(work, base)
    script = ASSETS / "node" / "install_packages.sh"
    made_of = hashlib.sha256(script.read_bytes() + (ASSETS / "node/common.sh").read_bytes())
    made_of.update(str((packages.stat().st_size, packages.stat().st_mtime_ns)).encode())
    made_of.update(repr(image_files(base)).encode())
    layer = CACHE / f"installed-{made_of.hexdigest()[:12]}"
    # Tests run in several processes, and the first one to come makes it.
    with (CACHE / "installed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not layer.exists():
            # A lab of another process may stand on one that was used lately.
            for old in CACHE.glob("installed-*"):
                if old.is_dir() and time.time() - old.stat().st_mtime > _KEPT_SECONDS:
                    shutil.rmtree(old)
            _install(bare, packages, layer)
        os.utime(layer)
    return Image((layer, *bare.layers))


def _install(bare: Image, packages: Path, layer: Path) -> None:
    part = layer.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    arguments = [bare.lower, str(part), str(packages), str(ASSETS / "node"), SLURM_VERSION]
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", str(_HERE / "install_image.sh"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
    )
    if done.returncode:
        raise RuntimeError(f"install_image.sh: {done.stdout}{done.stderr}")
    (part / "upper").rename(layer)
    shutil.rmtree(part)
