"""Virtual machines of User-Mode Linux in a fleet lab: power-on, cloud-init, systemd, cgroup v2.

Nothing on them is the lab's but the image's stand-ins for EC2's devices, FSx and Run Command.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.slurm.lab.machines import CommandError
from tests.waiting import wait_until

from .aws import GATEWAY, Instance
from .files import HEAD_HOST, INSTANCE_TYPE
from .image import BASE, CACHE, Image, image_files, image_programs
from .lab import FleetLab

_HERE = Path(__file__).resolve().parent
_MODULES = Path("/usr/lib/uml/modules")
_MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "getty@.service",
    "serial-getty@.service",
    "systemd-networkd-wait-online.service",
    "systemd-networkd.service",
    "systemd-pcrphase.service",
)
_FORMAT = 6
"""Raised when a disk is made in another way of the same files."""
# EC2 gives a disk the volume's id as its serial number; here the kernel's command line has it.
_DISK_RULE = """\
KERNEL=="ubdb", IMPORT{cmdline}="lab_volume"
KERNEL=="ubdb", ENV{lab_volume}=="?*", \
SYMLINK+="disk/by-id/nvme-Amazon_Elastic_Block_Store_$env{lab_volume}"
"""
_GPUS = "".join(f"c! /dev/nvidia{gpu} 0666 - - - 195:{gpu}\n" for gpu in range(8))
# No DMI in User-Mode Linux, by which cloud-init knows EC2.
_CLOUD = "datasource_list: [Ec2]\ndatasource: {Ec2: {strict_id: false, timeout: 10}}\n"
_MOUNT_LUSTRE = """\
#!/bin/bash
set -eu
exec mount -t hostfs -o "$(sed -n 's/.*lab_fsx=\\([^ ]*\\).*/\\1/p' /proc/cmdline)" none "$2"
"""
# What Systems Manager's Run Command is on EC2: runs scripts, and keeps what they say.
_RUN_COMMAND = """\
#!/bin/bash
dir=/run/lab-commands
mkdir -p $dir
mount -t hostfs -o "$(sed -n 's/.*lab_commands=\\([^ ]*\\).*/\\1/p' /proc/cmdline)" none $dir
while true; do
  for script in $dir/*.sh; do
    [[ -e $script ]] || continue
    mv "$script" "${script%.sh}.taken"
    bash "${script%.sh}.taken" >"${script%.sh}.part" 2>&1 </dev/null
    echo "rc=$?" >>"${script%.sh}.part"
    mv "${script%.sh}.part" "${script%.sh}.out"
  done
  sleep 0.5
done
"""
# Addresses that the network gives to cards.
_CARDS = [(f"10.77.0.{number}", f"02:00:0a:4d:00:{number:02x}") for number in range(100, 110)]
_RUN_COMMAND_UNIT = "[Service]\nExecStart=/usr/local/sbin/lab-run-command\nKillMode=process\n"


def disk_image(image: Image) -> Path:
    """Return a disk of an image; it is kept in ``.cache`` until what it is made of changes."""
    files = {
        **image_files(BASE),
        "etc/default/chrony": 'DAEMON_OPTS="-F 1"\n',
        "etc/cloud/cloud.cfg.d/95-lab.cfg": _CLOUD,
        "etc/udev/rules.d/95-lab.rules": _DISK_RULE,
        "etc/tmpfiles.d/lab-gpus.conf": _GPUS,
        "etc/systemd/system/lab-run-command.service": _RUN_COMMAND_UNIT,
        # MariaDB 11.8 reserves eight terabytes of addresses otherwise, more than this kernel has.
        "etc/mysql/mariadb.conf.d/99-lab.cnf": "[mysqld]\ninnodb_buffer_pool_size_max = 256M\n",
        "etc/fstab": "/dev/ubda / ext4 defaults 0 1\n",
    }
    for left_out in (
        "etc/cloud/cloud-init.disabled",
        "etc/systemd/system/chrony.service.d/lab.conf",
        "etc/systemd/system/lab-user-data.service",
        "var/lib/dpkg/status",
    ):
        files.pop(left_out, None)
    programs = {
        **image_programs(),
        "usr/sbin/mount.lustre": _MOUNT_LUSTRE,
        "usr/local/sbin/lab-run-command": _RUN_COMMAND,
    }
    del programs["usr/local/sbin/lab-user-data"]
    made_of = hashlib.sha256(
        repr((image.layers[0].name, files, programs, _FORMAT)).encode()
    ).hexdigest()
    disk = CACHE / f"uml-{made_of[:12]}.img"
    if not disk.exists():
        for old in CACHE.glob("uml-*"):
            if old.is_dir():
                shutil.rmtree(old)
            else:
                old.unlink()
        _make_disk(image, files, programs, disk)
    return disk


def _make_disk(image: Image, files: dict[str, str], programs: dict[str, str], disk: Path) -> None:
    part = disk.with_suffix(".part.d")
    shutil.rmtree(part, ignore_errors=True)
    layer = part / "layer"
    for name, text in {**files, **programs}.items():
        path = layer / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name in programs else 0o644)
    # What iptables loads: the kernel's modules are its package's, and not the image's. Without
    # IPv6, for which ifupdown would wait.
    for modules in _MODULES.iterdir():
        target = layer / "usr/lib/modules" / modules.name
        for name in ("net/netfilter", "net/ipv4/netfilter"):
            shutil.copytree(modules / "kernel" / name, target / "kernel" / name)
        for index in modules.glob("modules.*"):
            shutil.copy(index, target)
    units = layer / "etc/systemd/system"
    for name in _MASKED:
        (units / name).symlink_to("/dev/null")
    # This kernel has no nf_tables for IPv4; a Deep Learning AMI's has.
    alternatives = layer / "etc/alternatives"
    alternatives.mkdir()
    for family in ("iptables", "ip6tables"):
        for program in ("", "-restore", "-save"):
            link = alternatives / f"{family}{program}"
            link.symlink_to(f"/usr/sbin/{family}-legacy{program}")
    wants = units / "multi-user.target.wants"
    wants.mkdir()
    (wants / "lab-run-command.service").symlink_to("/etc/systemd/system/lab-run-command.service")
    # The installed layer has Slurm; the layer below it, made for machines without cloud-init, not.
    lower = ":".join(str(path) for path in (layer, image.layers[0], *image.layers[2:]))
    done = subprocess.run(
        ["unshare", "--mount", str(_HERE / "make_disk.sh"), lower, str(part / "root"), str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"make_disk.sh: {done.stdout}{done.stderr}")
    shutil.rmtree(part)


@dataclass
class VirtualMachine:
    """A virtual machine.

    Args:
        name: Instance id.
        address: Private address.
        directory: Its files on the host.
    """

    name: str
    address: str
    directory: Path

    def run(self, script: str, seconds: float = 120) -> str:
        """Run a shell script on it and return what it says.

        Raises:
            CommandError: It ended with another code than 0.
        """
        stem = self.directory / "commands" / secrets.token_hex(4)
        part = stem.with_suffix(".new")
        part.write_text(script)
        part.rename(stem.with_suffix(".sh"))
        out = stem.with_suffix(".out")
        wait_until(out.exists, lambda: f"{script}: {self.console()[-2000:]}", seconds, every=0.5)
        said, _, code = out.read_text().rstrip("\n").rpartition("rc=")
        if code != "0":
            raise CommandError(f"{self.name}: {script}: {code}: {said}")
        return said.strip()

    def console(self) -> str:
        """Return what it has written to its console."""
        return (self.directory / "console.log").read_text(errors="replace")


class VirtualFleet:
    """Virtual machines on the network of a fleet lab."""

    def __init__(self, lab: FleetLab) -> None:
        self._lab = lab
        self._disk = disk_image(lab.image)
        dnsmasq = ["dnsmasq", "--keep-in-foreground", "--port=0", "--interface=br0"]
        options = [
            "--bind-interfaces",
            "--dhcp-range=10.77.0.100,static,1h",
            *(f"--dhcp-host={mac},{address}" for address, mac in _CARDS),
            f"--dhcp-option=3,{GATEWAY}",
            f"--dhcp-option=6,{GATEWAY}",
            f"--dhcp-leasefile={lab.work}/leases",
            "--conf-file=/dev/null",
        ]
        with (lab.work / "dnsmasq.log").open("wb") as log:
            server = subprocess.Popen([*lab.in_switch(), *dnsmasq, *options], stderr=log)
        lab.children.append(server)
        self._count = 0

    def power_on(self, role: str, queue: str = "", memory_mib: int = 512) -> VirtualMachine:
        """Start a virtual machine; it boots by its user data."""
        lab, number = self._lab, self._count
        self._count += 1
        instance_id = lab.run_instance(role, queue)
        address, mac = _CARDS[number]
        lab.aws.instances[address] = Instance(
            instance_id, INSTANCE_TYPE, lab.user_data(role, queue), mac
        )
        if role == "head":
            lab.aws.names[HEAD_HOST] = address
        for command in (
            f"tuntap add tap{number} mode tap",
            f"link set tap{number} master br0 up",
        ):
            subprocess.run([*lab.in_switch(), "ip", *command.split()], check=True)
        return self._start(instance_id, address, mac, number, role, memory_mib)

    def _start(
        self, name: str, address: str, mac: str, number: int, role: str, memory_mib: int
    ) -> VirtualMachine:
        directory = self._lab.work / name
        (directory / "commands").mkdir(parents=True)
        volume, device = self._lab.volumes.only
        disks = [f"ubd0={directory}/cow,{self._disk}"]
        if role == "head":
            disks += [f"ubd1={device}", f"lab_volume={volume.replace('-', '')}"]
        command = [
            "linux.uml",
            f"mem={memory_mib}M",
            *disks,
            "root=/dev/ubda",
            "rw",
            f"vec0:transport=tap,ifname=tap{number},depth=128,gro=1,mac={mac}",
            "con=null",
            "con0=null,fd:1",
            "ssl=null",
            f"umid={name}",
            f"uml_dir={directory}/uml",
            "net.ifnames=0",
            "systemd.show_status=1",
            f"lab_fsx={self._lab.work}/fsx/fs",
            f"lab_commands={directory}/commands",
        ]
        with (directory / "console.log").open("wb") as console:
            process = subprocess.Popen(
                [*self._lab.in_switch(), "env", "TMPDIR=/dev/shm", *command],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
            )
        self._lab.children.append(process)
        return VirtualMachine(name, address, directory)
