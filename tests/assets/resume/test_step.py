"""The program itself, around small real steps, with stand-ins for Slurm's commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until

RESUME = Path(__file__).parents[3] / "assets" / "node" / "resume"
SCONTROL = """\
#!/bin/bash
away=$CALLS.away-$(grep -oE "show|requeue" <<<"$*")
if [[ -e $away ]]; then
  rm "$away"
  echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2
  exit 1
fi
echo "$*" >>"$CALLS"
if [[ $1 == requeue ]]; then kill -TERM "$(cat "$PARENT")" 2>/dev/null; exit 0; fi
echo "JobId=7 JobState=${JOB_STATE:-RUNNING} Requeue=${REQUEUE:-1} Reason=None"
"""


class Around:
    """A job's surroundings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoints = folder / "ckpt"
        self.calls = folder / "calls"
        self.calls.touch()
        programs = folder / "bin"
        programs.mkdir()
        for name, text in {"scontrol": SCONTROL, "sinfo": '#!/bin/bash\necho "$NODES"\n'}.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "CALLS": str(self.calls),
            "PARENT": str(folder / "parent"),
            "SLURM_JOB_ID": "7",
            "SLURM_JOB_NODELIST": "a,b",
            "NODES": "a idle\nb allocated",
        }

    def start(self, script: str, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-S", "-E", str(RESUME), "run"]
        command += ["--checkpoints", str(self.checkpoints), "--settle", "0", *options]
        step = ["bash", "-c", script, "step", "--from={checkpoint}"]
        process = subprocess.Popen(
            [*command, "--", *step],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        (self.folder / "parent").write_text(str(process.pid))
        return process

    def run(self, script: str, *options: str) -> tuple[int, str, str]:
        process = self.start(script, *options)
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err

    def requeued(self) -> bool:
        return "requeue 7" in self.calls.read_text()


@pytest.fixture
def around(tmp_path: Path) -> Around:
    return Around(tmp_path)


SAVES = 'd=$PWD/ckpt/step-$n; mkdir -p "$d"; echo "$n" >"$d/x"; touch "$d/.complete"'


def test_a_step_is_started_again_from_its_newest_checkpoint(around: Around) -> None:
    script = f'echo "from $1"; n=1; [ -e ckpt/step-1 ] && exit 0; {SAVES}; exit 9'
    code, out, _ = around.run(script)
    assert code == 0
    assert out.splitlines() == ["from ", f"from --from={around.checkpoints}/step-1"]


def test_failures_without_progress_use_up_the_budget(around: Around) -> None:
    code, out, err = around.run("echo tried; exit 9", "--retries", "2")
    assert (code, out.count("tried")) == (9, 3)
    assert "end why=3 failures without a new checkpoint between them" in err


def test_a_count_that_cannot_be_kept_counts_all_the_same(around: Around) -> None:
    """As with a full quota, of which the step itself has failed."""
    (around.checkpoints / ".trainshed-resume.json").mkdir(parents=True)
    code, out, err = around.run("echo tried; exit 9", "--retries", "1")
    assert (code, out.count("tried")) == (9, 2)
    assert "count not kept" in err and "Traceback" not in err


def test_another_job_in_the_folder_has_a_budget_of_its_own(around: Around) -> None:
    assert "2 failures" in around.run("exit 9", "--retries", "1")[2]
    around.environment["SLURM_JOB_ID"] = "8"
    assert "again why=failure 1 of 1" in around.run("exit 9", "--retries", "1")[2]


def test_a_request_to_stop_of_an_attempt_before_stops_none(around: Around) -> None:
    """Its process was killed with its node, and the file stayed."""
    around.checkpoints.mkdir()
    (around.checkpoints / ".stop-7").touch()
    code, out, _ = around.run('[ -e "$TRAINSHED_STOP_FILE" ] && echo stops; exit 0')
    assert (code, out) == (0, "")


def test_a_checkpoint_that_goes_back_and_forth_renews_no_budget(around: Around) -> None:
    """Each attempt tore the newest and wrote it again: it would have gone on for ever."""
    (around.checkpoints / "step-1").mkdir(parents=True)
    (around.checkpoints / "step-1" / ".complete").touch()
    torn = "if [ -e ckpt/step-2 ]; then rm -r ckpt/step-2; exit 9; fi"
    code, _, err = around.run(f"{torn}; n=2; {SAVES}; exit 9", "--retries", "2")
    assert (code, err.count("resume: start")) == (9, 3)
    assert "end why=3 failures without a new checkpoint between them" in err


def test_a_node_that_is_drained_soon_after_the_step_has_failed_is_left(around: Around) -> None:
    """A lost GPU failed each retry within seconds, before the check of a minute had seen it."""
    sinfo = around.folder / "bin" / "sinfo"
    sinfo.write_text('#!/bin/bash\n[ -e asked ] && echo "b drained"; touch asked\n')
    _, out, err = around.run("echo tried; exit 9", "--settle", "60")
    assert around.requeued() and "requeue why=b left service" in err
    assert out.count("tried") == 1


def test_a_signal_ends_the_wait_for_the_checks(around: Around) -> None:
    process = around.start("touch failed; exit 9", "--settle", "600")
    wait_until((around.folder / "failed").exists, "the failure")
    wait_until(lambda: (around.checkpoints / ".trainshed-resume.json").exists(), "the count")
    process.send_signal(signal.SIGUSR1)
    wait_until(around.requeued, "the requeue")
    process.kill()
    process.communicate()


def test_progress_renews_the_budget(around: Around) -> None:
    script = f"n=$(($(ls ckpt | wc -l) + 1)); [ $n = 5 ] && exit 0; {SAVES}; exit 9"
    code, _, err = around.run(script, "--retries", "1")
    assert code == 0
    assert err.count("failure 1 of 1") == 4


def test_the_budget_is_kept_across_a_requeue(around: Around) -> None:
    around.environment["NODES"] = "a idle\nb draining"
    code, _, err = around.run("exit 9", "--retries", "1")
    assert around.requeued() and "requeue why=b left service" in err
    code, _, err = around.run("exit 9", "--retries", "1")
    assert (code, "2 failures" in err) == (9, True)


def ask_to_save(around: Around, process: subprocess.Popen[str]) -> None:
    """Send a step that runs Slurm's signal to save, and end it once its job is requeued."""
    wait_until((around.folder / "ready").exists, "the step")
    process.send_signal(signal.SIGUSR1)
    wait_until(around.requeued, "the requeue")
    process.kill()
    process.communicate()


def test_on_the_checkpoint_signal_the_step_saves_and_the_job_is_queued_again(
    around: Around,
) -> None:
    script = f"n=3; trap '{SAVES}; exit 0' USR1; touch ready; while :; do sleep 0.05; done"
    process = around.start(script)
    ask_to_save(around, process)
    assert (around.checkpoints / "step-3" / ".complete").exists()


def test_a_launcher_that_dies_of_signals_is_asked_by_file_alone(around: Around) -> None:
    script = f'n=4; touch ready; until [ -e "$TRAINSHED_STOP_FILE" ]; do sleep 0.05; done; {SAVES}'
    process = around.start(script, "--forward", "none")
    ask_to_save(around, process)
    assert (around.checkpoints / "step-4").exists()
    assert not (around.checkpoints / ".stop-7").exists()


def test_a_step_that_dies_of_the_signal_uses_up_no_retry(around: Around) -> None:
    process = around.start("touch ready; while :; do sleep 0.05; done")
    ask_to_save(around, process)
    assert not (around.checkpoints / ".trainshed-resume.json").exists()


@pytest.mark.parametrize("asked", ["show", "requeue"])
def test_a_job_goes_on_though_slurmctld_is_away_for_a_moment(around: Around, asked: str) -> None:
    """It ended, as COMPLETED or FAILED, though it had saved to go on in the next block."""
    around.calls.with_name(f"calls.away-{asked}").touch()
    script = f"n=3; trap '{SAVES}; exit 0' USR1; touch ready; while :; do sleep 0.05; done"
    process = around.start(script)
    ask_to_save(around, process)


def test_a_cancelled_job_is_not_queued_again(around: Around) -> None:
    around.environment["JOB_STATE"] = "CANCELLED"
    process = around.start("touch ready; while :; do sleep 0.05; done")
    wait_until((around.folder / "ready").exists, "the step")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert "end why=Slurm ends the job" in err
    assert not around.requeued()


def test_seal_and_newest_are_for_scripts(around: Around) -> None:
    path = around.checkpoints / "step-1"
    path.mkdir(parents=True)
    (path / "x").write_text("x")
    program = [sys.executable, "-S", "-E", str(RESUME)]

    def say(*arguments: object) -> tuple[int, str]:
        done = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True)
        return done.returncode, done.stdout.strip()

    assert say("newest", around.checkpoints) == (1, "")
    assert say("seal", path) == (0, str(path / "manifest.json"))
    assert say("newest", around.checkpoints) == (0, str(path))
