"""The boot in containers of systemd-nspawn: from the user data to a job, and a second time."""

from __future__ import annotations

from pathlib import Path

from .disk import differences
from .files import QUEUE
from .nspawn import NspawnLab


def test_containers_become_a_cluster_and_a_second_boot_changes_nothing(tmp_path: Path) -> None:
    with NspawnLab(tmp_path) as lab:
        head, node = lab.launch("head"), lab.launch("compute", QUEUE)
        for each in (head, node):
            lab.wait_booted(each)
        lab.wait_idle(node)
        virtualization = node.machine.try_run("systemd-detect-virt", "--container").stdout
        assert virtualization == "systemd-nspawn\n"
        job = ("srun", "-p", "trainshed", "-N1", "--gres=gpu:2", "--mem=10")
        seen = "echo $CUDA_VISIBLE_DEVICES; (exec 3<>/dev/nvidia2) 2>&1 | grep -o 'not permitted'"
        assert head.machine.run(*job, "bash", "-c", seen) == "0,1\nnot permitted"
        for each in (head, node):
            before, daemons = lab.disk(each), lab.daemons(each)
            lab.boot_again(each)
            lab.wait_booted(each)
            assert differences(before, lab.disk(each)) == []
            assert lab.daemons(each) == daemons
