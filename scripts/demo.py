#!/usr/bin/env python3
"""Deploy an institution to an emulator of AWS on this machine, and look at what it made.

Usage: demo.py [--without-slurm] [--work FOLDER]. Needs `make setup`. Everything is below .cache
and listens on 127.0.0.1 alone; what an earlier, interrupted run left is cleared first.
"""

from __future__ import annotations

import argparse
import fcntl
import shlex
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.assets.slack_notifier.slack_server import SlackServer  # noqa: E402
from tests.deploy import account  # noqa: E402
from tests.deploy.cdk import Cdk, bootstrap, of  # noqa: E402
from tests.deploy.emulator.children import run_group  # noqa: E402
from tests.deploy.emulator.process import Emulator  # noqa: E402
from tests.deploy.institutions import LAB_REGION, alerts, bare, small  # noqa: E402
from tests.deploy.progress import Progress  # noqa: E402
from tests.waiting import wait_until  # noqa: E402

WORK = ROOT / ".cache" / "demo"
NAME = "demo"
STACKS = (f"{NAME}-foundation", f"{NAME}-cluster")
STEPS = 7
ELSEWHERE = "give another folder: make demo DEMO='--work FOLDER'"
ROOM = f"make room on that disk, since a real Slurm takes 3 GB; or {ELSEWHERE}"
# A terminal sends the first; the last is what it sends when it is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StepError(Exception):
    """A step failed: its name, why, and what to do."""

    def __init__(self, step: str, why: str, remedy: str) -> None:
        super().__init__(why)
        self.step, self.why = step, why
        self.remedy = ROOM if "no space left" in why.lower() else remedy


class Interrupted(BaseException):
    """A signal came: no step handles it, and everything is cleared up on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Demo:
    """The demonstration: what it has so far, and what it says."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.slurm = False
        self._begun = time.monotonic()
        self._number = 0

    @contextmanager
    def step(self, what: str, remedy: str) -> Iterator[None]:
        """Say that a step begins and how long it took; a failure carries its name and a remedy."""
        self._number += 1
        print(f"[{self._number}/{STEPS}] {what}", flush=True)
        begun = time.monotonic()
        try:
            yield
        except StepError:
            raise
        except Exception as error:
            raise StepError(what, _short(error), remedy) from error
        print(f"      done in {time.monotonic() - begun:.0f} s", flush=True)

    def say(self, text: str) -> None:
        """Say something about the step."""
        print(textwrap.indent(text.rstrip(), "      "), flush=True)

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self._begun


def _short(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "FAILED" in line or "rror" in line]
    return "\n".join((told or lines)[-6:]) or type(error).__name__


def clear(work: Path) -> None:
    """Remove a demonstration's folder; what was killed a moment ago may still write into it."""
    faults: list[OSError] = []

    def is_gone() -> bool:
        try:
            shutil.rmtree(work)
        except PermissionError:
            raise
        except OSError as error:
            faults.append(error)
        return not work.exists()

    try:
        wait_until(is_gone, lambda: str(faults[-1]), 10, every=0.5)
    except OSError as error:
        remedy = f"remove {work} by hand (sudo rm -rf), or {ELSEWHERE}"
        raise StepError("clear the folder", _short(error), remedy) from error


def prepare(demo: Demo, with_slurm: bool) -> None:
    """Clear what an earlier run left, and find out whether Slurm can run here."""
    clear(demo.work)
    demo.work.mkdir(parents=True)
    if not with_slurm:
        demo.say("the deployment alone, as asked")
        return
    done = run_group([str(ROOT / "scripts" / "slurm_lab.sh"), "fleet"])
    demo.slurm = done.returncode == 0
    if not demo.slurm:
        why = (done.stdout.strip().splitlines() or ["no reason was given"])[-1]
        demo.say(f"a real Slurm cannot run here ({why}); the deployment alone follows")


def run(demo: Demo, stack: ExitStack, with_slurm: bool) -> list[str]:
    """Run every step and return the lines of the summary."""
    log = f"read {demo.work}/emulator.log, then run it again"
    with demo.step(
        "look at this machine; the first time this installs Slurm, some minutes",
        "see that there are 3 GB of disk below .cache, then run it again",
    ):
        prepare(demo, with_slurm)
    with demo.step("start the emulator of AWS", log):
        emulator = stack.enter_context(Emulator(demo.work, wait_scale=0.2 if demo.slurm else 0))
        slack = stack.enter_context(SlackServer())
        demo.say(f"AWS is {emulator.url}, Slack is {slack.url}")
    region = LAB_REGION if demo.slurm else "us-east-1"
    with demo.step("cdk bootstrap", log):
        bootstrap(emulator, region)
        secret = emulator.client("secretsmanager", region).create_secret(
            Name=f"{NAME}/slack", SecretString=slack.api_secret()
        )["ARN"]
        if not demo.slurm:
            account.publish_layer(emulator, region)
    with demo.step(f"cdk deploy {STACKS[0]}: network, file system", "read the lines above"):
        cdk = app(demo, emulator, secret)
        cdk.synth()
        cdk.deploy_again(STACKS[0])
    with demo.step(
        f"cdk deploy {STACKS[1]}: fleet, alerts, and the boot of a real Slurm"
        if demo.slurm
        else f"cdk deploy {STACKS[1]}: fleet and alerts",
        "the node and the step are named above; docs/bare-slurm.md has the steps of a boot",
    ):
        lab = machines(demo, emulator, stack) if demo.slurm else None
        progress = Progress(emulator, NAME, region, demo.say)
        with progress if demo.slurm else ExitStack():
            cdk.deploy_again(STACKS[1], options=["--exclusively"])
        if lab:
            told = wait_until(lambda: slack.messages, "message of the gate in Slack")[0]
            demo.say(f"Slack: {told.text}")
    with demo.step("run a job", f"read {demo.work}/machines, where the disks of the machines are"):
        job = submit(demo, lab) if lab else "no Slurm here, so no job"
    with demo.step("trip an alarm and wait for Slack", log):
        message = alarm(emulator, slack, region)
        demo.say(message)
        statuses = account.statuses(emulator, *STACKS, region=region)
    return [
        *(f"{name:18} {status}" for name, status in zip(STACKS, statuses, strict=True)),
        f"{'job':18} {job}",
        f"{'Slack':18} {message}",
    ]


