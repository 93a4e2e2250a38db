"""The scripts of ParallelCluster's nodes, run with commands that only note how they were called."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "assets" / "node"

# The head and login nodes of a running cluster keep this script for life: ParallelCluster refuses
# an update in which its key, which follows from its content, is another. What has to change goes
# into a script that it runs.
PC_ACTIONS_SHA256 = "781320394a8b6cb85335946be73e58779fe4b8805c63bdad0319a6c8ef8566ab"


class Node:
    """A node's commands, and a directory in place of its root."""

    def __init__(self, directory: Path) -> None:
        self.commands = directory / "bin"
        self.root = directory / "root"
        self.log = directory / "calls"
        for made in (self.commands, self.root):
            made.mkdir()
        self.log.touch()

    def command(self, name: str, body: str = "") -> None:
        path = self.commands / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.log}"\n{body}\n')
        path.chmod(0o755)

    def run(self, script: str, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(SCRIPTS / script), *args],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": f"{self.commands}:{os.environ['PATH']}", "ROOT_DIR": str(self.root)},
        )

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


class Bucket:
    """Scripts in S3, and the list of them in an SSM parameter, as ``aws`` sees them."""

    def __init__(self, node: Node, directory: Path) -> None:
        self.objects = directory / "s3"
        self.objects.mkdir()
        self.list = directory / "parameter"
        self.list.write_text("")
        node.command(
            "aws",
            f'case "$1 $2" in\n"ssm get-parameter") cat "{self.list}" ;;\n'
            f'"s3 cp") cp "{self.objects}/$(basename "$6")" "$7" ;;\nesac',
        )

    def script(self, name: str, text: str) -> str:
        content = f"#!/bin/bash\n{text}\n"
        (self.objects / name).write_text(content)
        return hashlib.sha256(content.encode()).hexdigest()


@pytest.fixture
def bucket(node: Node, tmp_path: Path) -> Bucket:
    return Bucket(node, tmp_path)


def test_the_script_that_can_never_change_has_not_changed() -> None:
    content = (SCRIPTS / "pc_actions.sh").read_bytes()
    assert hashlib.sha256(content).hexdigest() == PC_ACTIONS_SHA256


