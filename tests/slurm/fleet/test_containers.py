"""Nodes with Enroot and Pyxis from the package cache: jobs with an image, and failed boots."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator

import pytest

from tests.slurm.lab.cluster import USERS

from .containers import build, package_cache
from .disk import differences
from .files import QUEUE
from .killing import HALF_A_COPY, Moment, kill
from .lab import FleetLab, Node

SCRIPT = 'echo "$LAB_IMAGE $LAB_RUNTIME $(enroot)"'


@pytest.fixture(scope="module")
def fleet(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[FleetLab, dict[str, Node]]]:
    """A head node, a compute node and a login node with containers."""
    built = build("24.11", tmp_path_factory.mktemp("build"))
    with FleetLab(tmp_path_factory.mktemp("containers")) as lab:
        lab.document["containers"] = True
        lab.document["packages"] = lab.put("packages.tar", package_cache(built))
        lab.publish()
        nodes = {
            "head": lab.launch("head"),
            "compute": lab.launch("compute", QUEUE),
            "login": lab.launch("login"),
        }
        for node in nodes.values():
            lab.wait_booted(node)
        lab.wait_idle(nodes["compute"])
        yield lab, nodes


@pytest.mark.parametrize("role", ["head", "login"])
def test_a_job_with_an_image_reaches_the_plugin(
    fleet: tuple[FleetLab, dict[str, Node]], role: str
) -> None:
    _, nodes = fleet
    said = nodes[role].machine.run(
        "env",
        "NCCL_SOCKET_IFNAME=eth9",
        "srun",
        "-p",
        "normal",
        "-D",
        "/fsx/home/alice",
        "--mem=10",
        "--container-image=lab.sqsh",
        "bash",
        "-c",
        SCRIPT,
        user="alice",
    )
    uid = USERS["alice"]
    assert said.splitlines() == [
        f"lab.sqsh /run/pyxis /var/lib/enroot/data/user-{uid}",
        "NCCL_SOCKET_IFNAME=^lo,docker,veth",
        "FI_EFA_USE_HUGE_PAGE=0",
        "NCCL_SOCKET_IFNAME=eth9",
    ]


def test_directories_of_containers_belong_to_their_users(
    fleet: tuple[FleetLab, dict[str, Node]],
) -> None:
    _, nodes = fleet
    uid = USERS["alice"]
    for node in nodes.values():
        shown = node.machine.run(
            "stat", "-c", "%a %u", f"/run/enroot/user-{uid}", f"/var/lib/enroot/data/user-{uid}"
        )
        assert shown.splitlines() == [f"700 {uid}"] * 2
        assert node.machine.run("stat", "-c", "%a %U", "/run/pyxis") == "1777 root"
        caps = node.machine.run("getcap", "/usr/bin/enroot-mksquashovlfs")
        assert caps.endswith("cap_sys_admin=ep")
        assert node.machine.run("readlink", "/usr/bin/enroot-link") == "enroot"
        hooks = node.machine.run("cat", "/etc/enroot/hooks.d/50-slurm-pmi.sh")
        assert hooks == "# PMI"


@pytest.mark.parametrize("role", ["compute", "login"])
def test_a_second_boot_changes_nothing(fleet: tuple[FleetLab, dict[str, Node]], role: str) -> None:
    lab, nodes = fleet
    before = lab.disk(nodes[role])
    lab.boot_again(nodes[role])
    lab.wait_booted(nodes[role])
    assert differences(before, lab.disk(nodes[role])) == []


OF_NODE = ("/run/enroot", "/run/pyxis", "/var/lib/enroot", "/etc/tmpfiles.d/trainshed-enroot.conf")


@pytest.mark.parametrize(
    "moment",
    [
        Moment("cp", 1, HALF_A_COPY),
        Moment("cp", 4, HALF_A_COPY),
        *(Moment("mv", call) for call in (1, 3)),
        *(Moment("setcap", call) for call in (1, 2)),
        Moment("ln"),
        Moment("systemd-tmpfiles"),
    ],
    ids=str,
)
def test_containers_are_whole_wherever_the_step_was_killed(
    fleet: tuple[FleetLab, dict[str, Node]], moment: Moment
) -> None:
    lab, nodes = fleet
    node, machine = nodes["login"], nodes["login"].machine
    before = lab.disk_of_any(node)
    source = "/opt/trainshed/packages/containers/root"
    files = machine.run("find", source, "!", "-type", "d", "-printf", "/%P\\n").split()
    owned = ("/etc/enroot/enroot.conf.d/trainshed.conf", "/etc/enroot/hooks.d/50-slurm-pmi.sh")
    machine.run("rm", "-rf", *files, *owned, *OF_NODE)
    install = ("/opt/trainshed/current/install_containers.sh", "/opt/trainshed/packages")
    kill(node, moment, *install)
    machine.run(*install)
    assert differences(before, lab.disk_of_any(node)) == []
    for program in ("enroot-mksquashovlfs", "enroot-aufs2ovlfs"):
        assert "cap_sys_admin" in machine.run("getcap", f"/usr/bin/{program}")
    uid = USERS["alice"]
    owner = machine.run("stat", "-c", "%u", f"/var/lib/enroot/data/user-{uid}")
    assert owner == str(uid)


def test_a_kernel_that_keeps_namespaces_from_users_gets_enroots_profile(
    fleet: tuple[FleetLab, dict[str, Node]],
) -> None:
    machine = fleet[1]["login"].machine
    setting = machine.files / "srv/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
    setting.parent.mkdir(parents=True)
    setting.write_text("1\n")
    parser = machine.files / "usr/local/sbin/apparmor_parser"
    parser.write_text("#!/bin/sh\necho $* $(cat $2) >/srv/parsed\n")
    parser.chmod(0o755)
    script = "/opt/trainshed/current/install_containers.sh"
    install = ("env", "ROOT_DIR=/srv", script, "/opt/trainshed/packages")
    machine.run(*install)
    said = machine.run("cat", "/srv/parsed")
    assert said == "--replace /etc/apparmor.d/enroot profile"
    setting.write_text("0\n")
    (machine.files / "srv/parsed").unlink()
    machine.run(*install)
    assert not (machine.files / "srv/parsed").exists()


def test_a_policy_that_cannot_be_read_ends_the_step(
    fleet: tuple[FleetLab, dict[str, Node]],
) -> None:
    machine = fleet[1]["login"].machine
    policy = "/etc/trainshed/files/policy.json"
    install = ("/opt/trainshed/current/install_containers.sh", "/opt/trainshed/packages")
    machine.run("mv", policy, f"{policy}.away")
    try:
        done = machine.try_run(*install)
    finally:
        machine.run("mv", f"{policy}.away", policy)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        f"install_containers: {policy} cannot be read, see above",
    )


def other_version() -> bytes:
    """Return a package cache whose plugin was built for the Slurm of Ubuntu 24.04."""
    made = io.BytesIO(package_cache(None))
    with tarfile.open(fileobj=made, mode="a") as tar:
        entry = tarfile.TarInfo("./containers/slurm-version")
        entry.size = 6
        tar.addfile(entry, io.BytesIO(b"23.11\n"))
    return made.getvalue()


@pytest.mark.parametrize(
    ("cache", "reason"),
    [
        pytest.param(
            package_cache,
            "install_containers: the package cache has no containers; make it with "
            "build_containers.sh, or set fleet.slurm.containers to false",
            id="no containers",
        ),
        pytest.param(
            lambda _: other_version(),
            "install_containers: Pyxis was built for Slurm 23.11, this node has 24.11; build it "
            "again",
            id="another Slurm",
        ),
        pytest.param(
            None,
            "build_containers: apt-get install failed, see above; make a package cache with "
            "containers on a machine where it works",
            id="neither cache nor internet",
        ),
    ],
)
def test_a_node_without_containers_does_not_join(
    fleet: tuple[FleetLab, dict[str, Node]], cache: Callable[[None], bytes] | None, reason: str
) -> None:
    lab, _ = fleet
    good = lab.document["packages"]
    lab.document["packages"] = lab.put("packages.tar", cache(None)) if cache else None
    lab.publish()
    node = lab.launch("compute", QUEUE)
    try:
        record = lab.wait_failed(node)
        assert (record["step"], record["reason"]) == ("containers", reason)
        assert "fleet.slurm.containers" in record["remedy"]
        assert node.name not in lab.states()
    finally:
        lab.document["packages"] = good
        lab.publish()
        lab.power_off(node)