def app(demo: Demo, emulator: Emulator, secret: str) -> Cdk:
    """Return the command line over the institution of the demonstration."""
    if not demo.slurm:
        return of(emulator, demo.work, small(NAME, alerts=alerts(secret)))
    cdk = of(emulator, demo.work, bare(NAME, alerts=alerts(secret)))
    cdk.app = ["tests/deploy/lab_app.py", str(demo.work / "institutions")]
    return cdk


def machines(demo: Demo, emulator: Emulator, stack: ExitStack) -> Any:
    """Return the lab, whose machines follow the emulator's instances."""
    from tests.deploy.machines import EmulatedFleet

    return stack.enter_context(EmulatedFleet(demo.work / "machines", emulator, NAME))


def submit(demo: Demo, lab: Any) -> str:
    """Run a job as a user of the policy; return its line of sacct."""
    head = lab.head.machine
    demo.say(head.run("sinfo"))
    wrapped = "echo $(hostname) has $CUDA_VISIBLE_DEVICES"
    id = head.run(
        *("sbatch", "--parsable", "--gres=gpu:8", "--mem=100", "-D", "/tmp", "-o", "/tmp/demo.out"),
        *("--wrap", wrapped),
        user="kim",
    )
    show = ("sacct", "-nXP", "-j", id, "-o", "JobID,User,Account,Partition,State,NodeList")

    def ended() -> str | None:
        line = str(head.run(*show))
        return line if "COMPLETED" in line or "FAILED" in line else None

    line = wait_until(ended, f"end of job {id}", 120)
    demo.say(line)
    if "COMPLETED" not in line:
        raise RuntimeError(f"job {id} ended otherwise: {line}")
    return line


def alarm(emulator: Emulator, slack: SlackServer, region: str) -> str:
    """Trip the alarm of a full file system; return the message that came to Slack."""
    before = len(slack.messages)
    ids = account.physical_ids(emulator, STACKS[1], region=region)
    name = next(id for logical, id in ids.items() if logical.startswith("AlertsFsxDiskFull"))
    emulator.client("cloudwatch", region).set_alarm_state(
        AlarmName=name, StateValue="ALARM", StateReason="1 datapoint was below the threshold"
    )
    return str(wait_until(lambda: slack.messages[before:], "message in Slack")[0].text)


def end_on_signals() -> None:
    """Let a signal end the demonstration by way of all that clears up."""

    def end(number: int, _: object) -> None:
        hold_signals()
        raise Interrupted(number)

    for each in SIGNALS:
        signal.signal(each, end)


def hold_signals() -> None:
    """Ignore further signals, which would cut the clearing up short."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


@contextmanager
def alone(work: Path) -> Iterator[None]:
    """Hold a folder, since two demonstrations would clear each other's files."""
    step, lock = "hold the folder", work.with_name(f"{work.name}.lock")
    try:
        if work.exists() and not lock.exists() and any(work.iterdir()):
            raise StepError(step, f"{work} has files that no demonstration made", ELSEWHERE)
        work.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("w")
    except OSError as error:
        place = shlex.quote(str(work.parent))
        remedy = f'let {place} be yours (sudo chown -R "$USER" {place}), or {ELSEWHERE}'
        raise StepError(step, _short(error), remedy) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            why = f"another demonstration runs in {work}"
            raise StepError(step, why, f"wait for its end, or {ELSEWHERE}") from error
        yield


def main() -> int:
    """Run the demonstration; return 0, 1 where a step failed, 128 and the number of a signal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--without-slurm", action="store_true", help="the deployment alone")
    parser.add_argument("--work", type=Path, default=WORK, help="its folder, emptied first")
    options = parser.parse_args()
    demo = Demo(options.work.resolve())
    end_on_signals()
    try:
        with alone(demo.work):
            with ExitStack() as stack:
                try:
                    summary = run(demo, stack, not options.without_slurm)
                finally:
                    hold_signals()
            clear(demo.work)
    except StepError as error:
        print(f"\ndemo: step failed: {error.step}\n{textwrap.indent(error.why, '  ')}")
        print(f"what to do: {error.remedy}")
        return 1
    except Interrupted as interrupted:
        print("\ndemo: interrupted; nothing is left running, run it again at any time")
        return 128 + interrupted.number
    print(f"\nAll of it in {demo.seconds:.0f} s, and nothing is left running.\n")
    print(textwrap.indent("\n".join(summary), "  "))
    print(
        "\nWhere to look next: README.md; docs/emulation.md says what was emulated, docs/deploy.md"
        "\nhow to do the same on AWS; institutions/ is the place of your own file."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
