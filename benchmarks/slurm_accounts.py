"""Times the accounting reconcile of a thousand users beside one sacctmgr call a user.

usage: python benchmarks/slurm_accounts.py [ROOT]    root; ROOT holds the Slurm programs, default /
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path

# A script finds what is beside it; the lab stands among the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.slurm.lab.cluster import Cluster, parallelcluster_conf, policy_for_lab, write_policy
from tests.slurm.lab.machines import Lab
from trainshed.slurm import SlurmPolicy

ACCOUNTS = [f"inst{number}" for number in range(7)]
USERS = {f"user{number:04}": ACCOUNTS[number % 7] for number in range(1000)}


def main(root: Path) -> None:
    """Measure on one Slurm version and print a table row for each way."""
    policy = policy_for_lab(
        "kait-hardened",
        accounts={name: {"description": name, "parent": "general"} for name in ACCOUNTS},
        users={name: {"account": account} for name, account in USERS.items()},
    )
    with tempfile.TemporaryDirectory() as work, Lab(Path(work), root) as lab:
        cluster = Cluster(lab)
        closed = SlurmPolicy()
        write_policy(cluster, parallelcluster_conf(closed, cluster.version), closed)
        cluster.start_accounting()
        cluster.learn_resources()
        cluster.save_accounting()
        version = ".".join(f"{part:02}" for part in cluster.version)
        print("| Slurm | way | changing calls | seconds |\n|---|---|---|---|")
        start = time.monotonic()
        printed = cluster.apply(policy)
        calls = len(re.findall(r"^  \[", printed, re.MULTILINE))
        print(f"| {version} | slurm_accounts.py apply | {calls} | {time.monotonic() - start:.1f} |")
        start = time.monotonic()
        cluster.apply(policy)
        print(f"| {version} | the same again | 0 | {time.monotonic() - start:.1f} |")
        cluster.restore_accounting()
        cluster.sacctmgr("add", "account", "general")
        for name in ACCOUNTS:
            cluster.sacctmgr("add", "account", name, "parent=general")
        loop = "".join(
            f"sacctmgr -i add user {u} account={a} >/dev/null\n" for u, a in USERS.items()
        )
        start = time.monotonic()
        cluster.head.run("bash", stdin=loop, seconds=1200)
        print(f"| {version} | one call a user | {len(USERS)} | {time.monotonic() - start:.1f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "/"))
