"""Nodes of a ParallelCluster cluster that boot with what a deployment gives them.

ParallelCluster's order (aws-parallelcluster-cookbook and cluster_stack.py, 3.16.1): OnNodeStart,
shared directories and munge, OnNodeConfigured, slurmd. What only AWS or ParallelCluster has is a
stand-in: ``aws`` copies from a folder, ``systemctl`` notes what it is told.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fixtures.health.node import Fault, stand_in
from tests.slurm.lab.cluster import Cluster
from tests.slurm.lab.machines import CommandError, Machine
from trainshed.pcluster.release import COMPUTE_FILES, HEAD_FILES, release

ASSETS = Path(__file__).parents[2] / "assets" / "node"
_AWS = """\
#!/bin/bash
case "$1 $2" in
"s3 cp") cp "/etc/slurm/s3/$(basename "$6")" "$7" ;;
"ec2 describe-capacity-reservations") cat /etc/slurm/ec2-ends 2>/dev/null || echo "[]" ;;
"ssm get-parameters") echo "[]" ;;
"ssm get-parameter") echo arn:aws:sns:us-east-2:111122223333:alerts ;;
"cloudwatch put-metric-data") printf '%s\\n' "${@: -1}" >>/etc/slurm/metric-data ;;
"sns publish") printf '%s\\n' "$@" >>/etc/slurm/published ;;
*) exit 1 ;;
esac
"""


class PcNode:
    """A machine, and where its files are: on it, and on this machine."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        self.place = cluster.lab.work / "etc" / "pc" / name
        self.seen = Path("/etc/slurm/pc") / name
        for made in ("root/opt", "bin"):
            (self.place / made).mkdir(parents=True)
        nothing = "#!/bin/sh\n"
        for command, text in (("aws", _AWS), ("systemctl", nothing), ("fi_pingpong", nothing)):
            self.command(command, text)

    @property
    def machine(self) -> Machine:
        return self.cluster.lab.machines[self.name]

    def command(self, name: str, text: str) -> None:
        path = self.place / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def become(self, wrong: Fault | None = None) -> None:
        """Give the node's hardware a fault, or none."""
        fresh = self.place / "fresh"
        stand_in(fresh, wrong, seen_as=self.seen)
        shutil.copytree(fresh, self.place, dirs_exist_ok=True)
        shutil.rmtree(fresh)

    def boot(self, address: str) -> None:
        """Come as far as ParallelCluster does before OnNodeConfigured."""
        machine = self.cluster.lab.boot(self.name, address, gpus=8)
        machine.start("munge")
        machine.run("mount", "--bind", str(self.seen / "root/opt"), "/opt")

    @property
    def environment(self) -> list[str]:
        path = f"{self.seen}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return ["env", f"PATH={path}", f"ROOT_DIR={self.seen}/root"]

    def run(self, *command: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a command where the stand-ins are."""
        return self.machine.try_run(*self.environment, *command, seconds=seconds)

    def release(
        self, files: Sequence[str], program: str, document: dict[str, Any], *more: str
    ) -> str:
        """Run OnNodeConfigured's script with what was uploaded for it."""
        store = self.cluster.lab.work / "etc" / "s3"
        store.mkdir(exist_ok=True)
        places = []
        for end, content in (
            ("zip", release(ASSETS, files).data),
            ("json", json.dumps(document).encode()),
        ):
            sha256 = hashlib.sha256(content).hexdigest()
            (store / f"{sha256}.{end}").write_bytes(content)
            places += [sha256, f"s3://bucket/{sha256}.{end}"]
        done = self.run("/run/node/pc_release.sh", "us-east-2", program, *places, *more)
        if done.returncode:
            raise CommandError(done.stdout + done.stderr)
        return done.stdout

    def join(self, expect: dict[str, Any]) -> str:
        """Run what a compute node runs, with its name in Slurm where ParallelCluster writes it."""
        named = self.place / "root/etc/parallelcluster/slurm_plugin/slurm_nodename"
        named.parent.mkdir(parents=True, exist_ok=True)
        named.write_text(f"{self.name}\n")
        shared = str(self.seen / "fsx")
        return self.release(COMPUTE_FILES, "pc_compute.sh", expect, shared)

    def lead(self, document: dict[str, Any]) -> str:
        """Run what a head node runs."""
        shared = str(self.seen / "fsx")
        return self.release(HEAD_FILES, "pc_head.sh", document, "us-east-2", shared)

    def unit(self, name: str, *more: str) -> subprocess.CompletedProcess[str]:
        """Run a unit's ExecStart as systemd does, with the unit's own environment."""
        text = (self.place / "root/etc/systemd/system" / name).read_text().splitlines()
        (start,) = (line.partition("=")[2] for line in text if line.startswith("ExecStart="))
        given = [line.partition("=")[2] for line in text if line.startswith("Environment=")]
        # The stand-ins come first on the path, where a node has the real ones.
        words = [word for line in given for word in line.split() if not word.startswith("PATH=")]
        expect = f"TRAINSHED_EXPECT={self.seen}/root/etc/trainshed/expect.json"
        return self.run("env", expect, *words, *start.split(), *more, seconds=300)