def test_listed_scripts_run_in_order_with_their_arguments(
    node: Node, bucket: Bucket, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = bucket.script("one.sh", f'echo "one $*" >>{out}; cat')
    second = bucket.script("two.sh", f'echo "two $#" >>{out}')
    bucket.list.write_text(f"{first} s3://b/one.sh /fsx a\n{second} s3://b/two.sh\n")
    done = node.run("pc_actions.sh", "/trainshed/kait/head", "us-east-2", "some-hash")
    assert (done.returncode, done.stderr) == (0, "")
    assert out.read_text() == "one /fsx a\ntwo 0\n"
    assert done.stdout == "pc_actions: one.sh /fsx a\npc_actions: two.sh \n"
    assert node.calls[0] == (
        "aws ssm get-parameter --region us-east-2 --name /trainshed/kait/head "
        "--query Parameter.Value --output text"
    )


def test_an_empty_list_is_no_error(node: Node, bucket: Bucket) -> None:
    bucket.list.write_text("\n")
    assert node.run("pc_actions.sh", "/p", "us-east-2").returncode == 0


def test_nothing_runs_when_one_script_is_not_the_deployed_one(
    node: Node, bucket: Bucket, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = bucket.script("one.sh", f"touch {out}")
    bucket.script("two.sh", "true")
    bucket.list.write_text(f"{first} s3://b/one.sh\n{'0' * 64} s3://b/two.sh\n")
    done = node.run("pc_actions.sh", "/p", "us-east-2")
    assert done.returncode == 1
    assert done.stderr == (
        "pc_actions: s3://b/two.sh is not the script that was deployed; its SHA-256 is another\n"
    )
    assert not out.exists()


def test_a_failing_script_fails_the_node_and_is_named(node: Node, bucket: Bucket) -> None:
    sha256 = bucket.script("one.sh", "exit 7")
    bucket.list.write_text(f"{sha256} s3://b/one.sh\n")
    done = node.run("pc_actions.sh", "/p", "us-east-2")
    assert (done.returncode, done.stderr) == (1, "pc_actions: s3://b/one.sh failed with status 7\n")


def test_a_script_that_cannot_be_fetched_is_named(node: Node, bucket: Bucket) -> None:
    bucket.list.write_text(f"{'0' * 64} s3://b/missing.sh\n")
    done = node.run("pc_actions.sh", "/p", "us-east-2")
    assert done.returncode == 1
    assert done.stderr.endswith("pc_actions: cannot fetch s3://b/missing.sh\n")


def test_an_unreadable_parameter_is_named(node: Node) -> None:
    node.command("aws", "exit 254")
    done = node.run("pc_actions.sh", "/p", "us-east-2")
    assert (done.returncode, done.stderr) == (1, "pc_actions: cannot read the SSM parameter /p\n")


def test_an_optional_script_that_fails_is_logged_and_the_node_goes_on(
    node: Node, bucket: Bucket
) -> None:
    node.command("logger")
    sha256 = bucket.script("efa.sh", "exit 3")
    done = node.run("pc_optional.sh", "us-east-2", sha256, "s3://b/efa.sh", "/fsx")
    message = "pc_optional: efa.sh failed with status 3; the node goes on without it"
    assert (done.returncode, done.stderr) == (0, f"{message}\n")
    assert node.calls[-1] == f"logger -t trainshed -p user.warning {message}"


def test_an_optional_script_gets_its_arguments(node: Node, bucket: Bucket, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sha256 = bucket.script("efa.sh", f'echo "$*" >{out}')
    done = node.run("pc_optional.sh", "us-east-2", sha256, "s3://b/efa.sh", "/fsx", "x")
    assert (done.returncode, out.read_text()) == (0, "/fsx x\n")


def test_another_optional_script_than_the_deployed_one_does_not_run(
    node: Node, bucket: Bucket, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    bucket.script("efa.sh", f"touch {out}")
    done = node.run("pc_optional.sh", "us-east-2", "0" * 64, "s3://b/efa.sh")
    assert done.returncode == 1
    assert done.stderr == (
        "pc_optional: s3://b/efa.sh is not the script that was deployed; its SHA-256 is another\n"
    )
    assert not out.exists()


@pytest.mark.parametrize("script", ["pc_actions.sh", "pc_optional.sh"])
def test_missing_arguments_show_the_usage(node: Node, script: str) -> None:
    done = node.run(script)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{script.removesuffix('.sh')}: usage: {script} ")


# iptables of a node: its chains are files of rules, so that running twice shows in them.
IPTABLES = """
shift # -w
case $1 in
-C) grep -qxF -- "${*:3}" "$CHAINS/$2" 2>/dev/null ;;
-I) rule="${*:4}"; sed -i "1i $rule" "$CHAINS/$2" ;;
-n) exit "${IPV6_STATUS:-0}" ;;
esac
"""
# The kernel takes all of it, or nothing.
IPTABLES_RESTORE = """
said=$(cat)
[[ $* == "-w --noflush" && $said == "*filter"*COMMIT ]] || exit 2
while read -r word chain rule; do
  case $word in
  :*) : >"$CHAINS/${word#:}" ;;
  -A) echo "$rule" >>"$CHAINS/$chain" ;;
  esac
done <<<"$said"
"""


@pytest.fixture
def firewall(node: Node, tmp_path: Path) -> Path:
    chains = tmp_path / "chains"
    for command in ("iptables", "ip6tables"):
        (chains / command).mkdir(parents=True)
        for chain in ("OUTPUT", "FORWARD"):
            (chains / command / chain).write_text("-j policy\n")
        node.command(command, f"CHAINS={chains}/{command}{IPTABLES}")
        node.command(f"{command}-restore", f"CHAINS={chains}/{command}{IPTABLES_RESTORE}")
    node.command("systemctl")
    node.command("id", "[[ $2 == pcluster-admin ]] && echo 400")
    return chains


def rules(firewall: Path, command: str) -> dict[str, list[str]]:
    return {
        chain.name: chain.read_text().splitlines()
        for chain in sorted((firewall / command).iterdir())
    }


def test_metadata_answers_root_and_the_named_users_alone(node: Node, firewall: Path) -> None:
    done = node.run("restrict_imds.sh", "pcluster-admin", "nobody-here")
    assert (done.returncode, done.stderr) == (0, "")
    assert rules(firewall, "iptables") == {
        "FORWARD": ["-d 169.254.169.254 -j REJECT", "-j policy"],
        "OUTPUT": ["-d 169.254.169.254 -j TRAINSHED_IMDS", "-j policy"],
        "TRAINSHED_IMDS": [
            "-m owner --uid-owner 0 -j RETURN",
            "-m owner --uid-owner 400 -j RETURN",
            "-j REJECT",
        ],
    }
    assert "-d fd00:ec2::254 -j TRAINSHED_IMDS" in rules(firewall, "ip6tables")["OUTPUT"]


def test_restricting_metadata_twice_gives_the_same_rules(node: Node, firewall: Path) -> None:
    node.run("restrict_imds.sh", "pcluster-admin")
    once = rules(firewall, "iptables")
    assert node.run("restrict_imds.sh", "pcluster-admin").returncode == 0
    assert rules(firewall, "iptables") == once


def test_the_restriction_comes_back_at_boot_before_jobs(node: Node, firewall: Path) -> None:
    node.run("restrict_imds.sh", "pcluster-admin")
    unit = (node.root / "etc/systemd/system/trainshed-restrict-imds.service").read_text()
    assert "Before=slurmd.service" in unit
    assert "ExecStart=/usr/local/sbin/trainshed-restrict-imds pcluster-admin\n" in unit
    assert "systemctl enable --quiet trainshed-restrict-imds.service" in node.calls
    copy = node.root / "usr/local/sbin/trainshed-restrict-imds"
    assert copy.read_bytes() == (SCRIPTS / "restrict_imds.sh").read_bytes()


def test_a_restriction_that_cannot_be_renewed_stays(node: Node, firewall: Path) -> None:
    node.run("restrict_imds.sh")
    once = rules(firewall, "iptables")
    node.command("iptables-restore", "kill -9 $PPID")
    assert node.run("restrict_imds.sh", "pcluster-admin").returncode != 0
    assert rules(firewall, "iptables") == once
    assert "-j REJECT" in once["TRAINSHED_IMDS"]


def test_a_node_without_ipv6_has_ipv4_rules_alone(node: Node, firewall: Path) -> None:
    node.command("ip6tables", "exit 3")
    assert node.run("restrict_imds.sh").returncode == 0
    assert "TRAINSHED_IMDS" in rules(firewall, "iptables")


def test_no_firewall_is_a_failure_and_not_silence(node: Node) -> None:
    # A PATH without iptables, also where this machine has one.
    for command in ("bash", "id", "install", "dirname"):
        (node.commands / command).symlink_to(
            subprocess.check_output(["which", command], text=True).strip()
        )
    done = subprocess.run(
        ["bash", str(SCRIPTS / "restrict_imds.sh")],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(node.commands), "ROOT_DIR": str(node.root)},
    )
    assert (done.returncode, done.stderr) == (
        1,
        "restrict_imds: iptables is not installed; install it first\n",
    )


INSTALLED = """cat <<'LIST'
ii  linux-image-6.8.0-1021-aws
ii  linux-aws
hi  nvidia-driver-595-server
rc  linux-image-6.5.0-1014-aws
ii  lustre-client-modules-6.8.0-1021-aws
ii  libnvidia-compute-595
ii  python3
ii  efa
LIST"""


def test_packages_that_fit_each_other_are_held(node: Node) -> None:
    node.command("dpkg-query", INSTALLED)
    node.command("apt-mark")
    done = node.run("hold_kernel.sh")
    assert (done.returncode, done.stdout) == (0, "hold_kernel: 6 packages are held\n")
    assert node.calls[-1] == (
        "apt-mark hold linux-image-6.8.0-1021-aws linux-aws nvidia-driver-595-server "
        "lustre-client-modules-6.8.0-1021-aws libnvidia-compute-595 efa"
    )


def test_a_system_without_a_kernel_package_is_told(node: Node) -> None:
    node.command("dpkg-query", "echo 'ii  python3'")
    node.command("apt-mark")
    done = node.run("hold_kernel.sh")
    assert (done.returncode, done.stderr) == (1, "hold_kernel: no kernel package is installed\n")


def only_dnf(node: Node) -> dict[str, str]:
    for command in ("bash", "grep", "sed"):
        (node.commands / command).symlink_to(
            subprocess.check_output(["which", command], text=True).strip()
        )
    node.command("dnf")
    return {"PATH": str(node.commands), "ROOT_DIR": str(node.root)}


def test_dnf_leaves_the_same_packages_alone_however_often_it_is_told(node: Node) -> None:
    env = only_dnf(node)
    config = node.root / "etc/dnf/dnf.conf"
    config.parent.mkdir(parents=True)
    config.write_text("[main]\ngpgcheck=True\n")
    for _ in range(2):
        subprocess.run(["bash", str(SCRIPTS / "hold_kernel.sh")], check=True, env=env)
    lines = config.read_text().splitlines()
    assert lines[0] == "[main]"
    assert lines[1].startswith("excludepkgs=kernel kernel-* ")
    assert lines[2:] == ["gpgcheck=True"]


def test_a_system_without_packages_is_told(node: Node) -> None:
    env = only_dnf(node)
    (node.commands / "dnf").unlink()
    done = subprocess.run(
        ["bash", str(SCRIPTS / "hold_kernel.sh")],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    assert (done.returncode, done.stderr) == (
        1,
        "hold_kernel: neither apt nor dnf is on this node\n",
    )
