"""LNet over EFA on a node, with a fake LNet that remembers its interfaces."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from trainshed._assets import asset

SCRIPT = asset("node", "lustre_efa_client.sh")

# Keeps one file for each EFA interface; `net show -v` counts messages from a file.
LNETCTL = r"""
case "$*" in
  "net show --net efa")
    for nid in $ROOT_DIR/lnet/*; do
      [[ -e $nid ]] || continue
      printf '        - nid: 1.1.1.0@efa\n          status: %s\n' "$(<"$nid")"
      printf '          interfaces:\n              0: %s\n' "${nid##*/}"
    done ;;
  "net show --net efa -v")
    echo "              send_count: $(<"$ROOT_DIR/sent")" ;;
  "net add --net efa --if "*)
    mkdir -p "$ROOT_DIR/lnet" && echo "${STATUS:-up}" >"$ROOT_DIR/lnet/$6" ;;
esac
"""
MODINFO = r"""
case "$*" in
  "kefalnd") [[ -n ${KEFALND-yes} ]] ;;
  "-F version efa") [[ -n ${EFA-3.0.0g} ]] && echo "${EFA-3.0.0g}" ;;
esac
"""
LFS = r"""
case "$1" in
  --version) echo "lfs ${LUSTRE:-2.15.6}" ;;
  df) echo "$(($(<"$ROOT_DIR/sent") + ${MESSAGES:-8}))" >"$ROOT_DIR/sent"; exit "${DF:-0}" ;;
