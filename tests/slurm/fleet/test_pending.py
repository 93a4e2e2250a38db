"""A boot that is killed between a change and what the change asks for: the next one does that."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from assets.node.boot.plan import Node as Planned
from assets.node.boot.plan import steps
from tests.slurm.lab.cluster import USERS
from tests.waiting import wait_until

from .aws import ENDPOINT
from .disk import differences
from .files import INSTANCE_TYPE
from .killing import Moment, kill
from .lab import FleetLab, Node

SHIM = "run/lab-shim"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What a change asks for is noted, or is the last thing that the script gets to.
PROGRAM = f"""\
#!/bin/bash
case "${{0##*/}} $1" in
"systemctl daemon-reload" | "systemctl restart" | "chronyc reload" | "sysctl "*)
  if [[ -e /{SHIM}/kill && $1 == "$(</{SHIM}/kill)" ]]; then
    kill -9 "$PPID"
    exit
  fi
  echo "${{0##*/}} $*" >>/{SHIM}/calls
  ;;
esac
export PATH=${{PATH#*:}}
exec "${{0##*/}}" "$@"
"""
UNITS = "etc/systemd/system"


@dataclass(frozen=True)
class Change:
    """A file of a node that a step writes.

    Args:
        role: Role of the node.
        step: The step.
        path: The file.
        asks: What a change of it asks for.
        instead: File of the image in whose place the step writes it.
    """

    role: str
    step: str
    path: str
    asks: str
    instead: str = ""

    @property
    def killed_at(self) -> list[str]:
        """The commands that the script is killed at, one run each."""
        words = self.asks.split()
        return ["daemon-reload", "restart"] if words[1] == "restart" else [words[1]]


SYSCTL = "etc/sysctl.d/90-trainshed.conf"
CHRONY = "etc/chrony/sources.d"
CHANGES = [
    Change("compute", "limits", SYSCTL, f"sysctl --quiet --load=/{SYSCTL}"),
    Change(
        *("compute", "clock", f"{CHRONY}/trainshed.sources", "chronyc reload sources"),
        instead=f"{CHRONY}/amazon.sources",
    ),
    Change("compute", "munge", "etc/munge/munge.key", "systemctl restart munge.service"),
    Change("compute", "mount-fsx", "etc/fstab", "systemctl daemon-reload"),
    Change(
        *("compute", "slurmd", "etc/default/slurmd"),
        "systemctl restart --no-block slurmd.service",
    ),
    *(
        Change(
            *("compute", step, f"{UNITS}/trainshed-{name}.timer"),
            f"systemctl restart trainshed-{name}.timer",
        )
        for step, name in (("gate", "node-gate"), ("watch", "watch"))
    ),
    Change(
        *("head", "database", "etc/mysql/mariadb.conf.d/90-trainshed.cnf"),
        "systemctl restart mariadb.service",
    ),
    Change("head", "database", "etc/slurm/slurmdbd.conf", "systemctl restart slurmdbd.service"),
    Change(
        *("head", "slurmctld", f"{UNITS}/slurmctld.service.d/trainshed.conf"),
        "systemctl restart slurmctld.service",
    ),
    *(
        Change("head", name, path, f"systemctl restart trainshed-{name}.service")
        for name in ("keeper", "recovery")
        for path in (f"{UNITS}/trainshed-{name}.service", f"run/trainshed/{name}-scripts")
    ),
    *(
        Change(
            *("head", "recovery", f"{UNITS}/trainshed-goodput-{name}.timer"),
            f"systemctl restart trainshed-goodput-{name}.timer",
        )
        for name in ("hourly", "weekly")
    ),
]


class Script:
    """The script of a step on a node, run with commands that are listened to.

    Args:
        lab: The lab.
        node: The node.
        step: Name of the step.
    """

    def __init__(self, lab: FleetLab, node: Node, step: str) -> None:
        planned = Planned(node.role, node.queue, node.instance_id, INSTANCE_TYPE)
        (self._command,) = (
            each.command for each in steps(lab.document, planned) if each.name == step
        )
        self._node, self.files = node, node.machine.files
        self.shims = self.files / SHIM
        self.shims.mkdir(exist_ok=True)
        for name in ("systemctl", "chronyc", "sysctl"):
            self.shim(name, PROGRAM)

    def shim(self, name: str, text: str) -> None:
        """Put a program before the one that the script calls."""
        (self.shims / name).write_text(text)
        (self.shims / name).chmod(0o755)

    def run(self, *before: str) -> subprocess.CompletedProcess[str]:
        """Run it as the boot does, with words before its command line."""
        (self.shims / "calls").write_text("")
        script, *arguments = self._command
        variables = (
            "env",
            f"PATH=/{SHIM}:{PATH}",
            "LC_ALL=C.UTF-8",
            f"AWS_ENDPOINT_URL={ENDPOINT}",
        )
        return self._node.machine.try_run(
            *variables, *before, f"/opt/trainshed/current/{script}", *arguments
        )

    def run_to_its_end(self) -> list[str]:
        """Run it, and return what it did for changes."""
        done = self.run()
        assert done.returncode == 0, done.stdout + done.stderr
        return (self.shims / "calls").read_text().splitlines()

    @property
    def notes(self) -> list[Path]:
        """What is left to do."""
        return list((self.files / "var/lib/trainshed/pending").glob("*"))

    def remove(self) -> None:
        """Take the commands away."""
        for path in self.shims.iterdir():
            path.unlink()


@pytest.fixture
def spare(fleet: tuple[FleetLab, Node, list[Node]]) -> Iterator[tuple[FleetLab, Node]]:
    """A compute node, idle again after it."""
    lab, _, nodes = fleet
    yield lab, nodes[1]
    lab.wait_idle(nodes[1])


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.step} {change.path}")
def test_what_a_change_asks_for_is_done_by_the_next_boot(
    spare: tuple[FleetLab, Node], change: Change
) -> None:
    lab, node = spare
    script = Script(lab, node if change.role == "compute" else lab.head, change.step)
    path = script.files / change.path
    taken = script.files / (change.instead or change.path)
    text = taken.read_text()
    taken.unlink()
    for word in change.killed_at:
        (script.shims / "kill").write_text(word)
        done = script.run()
        assert done.returncode, f"not killed at {word}: {done.stdout}"
        assert path.exists() and script.notes, done.stdout + done.stderr
    (script.shims / "kill").unlink()
    written = path.read_bytes()
    assert change.asks in script.run_to_its_end()
    assert script.notes == []
    again = script.run_to_its_end()
    if change.step == "mount-fsx":
        # lustre_tuning.sh does that at each run.
        again = [call for call in again if call != change.asks]
    assert again == []
    assert path.read_bytes() == written
    if change.instead:
        path.unlink()
        taken.write_text(text)
    script.remove()


ACCOUNTS = ("passwd", "group", "shadow", "gshadow", "subuid", "subgid")


def accounts(script: Script) -> dict[str, list[str]]:
    """Return the lines of a node's users, whatever their order."""
    return {
        name: sorted((script.files / "etc" / name).read_text().splitlines()) for name in ACCOUNTS
    }


def left_over(script: Script) -> set[str]:
    """Return the names of files of users that a node should not have."""
    there = {p.name for p in (script.files / "etc").iterdir() if p.name.startswith(ACCOUNTS)}
    return there - {f"{name}{end}" for name in ACCOUNTS for end in ("", "-")}


def test_users_are_whole_whenever_the_step_was_killed(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    script = Script(lab, node, "users")
    whole = accounts(script)
    homes = [line.split(":") for line in whole["passwd"] if ":/fsx/home/" in line]
    for moment in range(1, 13):
        for user, *_ in homes:
            node.machine.run("userdel", user)
        # The whole group of processes, as the kernel does with a unit's.
        script.run("timeout", "--signal=KILL", f"{moment * 0.03:.2f}")
        script.run_to_its_end()
        assert accounts(script) == whole, moment
        assert (left_over(script), script.notes) == (set(), []), moment
    script.remove()


def test_a_user_who_was_made_by_half_is_made_anew(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    script = Script(lab, node, "users")
    whole = accounts(script)
    node.machine.run("userdel", "alice")
    line = f"alice:x:{USERS['alice']}:{USERS['alice']}::/fsx/home/alice:/bin/bash"
    script.shim(
        "useradd",
        f"#!/bin/bash\necho '{line}' >>/etc/passwd\n"
        "touch /etc/passwd.lock /etc/shadow.77 /etc/shadow+\nkill -9 $PPID\n",
    )
    assert script.run().returncode
    script.remove()
    script.run_to_its_end()
    assert accounts(script) == whole
    assert script.notes == []
    assert left_over(script) == set()


def test_a_home_is_its_users_from_the_beginning(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    script = Script(lab, node, "users")
    homes = script.files / "fsx/home"
    (homes / "alice").rename(homes / "away")
    script.shim("chown", "#!/bin/bash\nkill -9 $PPID\n")
    assert script.run().returncode
    assert not (homes / "alice").exists()
    script.remove()
    script.run_to_its_end()
    made = (homes / "alice").stat()
    assert (made.st_uid, made.st_mode & 0o777) == (USERS["alice"], 0o750)
    assert not list(homes.glob(".*"))
    (homes / "alice").rmdir()
    (homes / "away").rename(homes / "alice")


def test_a_live_node_whose_boot_failed_boots_again(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    machine = node.machine
    watch = ("env", f"AWS_ENDPOINT_URL={ENDPOINT}", "/opt/trainshed/current/watch.sh")
    drop_in = machine.files / "run/systemd/system/trainshed-boot.service.d/fails.conf"
    drop_in.parent.mkdir(parents=True)
    machine.run("systemctl", "stop", "trainshed-watch.timer")
    drop_in.write_text("[Service]\nExecStart=\nExecStart=/bin/false\n")
    machine.run("systemctl", "daemon-reload")
    machine.try_run("systemctl", "start", "trainshed-boot")
    drop_in.unlink()
    machine.run("systemctl", "daemon-reload")
    assert machine.run(*watch) == "", "not at once"
    # Five minutes, for which a test does not wait.
    script = machine.files / watch[-1].lstrip("/")
    text = script.read_text()
    try:
        script.write_text(text.replace("AGAIN_SECONDS=300", "AGAIN_SECONDS=-1"))
        assert machine.run(*watch) == "watch: the last boot did not end well"
        wait_until(lambda: lab.boot_ended(node) == "inactive", lambda: lab.boot_log(node))
    finally:
        script.write_text(text)
    assert machine.run(*watch) == ""


def test_the_rule_of_an_installation_that_was_cut_off_is_taken_away(
    spare: tuple[FleetLab, Node],
) -> None:
    lab, node = spare
    rule = node.machine.files / "usr/sbin/policy-rc.d"
    mark = "# trainshed: the boot starts daemons in its own order"
    rule.write_text(f"#!/bin/sh\n{mark}\nexit 101\n")
    script = Script(lab, node, "packages")
    script.run_to_its_end()
    script.remove()
    assert not rule.exists()


@pytest.mark.parametrize(
    "moment",
    [*(Moment("mv", call) for call in (1, 2, 3)), Moment("hostname", 2), Moment("chmod", 3)],
    ids=str,
)
def test_a_name_is_whole_wherever_the_step_was_killed(
    spare: tuple[FleetLab, Node], moment: Moment
) -> None:
    lab, node = spare
    machine = node.machine
    before = lab.disk_of_any(node)
    hosts = (machine.files / "etc/hosts").read_text()
    # As cloud-init leaves an instance.
    (machine.files / "etc/cloud/cloud.cfg.d/99-trainshed-hostname.cfg").unlink()
    (machine.files / "etc/hostname").write_text("ip-10-0-0-9\n")
    lines = [line for line in hosts.splitlines() if not line.endswith(f" {node.name}")]
    (machine.files / "etc/hosts").write_text("\n".join([*lines, "127.0.1.1 ip-10-0-0-9"]) + "\n")
    machine.run("hostname", "ip-10-0-0-9")
    script = ("/opt/trainshed/current/set_hostname.sh", node.name)
    kill(node, moment, *script)
    machine.run(*script)
    assert machine.run("hostname") == node.name
    assert (machine.files / "etc/hosts").read_text() == hosts
    assert differences(before, lab.disk_of_any(node)) == []
