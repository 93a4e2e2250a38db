#!/usr/bin/env python3
"""The project's app for machines of the lab. Usage: lab_app.py FOLDER

The lab has Debian's Slurm where AWS's image has Ubuntu's, version 1 of cgroups, and neither disks
nor drivers that a check of a node's health would find: three things in the cluster's files differ
for that, and nothing else.
"""

import functools
import sys
from pathlib import Path

from tests.slurm.fleet.image import SLURM_VERSION
from trainshed.slurm import BareCluster, SlurmPolicy, cgroup_conf
from trainshed.slurm_fleet import document, files


def _cgroup_conf(policy: SlurmPolicy) -> str:
    return cgroup_conf(policy, plugin="cgroup/v1") + "CgroupMountpoint=/srv/cgroup\n"


document.SLURM_VERSION = SLURM_VERSION
files._YEAR, files._MONTH = (int(part) for part in SLURM_VERSION.split("."))
vars(files).update(
    BareCluster=functools.partial(BareCluster, prolog=None, task_prolog=None, health_check=None),
    cgroup_conf=_cgroup_conf,
)

if __name__ == "__main__":
    from stacks.synthesis import synthesise
    from trainshed.cli.checked import load_all

    synthesise(load_all(Path(sys.argv[1])))