esac
"""
ROUTES = """\
default via 10.0.0.1 dev ens6 proto dhcp metric 200
default via 10.0.0.1 dev ens5 proto dhcp metric 100
"""


@dataclass
class Node:
    """A directory that stands for a node, with commands that write down how they are called."""

    root: Path
    mounts: list[str] = field(default_factory=list)

    def command(self, name: str, body: str = "") -> None:
        path = self.root / "fakes" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>$ROOT_DIR/calls\n{body}\n')
        path.chmod(0o755)

    def instance(self, instance_type: str, efa_devices: int) -> None:
        name = self.root / "sys/class/dmi/id/product_name"
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(f"{instance_type}\n")
        drivers = self.root / "sys/bus"
        for number in range(efa_devices):
            self.device(f"rdmap{number:02}s0", drivers / "efa")
        self.device("mlx5_0", drivers / "mlx5_core")

    def device(self, name: str, driver: Path) -> None:
        driver.mkdir(parents=True, exist_ok=True)
        device = self.root / "sys/class/infiniband" / name / "device"
        device.mkdir(parents=True)
        (device / "driver").symlink_to(driver)

    def run(self, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (self.root / "proc/mounts").write_text(
            "".join(f"10.0.0.9@tcp:/abc {path} lustre rw 0 0\n" for path in self.mounts)
        )
        return subprocess.run(
            ["/bin/bash", SCRIPT, *args],
            env={
                "PATH": f"{self.root}/fakes:/usr/bin:/bin",
                "ROOT_DIR": str(self.root),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self) -> list[str]:
        return (self.root / "calls").read_text().splitlines()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = Node(tmp_path)
    for name, body in {
        "lnetctl": LNETCTL,
        "modinfo": MODINFO,
        "lfs": LFS,
        "ip": f"cat <<'ROUTES'\n{ROUTES}ROUTES",
        "modprobe": "",
        "systemctl": "",
        "sleep": "",
        "lustre_rmmod": "",
        # Mounts are lines of a file, as in /proc/mounts.
        "stat": 'grep -q " $4 " "$ROOT_DIR/proc/mounts" && echo lustre',
        "umount": 'sed -i "\\\\: $1 :d" "$ROOT_DIR/proc/mounts"',
        "mount": 'echo "10.0.0.9@tcp:/abc $1 lustre rw 0 0" >>"$ROOT_DIR/proc/mounts"',
    }.items():
        node.command(name, body)
    (tmp_path / "proc").mkdir()
    (tmp_path / "sent").write_text("0\n")
    return node


@pytest.mark.parametrize(
    ("instance_type", "devices", "chosen"),
    [
        pytest.param("p5.48xlarge", 32, list(range(0, 32, 4)), id="p5: one of each four"),
        pytest.param("p5en.48xlarge", 16, list(range(0, 16, 2)), id="p5en: every other"),
        pytest.param("p6-b200.48xlarge", 8, list(range(8)), id="p6-b200: all"),
        pytest.param("p6-b300.48xlarge", 16, list(range(16)), id="p6-b300: all"),
        pytest.param("p4d.24xlarge", 4, [0, 3], id="several cards: first and last"),
        pytest.param("g6.48xlarge", 1, [0], id="one card"),
        pytest.param("p5.48xlarge", 4, [0, 1, 2, 3], id="p5 with few interfaces"),
    ],
)
def test_interfaces_are_as_many_as_aws_configures(
    node: Node, instance_type: str, devices: int, chosen: list[int]
) -> None:
    node.instance(instance_type, devices)
    result = node.run()
    assert result.returncode == 0, result.stderr
    assert [call for call in node.calls() if "net add --net efa" in call] == [
        f"lnetctl net add --net efa --if rdmap{number:02}s0 --peer-credits 32" for number in chosen
    ]


def test_lnet_is_configured_in_the_order_that_aws_documents(node: Node) -> None:
    node.instance("g6.48xlarge", 1)
    node.run()
    calls = [call for call in node.calls() if call.startswith(("modprobe", "lnetctl"))]
    assert [call for call in calls if "show" not in call] == [
        "modprobe lnet",
        "modprobe kefalnd ipif_name=ens5",
        "modprobe ksocklnd",
        "lnetctl lnet configure",
        "lnetctl net del --net tcp",
        "lnetctl net add --net tcp --if ens5",
        "lnetctl net add --net efa --if rdmap00s0 --peer-credits 32",
        "lnetctl set discovery 1",
        "lnetctl udsp add --src efa --priority 0",
        "modprobe lustre",
    ]


def test_it_runs_again_at_each_boot_before_mounts(node: Node) -> None:
    node.instance("g6.48xlarge", 1)
    node.run()
    unit = (node.root / "etc/systemd/system/trainshed-lustre-efa-client.service").read_text()
    assert "Before=remote-fs-pre.target\n" in unit
    assert "ExecStart=/usr/local/sbin/trainshed-lustre-efa-client\n" in unit
    installed = node.root / "usr/local/sbin/trainshed-lustre-efa-client"
    assert installed.read_text() == Path(SCRIPT).read_text()
    assert "systemctl enable --quiet trainshed-lustre-efa-client.service" in node.calls()


def test_a_second_run_changes_nothing(node: Node) -> None:
    node.instance("p5.48xlarge", 32)
    node.run()
    (node.root / "calls").unlink()
    result = node.run("/fsx")
    assert "already on EFA: rdmap00s0 rdmap04s0" in result.stdout
    assert not [call for call in node.calls() if "net add" in call or "modprobe" in call]


def test_what_is_mounted_over_tcp_is_mounted_again_over_efa(node: Node) -> None:
    node.instance("g6.48xlarge", 1)
    (node.root / "sys/module/lnet").mkdir(parents=True)
    node.mounts = ["/fsx"]
    result = node.run("/fsx")
    assert (result.returncode, result.stderr) == (0, "")
    steps = ["umount /fsx", "lustre_rmmod ", "modprobe lnet", "mount /fsx", "lfs df /fsx"]
    assert [call for call in node.calls() if call in steps] == steps


def test_a_file_system_that_answers_over_tcp_gives_a_warning(node: Node) -> None:
    node.instance("g6.48xlarge", 1)
    result = node.run("/fsx", MESSAGES="0")
    assert result.returncode == 0
    assert result.stderr == (
        "lustre_efa_client: warning: reading /fsx sent nothing over EFA; is the file system "
        "EFA-enabled and in this zone?\n"
    )


def test_devices_that_appear_late_are_waited_for(node: Node) -> None:
    node.instance("p5en.48xlarge", 0)
    appear = node.root / "sys/class/infiniband/rdmap00s0/device"
    driver = node.root / "sys/bus/efa"
    driver.mkdir(parents=True)
    node.command("sleep", f"mkdir -p {appear} && ln -sfn {driver} {appear}/driver")
    result = node.run()
    assert result.returncode == 0, result.stderr
    assert "on EFA: rdmap00s0" in result.stdout


DLAMI = "the Lustre client and the EFA driver are on the Deep Learning AMIs"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        pytest.param({"LUSTRE": "2.12.8"}, "Lustre client 2.12.8 is too old; EFA needs 2.15",
                     id="old Lustre"),
        pytest.param({"EFA": "2.10.0g"},
                     "EFA driver 2.10.0 is too old; Lustre over EFA needs 2.12.1", id="old EFA"),
        pytest.param({"EFA": ""}, "the EFA driver is not installed", id="no EFA driver"),
        pytest.param({"STATUS": "down"},
                     "LNet has EFA up on no interface and not on all of rdmap00s0; see 'dmesg' "
                     "and 'lnetctl net show --net efa'", id="interface down"),
        pytest.param({"DF": "5"},
                     "/fsx does not answer over EFA; the security groups of node and file system "
                     "must allow all traffic between each other, and both stand in one zone",
                     id="no traffic"),
    ],
)  # fmt: skip
def test_failures_name_cause_and_fix(node: Node, environment: dict[str, str], message: str) -> None:
    node.instance("g6.48xlarge", 1)
    result = node.run("/fsx", **environment)
    assert (result.returncode, result.stderr) == (1, f"lustre_efa_client: {message}\n")


def test_a_client_without_the_efa_module_is_told_which_systems_have_it(node: Node) -> None:
    node.instance("g6.48xlarge", 1)
    node.command("uname", "echo 5.15.0")
    assert node.run(KEFALND="").stderr == (
        "lustre_efa_client: this Lustre client has no EFA module (kefalnd) for kernel 5.15.0; "
        "use AL2023, RHEL 9.5 or Ubuntu 22.04 with kernel 6.8, or newer\n"
    )


def test_a_node_without_efa_is_told_what_it_needs(node: Node) -> None:
    node.instance("m7i.large", 0)
    assert node.run().stderr == (
        "lustre_efa_client: no EFA device on this node after 15 s; the instance type needs EFA "
        "and the launch template an interface of type efa or efa-only\n"
    )


def test_trn2_is_told_to_use_tcp(node: Node) -> None:
    node.instance("trn2.48xlarge", 16)
    assert node.run().stderr == (
        "lustre_efa_client: trn2.48xlarge has no Lustre over EFA; mount over TCP\n"
    )


def test_a_missing_command_is_named(node: Node) -> None:
    node.instance("g6.48xlarge", 1)
    (node.root / "fakes/lnetctl").unlink()
    assert node.run().stderr == f"lustre_efa_client: lnetctl is not installed; {DLAMI}\n"


def test_a_busy_mount_is_left_alone(node: Node) -> None:
    node.instance("g6.48xlarge", 1)
    node.command("umount", "exit 32")
    node.mounts = ["/fsx"]
    assert node.run("/fsx").stderr == (
        "lustre_efa_client: /fsx is in use; run this before jobs start, or on a drained node\n"
    )


def test_a_mount_that_was_not_named_is_left_alone(node: Node) -> None:
    node.instance("g6.48xlarge", 1)
    node.mounts = ["/fsx", "/home"]
    assert node.run("/fsx").stderr == (
        "lustre_efa_client: a Lustre file system is still mounted at /home; "
        "give its directory as an argument\n"
    )


def test_a_directory_that_does_not_mount_is_named(node: Node) -> None:
    node.instance("g6.48xlarge", 1)
    node.command("mount", "exit 1")
    assert node.run("/fsx").stderr == (
        "lustre_efa_client: /fsx cannot be mounted; is it in /etc/fstab?\n"
    )
