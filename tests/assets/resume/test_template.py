"""The batch script for PyTorch, with stand-ins for Slurm and the driver."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parents[3] / "assets/node/templates/train_fsdp.sbatch"
SAYS = '#!/bin/bash\nprintf "%s\\n" "$@"\n'


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    programs = {
        "scontrol": "#!/bin/bash\nfor node in a b c d; do echo train-$node; sleep 0.05; done\n",
        "nvidia-smi": "#!/bin/bash\nfor i in 0 1 2 3; do echo GPU $i; done\n",
        "trainshed-resume": SAYS,
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "train-[a-b]", "SLURM_JOB_NUM_NODES": "2"}
    path = f"{tmp_path}:{os.environ['PATH']}"
    return {**job, "PATH": path, "SLURM_JOB_NAME": "qwen", "SLURM_CPUS_ON_NODE": "48"}


def test_it_starts_as_many_workers_as_the_node_has_gpus(
    environment: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        ["bash", str(TEMPLATE), "train.py", "--lr", "1e-4"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    words = done.stdout.splitlines()
    assert words[:5] == ["run", "--checkpoints", f"{tmp_path}/checkpoints/qwen", "--retries", "3"]
    assert words[5:9] == ["--forward", "none", "--", "srun"]
    assert "--nproc-per-node=4" in words and "--nnodes=2" in words
    assert "--rdzv-endpoint=train-a:29500" in words
    assert words[-4:] == ["train.py", "--lr", "1e-4", "--resume={checkpoint}"]


def test_each_task_of_an_array_has_checkpoints_of_its_own(
    environment: dict[str, str], tmp_path: Path
) -> None:
    task = {**environment, "SLURM_ARRAY_TASK_ID": "3"}
    command = ["bash", str(TEMPLATE), "train.py"]
    done = subprocess.run(
        command, env=task, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[2] == f"{tmp_path}/checkpoints/qwen-3"


@pytest.mark.parametrize("setting", ["FI_PROVIDER", "NCCL_SOCKET_IFNAME", "NCCL_P2P_DISABLE"])
def test_settings_of_an_instance_type_are_not_in_it(setting: str) -> None:
    assert setting not in TEMPLATE.read_text()


def test_it_asks_for_what_a_resumed_job_needs() -> None:
    options = [line for line in TEMPLATE.read_text().splitlines() if line.startswith("#SBATCH")]
    for needed in ("--requeue", "--open-mode=append", "--signal=B:USR1@300"):
        assert f"#SBATCH {needed}" in options
