"""The scripts around the health check, on a stand-in node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.health.node import HERE, Fault, fault, stand_in

HEALTH = Path(__file__).parents[3] / "assets" / "node" / "health"
SHOW = 'echo "NodeName=train-1 State=IDLE"'


class ScriptNode:
    """A stand-in node, with Slurm and the system log that only note what they are told."""

    def __init__(self, directory: Path, wrong: Fault | None = None) -> None:
        self.expect, self.environment = stand_in(directory / "node", wrong)
        self._bin = directory / "node" / "bin"
        self.calls = directory / "calls"
        self.calls.touch()
        self.command("scontrol", f'[[ $1 == --oneliner ]] && {SHOW}; echo "scontrol $*" >>"$CALLS"')
        self.command("logger", 'echo "logger $*" >>"$CALLS"')
        self.command("systemctl", 'echo "systemctl $*" >>"$CALLS"')
        self.environment.update(
            CALLS=str(self.calls), TRAINSHED_EXPECT=str(self.expect), SLURMD_NODENAME="train-1"
        )

    def command(self, name: str, body: str) -> None:
        (self._bin / name).write_text(f"#!/bin/bash\n{body}\nexit 0\n")
        (self._bin / name).chmod(0o755)

    def run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(HEALTH / script), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def told(self, command: str) -> list[str]:
        lines = self.calls.read_text().splitlines()
        return [line for line in lines if line.startswith(command)]


REASON = "health: gpu_count [reboot] 7 of 8 GPUs, at 00000000:53:00.0,"


def test_a_prolog_lets_a_job_onto_a_healthy_node(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path)
    done = node.run("prolog.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert node.told("scontrol") == node.told("logger") == []


def test_a_prolog_drains_a_faulty_node_and_sends_the_job_away(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path, fault("gpu-missing"))
    assert node.run("prolog.sh").returncode == 1
    update = node.told("scontrol update")
    assert len(update) == 1
    assert update[0].startswith(f"scontrol update nodename=train-1 state=drain reason={REASON}")
    assert "gpu_count" in node.told("logger -t trainshed -p user.err prolog:")[0]


def test_a_warning_sends_no_job_away(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path, fault("hot"))
    assert node.run("prolog.sh").returncode == 0
    assert node.told("scontrol") == []


def test_a_check_that_cannot_be_made_stops_no_job(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path)
    node.expect.unlink()
    assert node.run("prolog.sh").returncode == 0
    assert node.told("logger")[0].startswith(
        "logger -t trainshed -p user.warning prolog: not checked: health_check: cannot read"
    )


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ("echo Traceback >&2; exit 1", 0, "user.warning prolog: not checked: Traceback"),
        ("exit 127", 0, "user.warning prolog: not checked: "),
        ("exit 124", 1, "user.err prolog: ended with 124: "),
    ],
    ids=["the program broke", "no Python", "no end in time"],
)
def test_only_a_fault_or_a_check_without_end_sends_a_job_away(
    tmp_path: Path, body: str, code: int, told: str
) -> None:
    node = ScriptNode(tmp_path)
    (tmp_path / "node" / "bin" / "python3").write_text(f"#!/bin/bash\n{body}\n")
    (tmp_path / "node" / "bin" / "python3").chmod(0o755)
    assert node.run("prolog.sh").returncode == code
    assert told in node.told("logger")[0]


def test_the_health_program_drains_and_always_ends_well(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path, fault("gpu-missing"))
    assert node.run("health_program.sh").returncode == 0
    assert len(node.told("scontrol update")) == 1


def test_a_timer_may_hold_a_node_and_not_drain_it(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path, fault("gpu-missing"))
    node.command(
        "scontrol",
        'case "$2 $3" in "show node") echo "NodeName=x State=IDLE" ;;\n'
        '"show reservation") exit 1 ;; *) echo "scontrol $*" >>"$CALLS" ;; esac',
    )
    stand_in_root = node.environment["ROOT_DIR"]
    node.environment.update(SLURMD_NODENAME="train-st-p5en-1", ROOT_DIR=str(tmp_path / "r"))
    assert node.run("install_health.sh", str(node.expect), "hold").returncode == 0
    unit = (tmp_path / "r/etc/systemd/system/trainshed-health.service").read_text()
    assert f"ExecStart={HEALTH}/health_program.sh hold\n" in unit
    node.environment["ROOT_DIR"] = stand_in_root
    assert node.run("health_program.sh", "hold").returncode == 0
    told = node.told("scontrol")
    assert [each.split()[1] for each in told] == ["update", "create"]
    assert "comment=trainshed: failed gpu_count [reboot] 7 of 8 GPUs" in told[0]


@pytest.mark.parametrize("script", ["prolog.sh", "health_program.sh"])
def test_a_link_to_a_script_works(tmp_path: Path, script: str) -> None:
    node = ScriptNode(tmp_path, fault("gpu-missing"))
    link = tmp_path / "prolog.d" / "50_trainshed_health"
    link.parent.mkdir()
    link.symlink_to(HEALTH / script)
    subprocess.run([str(link)], env=node.environment, check=False)
    assert len(node.told("scontrol update")) == 1


@pytest.mark.parametrize("script", ["prolog.sh", "health_program.sh"])
def test_no_wrapper_asks_for_a_check_of_minutes(script: str) -> None:
    text = (HEALTH / script).read_text()
    assert 'health_check.py" fast' in text
    assert "basic" not in text and "deep" not in text and "dcgmi" not in text


def test_install_tells_what_the_node_should_have_and_starts_the_timer(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path)
    root = tmp_path / "installed"
    node.environment["ROOT_DIR"] = str(root)
    for _ in range(2):
        assert node.run("install_health.sh", str(node.expect), "timer").returncode == 0
    assert (root / "etc/trainshed/expect.json").read_text() == node.expect.read_text()
    units = root / "etc/systemd/system"
    assert (
        f"ExecStart={HEALTH}/health_program.sh\n"
        in (units / "trainshed-health.service").read_text()
    )
    assert "OnUnitActiveSec=60\n" in (units / "trainshed-health.timer").read_text()
    assert node.told("systemctl")[:2] == [
        "systemctl daemon-reload",
        "systemctl enable --now trainshed-health.timer",
    ]
    if shutil.which("systemd-analyze"):
        units_there = [str(path) for path in units.iterdir()]
        subprocess.run(["systemd-analyze", "verify", "--man=no", *units_there], check=True)


def test_install_puts_the_prolog_where_parallelcluster_runs_it(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path)
    directory = tmp_path / "installed" / "opt/slurm/etc/scripts/prolog.d"
    node.environment["ROOT_DIR"] = str(tmp_path / "installed")
    missing = node.run("install_health.sh", str(node.expect), "prolog.d")
    assert missing.returncode == 1
    assert missing.stderr == (
        f"install_health: {directory} is not there: is this ParallelCluster's head node?\n"
    )
    directory.mkdir(parents=True)
    for _ in range(2):
        assert node.run("install_health.sh", str(node.expect), "prolog.d").returncode == 0
    link = directory / "50_trainshed_health"
    assert link.readlink() == HEALTH / "prolog.sh"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: install_health.sh EXPECT_JSON [timer|hold] [prolog.d]"),
        (["/none.json"], "/none.json is not there"),
        (["EXPECT", "cron"], "cron is neither timer, hold nor prolog.d"),
    ],
    ids=["nothing", "no-document", "unknown-part"],
)
def test_install_says_what_is_wrong(tmp_path: Path, arguments: list[str], message: str) -> None:
    node = ScriptNode(tmp_path)
    node.environment["ROOT_DIR"] = str(tmp_path / "installed")
    given = [str(node.expect) if text == "EXPECT" else text for text in arguments]
    done = node.run("install_health.sh", *given)
    assert (done.returncode, done.stderr) == (1, f"install_health: {message}\n")


def test_the_gate_wants_an_allocation(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path)
    node.environment.pop("SLURM_JOB_NUM_NODES", None)
    done = node.run("nccl_gate.sh", str(node.expect), str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == "nccl_gate: there is no allocation: run it with sbatch or salloc\n"


@pytest.mark.parametrize(
    ("gpus", "strict", "code"),
    [("2", "", 0), ("2", "--strict", 0), ("1", "", 0), ("1", "--strict", 1)],
    ids=["measured", "measured, strict", "unmeasured", "unmeasured, strict"],
)
def test_the_gate_refuses_what_nobody_has_measured_only_if_it_is_strict(
    tmp_path: Path, gpus: str, strict: str, code: int
) -> None:
    node = ScriptNode(tmp_path)
    document = json.loads(node.expect.read_text())
    node.expect.write_text(json.dumps({**document, "gpus": int(gpus)}))
    recorded = HERE / "h200" / ("two" if gpus == "2" else "one") / "gate.txt"
    words = "$* FI_PROVIDER=$FI_PROVIDER NCCL_DEBUG=$NCCL_DEBUG,$NCCL_DEBUG_SUBSYS"
    node.command("srun", f'echo "srun {words}" >>"$CALLS"; cat {recorded}')
    node.environment.update(
        SLURM_JOB_NUM_NODES="1", SLURM_JOB_ID="7", NCCL_TESTS="/opt/all_reduce_perf"
    )
    arguments = [*filter(None, [strict]), str(node.expect), str(tmp_path / "out")]
    done = node.run("nccl_gate.sh", *arguments)
    assert done.returncode == code, done.stderr
    said = json.loads(done.stdout)
    assert said["verdict"] == ("ok" if gpus == "2" else "warn")
    assert json.loads((tmp_path / "out" / "nccl-gate-7.json").read_text()) == said
    (told,) = node.told("srun")
    assert f"--ntasks-per-node={gpus} --gpus-per-node={gpus}" in told
    assert "/opt/all_reduce_perf --minbytes 128M --maxbytes 16G" in told
    # Values are looked at, and NCCL says what carries them.
    assert " --check 1 " in told
    assert told.endswith(" FI_PROVIDER=efa NCCL_DEBUG=INFO,INIT,NET")


def test_a_run_that_failed_closes_the_gate_whatever_it_printed(tmp_path: Path) -> None:
    node = ScriptNode(tmp_path)
    document = json.loads(node.expect.read_text())
    node.expect.write_text(json.dumps({**document, "gpus": 2}))
    node.command("srun", f"cat {HERE}/h200/two/gate.txt; exit 9")
    node.environment.update(SLURM_JOB_NUM_NODES="1", SLURM_JOB_ID="7", NCCL_TESTS="/opt/x")
    done = node.run("nccl_gate.sh", str(node.expect), str(tmp_path / "out"))
    assert done.returncode == 1
    assert "the all-reduce failed: exit code 9" in json.loads(done.stdout)["evidence"]
