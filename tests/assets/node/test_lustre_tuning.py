"""The client settings that AWS documents, by the size of the node."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from trainshed._assets import asset

SCRIPT = asset("node", "lustre_tuning.sh")
LOCKS = ["ldlm.namespaces.*.lru_max_age=600000", "ldlm.namespaces.*.lru_size=19200"]
REQUESTS = [
    "osc.*OST*.max_rpcs_in_flight=32",
    "mdc.*.max_rpcs_in_flight=64",
    "mdc.*.max_mod_rpcs_in_flight=50",
]
LISTING = [
    "llite.*.statahead_max=512",
    "llite.*.statahead_agl=1",
    "llite.*.statahead_xattr=1",
]


@dataclass
class Node:
    """A directory that stands for a node, with commands that write down how they are called."""

    root: Path
    mounted: list[str] = field(default_factory=lambda: ["/fsx"])

    def command(self, name: str, body: str = "") -> None:
        path = self.root / "fakes" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>{self.root}/calls\n{body}\n')
        path.chmod(0o755)

    def size(self, cpus: int, memory_gib: int) -> None:
        self.command("nproc", f"echo {cpus}")
        meminfo = self.root / "proc" / "meminfo"
        meminfo.parent.mkdir(exist_ok=True)
        meminfo.write_text(f"MemTotal:   {memory_gib * 1048576} kB\nMemFree:   1 kB\n")

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        self.command(
            "stat", f"case ' {' '.join(self.mounted)} ' in *\" $4 \"*) echo lustre ;; esac"
        )
        return subprocess.run(
            ["/bin/bash", SCRIPT, *args],
            env={"PATH": f"{self.root}/fakes:/usr/bin:/bin", "ROOT_DIR": str(self.root)},
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self, prefix: str) -> list[str]:
        lines = (self.root / "calls").read_text().splitlines()
        return [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]

    def text(self, path: str) -> str:
        return (self.root / path).read_text()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = Node(tmp_path)
    node.command("lctl")
    node.command("systemctl")
    node.size(cpus=192, memory_gib=2048)
    return node


@pytest.mark.parametrize(
    ("cpus", "memory_gib", "settings"),
    [
        pytest.param(192, 2048, [*LOCKS, *REQUESTS, *LISTING], id="p5"),
        pytest.param(64, 64, LISTING, id="at both limits"),
        pytest.param(65, 64, [*REQUESTS, *LISTING], id="many CPUs"),
        pytest.param(
            8,
            65,
            [LOCKS[0], "ldlm.namespaces.*.lru_size=800", *LISTING],
            id="much memory",
        ),
    ],
)
def test_settings_follow_cpus_and_memory(
    node: Node, cpus: int, memory_gib: int, settings: list[str]
) -> None:
    node.size(cpus, memory_gib)
    result = node.run("/fsx")
    assert result.returncode == 0, result.stderr
    assert node.calls("lctl set_param ") == settings
    assert (node.root / "etc/modprobe.d/trainshed-lustre-tuning.conf").exists() == (cpus > 64)


def test_module_options_are_those_of_large_clients(node: Node) -> None:
    node.run("/fsx")
    assert node.text("etc/modprobe.d/trainshed-lustre-tuning.conf").splitlines()[1:] == [
        "options ptlrpc ptlrpcd_per_cpt_max=32",
        "options ksocklnd credits=2560",
    ]


def test_modules_loaded_with_other_options_are_told(node: Node) -> None:
    loaded = node.root / "sys/module/ptlrpc/parameters/ptlrpcd_per_cpt_max"
    loaded.parent.mkdir(parents=True)
    loaded.write_text("2\n")
    assert "is in force after a reboot" in node.run("/fsx").stdout


def test_an_old_client_goes_without_the_newest_setting(node: Node) -> None:
    node.command("lctl", "[[ $1 != get_param ]]")
    result = node.run("/fsx")
    assert result.returncode == 0, result.stderr
    assert "llite.*.statahead_xattr=1" not in node.calls("lctl set_param ")


def test_the_service_sets_them_again_at_boot(node: Node) -> None:
    node.run("/fsx", "/scratch")
    unit = node.text("etc/systemd/system/trainshed-lustre-tuning.service")
    assert "RequiresMountsFor=/fsx /scratch\n" in unit
    assert "ExecStart=/usr/local/sbin/trainshed-lustre-tuning /fsx /scratch\n" in unit
    assert node.text("usr/local/sbin/trainshed-lustre-tuning") == Path(SCRIPT).read_text()
    assert node.calls("systemctl ") == [
        "daemon-reload",
        "enable --quiet trainshed-lustre-tuning.service",
    ]


def test_a_second_run_leaves_the_same_node(node: Node) -> None:
    def state() -> dict[str, str]:
        files = [path for path in node.root.rglob("*") if path.is_file() and path.name != "calls"]
        return {str(path): path.read_text() for path in files}

    node.run("/fsx")
    first = state()
    assert node.run("/fsx").returncode == 0
    assert state() == first


def test_a_directory_that_is_not_mounted_yet_is_left_to_the_service(node: Node) -> None:
    node.mounted = []
    result = node.run("/fsx")
    assert result.returncode == 0, result.stderr
    assert "/fsx is not mounted yet" in result.stdout
    assert node.calls("lctl ") == []
    assert "systemctl enable" in node.text("calls")


@pytest.mark.parametrize(
    ("args", "lctl", "message"),
    [
        pytest.param([], "", "no mount directory given; usage: lustre_tuning.sh MOUNT_DIR...",
                     id="no argument"),
        pytest.param(["/fsx"], "exit 1",
                     "lctl set_param ldlm.namespaces.*.lru_max_age=600000 failed", id="lctl"),
    ],
)  # fmt: skip
def test_failures_say_what_failed(node: Node, args: list[str], lctl: str, message: str) -> None:
    node.command("lctl", lctl)
    result = node.run(*args)
    assert (result.returncode, result.stderr) == (1, f"lustre_tuning: {message}\n")


def test_a_node_without_the_client_is_told_so(node: Node) -> None:
    (node.root / "fakes/lctl").unlink()
    result = node.run("/fsx")
    assert result.stderr == (
        "lustre_tuning: lctl is not installed; install the Lustre client first\n"
    )
