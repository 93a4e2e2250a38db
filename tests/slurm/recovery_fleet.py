"""A kept fleet whose nodes join held, with the program that checks, opens and mends."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from assets.node.keeper.document import Gate
from assets.node.keeper.recovery.gate import QueueState, Run
from assets.node.keeper.recovery.loop import Recovery
from assets.node.keeper.recovery.slurm import Slurm
from assets.node.keeper.recovery.store import Store
from assets.node.keeper.view import View
from tests.slurm.keeper_fleet import Booted, KeptFleet
from tests.slurm.lab.machines import Lab

ASSETS = Path(__file__).parents[2] / "assets" / "node"
HELD = " State=DRAIN"
# The real checks run in test_health.py; here they say what a test wants to hear.
CHECKS = """\
import pathlib, socket, sys
said = pathlib.Path("/etc/slurm/checks") / socket.gethostname()
fine = '{"check": "ecc", "verdict": "ok", "severity": "monitor", "evidence": "fine"}\\n'
sys.stdout.write(said.read_text() if said.exists() else fine)
sys.exit(1 if said.exists() else 0)
"""
GATE = """\
#!/bin/bash
srun hostname >/etc/slurm/records/gate/hosts-$SLURM_JOB_ID
cp /etc/slurm/gate-says "{folder}/nccl-gate-$SLURM_JOB_ID.json"
"""


class LabSlurm(Slurm):
    """The records' folder has another path on the machines than on this one."""

    def __init__(self, fleet: RecoveryFleet) -> None:
        super().__init__(fleet._run, GATE)
        self._etc = str(fleet.lab.work / "etc")

    def submit_gate(self, step: Run, folder: str, reserved: str, gate: Gate) -> str:
        return super().submit_gate(step, folder.replace(self._etc, "/etc/slurm"), reserved, gate)


class RecoveryFleet(KeptFleet):
    """A kept fleet, with recovery in each of its rounds."""

    def __init__(self, lab: Lab, work: Path) -> None:
        self.told: list[tuple[str, str]] = []
        self.checking = True
        super().__init__(lab, work)
        self.cloud.gate = {"minutes": 25, "strict": False}
        etc = lab.work / "etc"
        for name in ("checks", "records/gate"):
            (etc / name).mkdir(parents=True)
        shutil.copytree(ASSETS / "health" / "checks", etc / "health" / "checks")
        (etc / "records" / "gate").chmod(0o777)
        shutil.copytree(ASSETS / "resume", etc / "resume")
        shutil.copy(ASSETS / "node_gate.py", etc)
        (etc / "health" / "health_check.py").write_text(CHECKS)
        reboot = etc / "reboot.sh"
        reboot.write_text("#!/bin/bash\ntouch /run/rebooted\n")
        reboot.chmod(0o755)
        self.gate_says("ok", "369.86 GB/s at 16 GiB, least 258.9")
        self.restart_recovery()

    def _conf(self) -> str:
        conf = re.sub(r"^RebootProgram=.*\n", "", super()._conf(), flags=re.M)
        return conf + "RebootProgram=/etc/slurm/reboot.sh\n"

    def ready(self, nodes: int = 3) -> None:
        """Bring the fleet to so many idle nodes, in a queue that is open."""
        self.gate_says("ok", "369.86 GB/s at 16 GiB, least 258.9")
        record = self.store.record("train")
        if record is not None and record.verdict == "failed":
            self.store.asked("train").touch()
        super().ready(nodes)
        self.until(lambda: self.queues["train"].reserved is None, "the open queue")

    def restart_recovery(self) -> None:
        """Start its process anew; it knows nothing but what it sees."""
        self.store = Store(self.work / "recovery", self.lab.work / "etc" / "records")
        self.recovery = Recovery(
            LabSlurm(self),
            self.store,
            lambda subject, text: self.told.append((subject, text)),
            read=lambda: self.cloud.values["fleet"][0],
            send=lambda cluster, found: None,
        )

    def gate_says(self, verdict: str, evidence: str) -> None:
        """Say how the next all-reduce ends."""
        line = {"check": "nccl_gate", "verdict": verdict, "evidence": evidence}
        (self.lab.work / "etc" / "gate-says").write_text(json.dumps(line) + "\n")

    def check_says(
        self, node: str, check: str = "", severity: str = "", evidence: str = ""
    ) -> None:
        """Say what the checks of a node find; nothing if no check is named."""
        path = self.lab.work / "etc" / "checks" / node
        path.unlink(missing_ok=True)
        if check:
            line = {"check": check, "verdict": "fail", "severity": severity, "evidence": evidence}
            path.write_text(json.dumps(line) + "\n")

    def round(self) -> View:
        """Let ten seconds pass, with the timers of nodes, the keeper and recovery."""
        view = super().round()
        self.queues: dict[str, QueueState] = self.recovery.round()
        if self.checking:
            for booted in self.cloud.alive():
                self.check(booted)
        return view

    def check(self, booted: Booted) -> None:
        """Do what the timer of a node does each minute."""
        booted.machine.try_run("python3", "/etc/slurm/node_gate.py", booted.name, "fast")

    def node(self, name: str) -> str:
        """Return state, reason and comment of a node."""
        shown = self.head.try_run("scontrol", "--oneliner", "show", "node", name).stdout
        return " ".join(re.findall(r"(?:State|Reason|Comment)=.*?(?= \w+=|$)", shown))

    def features(self, name: str) -> str:
        """Return the features of a node."""
        shown = self.head.run("scontrol", "--oneliner", "show", "node", name)
        found = re.search(r" ActiveFeatures=(\S+)", shown)
        return found[1] if found else ""

    def state(self, name: str) -> str:
        """Return the state of a node, without the sign of a reservation."""
        return self.head.run("sinfo", "-hNn", name, "-p", "trainshed", "-o", "%T").rstrip("$")

    def job(self, job: str) -> Any:
        """Return the state of a job."""
        return self.cluster.job(job, "%T")
