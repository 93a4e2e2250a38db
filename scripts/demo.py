#!/usr/bin/env python3
"""Deploy an institution to an emulator of AWS on this machine, and look at what it made.

Usage: demo.py. Needs `make setup`. Everything is below .cache/demo and listens on 127.0.0.1 alone;
what an earlier, interrupted run left is cleared first.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
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
from tests.deploy.emulator.process import Emulator  # noqa: E402
from tests.deploy.institutions import LAB_REGION, bare, small  # noqa: E402
from tests.deploy.progress import Progress  # noqa: E402
from tests.deploy.waiting import wait_until  # noqa: E402

WORK = ROOT / ".cache" / "demo"
NAME = "demo"
STACKS = (f"{NAME}-foundation", f"{NAME}-cluster")
STEPS = 8


class StepError(Exception):
    """A step failed: its name, why, and what to do."""

    def __init__(self, step: str, why: str, remedy: str) -> None:
        super().__init__(why)
        self.step, self.why, self.remedy = step, why, remedy


class Demo:
    """The demonstration: what it has so far, and what it says."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._number = 0
        self.slurm = False
        self.why_no_slurm = ""

    @contextmanager
    def step(self, what: str, remedy: str) -> Iterator[None]:
        """Say that a step begins and how long it took; a failure carries its name and a remedy."""
        self._number += 1
        print(f"[{self._number}/{STEPS}] {what}", flush=True)
        begun = time.monotonic()
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
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


def prepare(demo: Demo) -> None:
    """Clear what an earlier run left, and find out whether Slurm can run here."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    done = subprocess.run(
        [str(ROOT / "scripts" / "slurm_lab.sh")], capture_output=True, text=True, check=False
    )
    demo.slurm = done.returncode == 0
    if not demo.slurm:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason was given"]
        demo.why_no_slurm = lines[-1]
        demo.say(
            f"a real Slurm cannot run here ({demo.why_no_slurm}); the deployment alone follows"
        )


def run(demo: Demo, stack: ExitStack) -> list[str]:
    """Run every step and return the lines of the summary."""
    with demo.step("look at this machine", "free some disk space below .cache, then run it again"):
        prepare(demo)
    with demo.step("start the emulator of AWS", f"read {WORK}/emulator.log"):
        emulator = stack.enter_context(Emulator(WORK, wait_scale=0.2 if demo.slurm else 0))
        slack = stack.enter_context(SlackServer())
        demo.say(f"AWS is {emulator.url}, Slack is {slack.url}")
    region = LAB_REGION if demo.slurm else "us-east-1"
    with demo.step("cdk bootstrap", f"read {WORK}/emulator.log"):
        bootstrap(emulator, region)
        secret = emulator.client("secretsmanager", region).create_secret(
            Name=f"{NAME}/slack", SecretString=slack.api_secret()
        )["ARN"]
        if not demo.slurm:
            account.publish_layer(emulator, region)
    cdk = app(demo, emulator, secret)
    with demo.step(f"cdk deploy {STACKS[0]}: network, file system", "read the lines above"):
        cdk.synth()
        cdk.deploy_again(STACKS[0])
    lab = machines(emulator, stack) if demo.slurm else None
    with demo.step(
        f"cdk deploy {STACKS[1]}: fleet, alerts, and the boot of a real Slurm"
        if demo.slurm
        else f"cdk deploy {STACKS[1]}: fleet and alerts",
        "the node and the step are named above; docs/bare-slurm.md has the steps of a boot",
    ):
        progress = Progress(emulator, NAME, region, demo.say)
        with progress if demo.slurm else ExitStack():
            cdk.deploy_again(STACKS[1], options=["--exclusively"])
    with demo.step("run a job", "read /var/log/slurm on the head node: it is in the lines above"):
        job = submit(demo, lab) if lab else "no Slurm here, so no job"
    with demo.step("trip an alarm and wait for Slack", f"read {WORK}/emulator.log"):
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
        return of(emulator, WORK, small(NAME, alerts=_alerts(secret)))
    cdk = of(emulator, WORK, bare(NAME, alerts=_alerts(secret)))
    cdk.app = ["tests/deploy/lab_app.py", str(WORK / "institutions")]
    return cdk


def _alerts(secret: str) -> dict[str, Any]:
    return {
        "slack_secret_arn": secret,
        "routes": {"critical": "C0ONCALL00", "warning": "C0OPS00000", "info": "C0INFO0000"},
        "operators": ["hpc@example.edu"],
    }


def machines(emulator: Emulator, stack: ExitStack) -> Any:
    """Return the lab, whose machines follow the emulator's instances."""
    from tests.deploy.machines import EmulatedFleet

    return stack.enter_context(EmulatedFleet(WORK / "machines", emulator, NAME))


def submit(demo: Demo, lab: Any) -> str:
    """Run a job as a user of the policy; return its line of sacct."""
    head = lab.head.machine
    demo.say(head.run("sinfo"))
    wrapped = "echo $(hostname) has $CUDA_VISIBLE_DEVICES"
    id = head.run(
        *("sbatch", "--parsable", "--gres=gpu:8", "--mem=100", "-o", "/fsx/demo.out"),
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
    ids = account.physical_ids(emulator, STACKS[1], region=region)
    name = next(id for logical, id in ids.items() if logical.startswith("AlertsFsxDiskFull"))
    emulator.client("cloudwatch", region).set_alarm_state(
        AlarmName=name, StateValue="ALARM", StateReason="1 datapoint was below the threshold"
    )
    return str(wait_until(lambda: slack.messages, "message in Slack")[0].text)


def main() -> int:
    """Run the demonstration; return 0, or 1 where a step failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    demo = Demo()
    try:
        with ExitStack() as stack:
            summary = run(demo, stack)
    except StepError as error:
        print(f"\ndemo: step failed: {error.step}\n{textwrap.indent(error.why, '  ')}")
        print(f"what to do: {error.remedy}")
        return 1
    except KeyboardInterrupt:
        print("\ndemo: interrupted; nothing is left running, run it again at any time")
        return 130
    print(f"\nAll of it in {demo.seconds:.0f} s, and nothing is left running.\n")
    print(textwrap.indent("\n".join(summary), "  "))
    print(
        "\nWhere to look next: README.md, docs/emulation.md (what was emulated), docs/deploy.md"
        " (the same on AWS),\ninstitutions/ (your own file)."
    )
    shutil.rmtree(WORK, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
