"""``trainshed gate``: the all-reduce over a live fleet once more, through Systems Manager.

Exit code: 0 every queue's gate has passed; 1 one has failed, or it could not be run; 3 it was not
over in time.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..config import Institution

# What `trainshed-gate --wait` of the head node ends with; keeper/recovery/again.py.
PASSED, FAILED, NOT_OVER = 0, 1, 3
_POLL_SECONDS = 5.0
_OVER = {"Success", "Failed", "Cancelled", "TimedOut"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("file", type=Path, metavar="FILE", help="institution file")
    parser.add_argument(
        "--queue", action="append", metavar="QUEUE", help="this queue alone; may be repeated"
    )
    parser.add_argument("--open", metavar="QUEUE", help="let users in without a gate; recorded")
    parser.add_argument("--profile", metavar="NAME", help="AWS profile; default: as the AWS CLI")
    parser.add_argument(
        "--wait", type=int, default=30, metavar="MINUTES", help="wait at most; default: 30"
    )


def run(options: argparse.Namespace) -> int:
    """Run it and print how it ended."""
    from botocore.exceptions import BotoCoreError, ClientError

    from ..config import ConfigError
    from .checked import load_checked
    from .doctor import session_of

    try:
        institution = load_checked(options.file)
        told = command(institution, options.queue or [], options.open, options.wait)
        session = session_of(options.profile)
        head = head_of(session.client("ec2", region_name=institution.region), institution)
        ssm = session.client("ssm", region_name=institution.region)
        code, out = run_on(ssm, head, told, (options.wait + 2) * 60)
    except (ConfigError, ValueError) as error:
        print(error, file=sys.stderr)
        return FAILED
    except (BotoCoreError, ClientError) as error:
        print(f"gate: {error}; credentials, and the right ssm:SendCommand?", file=sys.stderr)
        return FAILED
    print(out.rstrip())
    return code


def command(institution: Institution, queues: list[str], opened: str | None, minutes: int) -> str:
    """Return what is run on the head node.

    Raises:
        ValueError: There is no gate, or no such queue.
    """
    fleet = institution.fleet
    if fleet.backend == "parallelcluster" and fleet.parallelcluster.gate is None:
        raise ValueError("fleet.parallelcluster.gate is not given, so there is no gate to run")
    if fleet.backend == "slurm" and not fleet.slurm.gate.enabled:
        raise ValueError("fleet.slurm.gate.enabled is false, so there is no gate to run")
    for name in [*queues, *([opened] if opened else [])]:
        if name not in fleet.queues:
            raise ValueError(f"there is no queue {name}; queues are {', '.join(fleet.queues)}")
    if minutes < 1:
        raise ValueError(f"--wait is {minutes}; use 1 or more minutes")
    more = ["--open", opened] if opened else ["--wait", str(minutes), *queues]
    return shlex.join(["/usr/local/sbin/trainshed-gate", *more])


def head_of(ec2: Any, institution: Institution) -> str:
    """Return the id of the running head node.

    Args:
        ec2: A client of EC2.
        institution: The institution.

    Raises:
        ValueError: There is none.
    """
    from ..slurm_fleet.names import CLUSTER_TAG, ROLE_TAG

    tags = {CLUSTER_TAG: institution.cluster_name, ROLE_TAG: "head"}
    if institution.fleet.backend == "parallelcluster":
        # pcluster 3.16.1, constants.py (PCLUSTER_CLUSTER_NAME_TAG, PCLUSTER_NODE_TYPE_TAG).
        name, kind = "parallelcluster:cluster-name", "parallelcluster:node-type"
        tags = {name: institution.cluster_name, kind: "HeadNode"}
    wanted = [
        *({"Name": f"tag:{name}", "Values": [value]} for name, value in tags.items()),
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    pages = ec2.describe_instances(Filters=wanted)["Reservations"]
    found = [each for page in pages for each in page["Instances"]]
    if not found:
        raise ValueError(
            f"no head node of cluster {institution.cluster_name} runs in {institution.region}; "
            "is it deployed, and in this account?"
        )
    # A new head node stops the former one, and both run for a moment.
    return str(max(found, key=lambda each: each["LaunchTime"])["InstanceId"])


def run_on(
    ssm: Any,
    instance: str,
    told: str,
    seconds: int,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[int, str]:
    """Run a command on an instance; return its exit code and what it said.

    Args:
        ssm: A client of Systems Manager.
        instance: Id of the instance.
        told: The command.
        seconds: How long it may take.
        clock: Seconds of a clock that never goes back.
        sleep: Waits.
    """
    sent = ssm.send_command(
        InstanceIds=[instance],
        DocumentName="AWS-RunShellScript",
        Comment="trainshed gate",
        Parameters={"commands": [told], "executionTimeout": [str(seconds)]},
    )["Command"]["CommandId"]
    end = clock() + seconds + 60
    while True:
        found = _invocation(ssm, sent, instance)
        status = str(found.get("Status", "Pending"))
        if status in _OVER:
            said = f"{found.get('StandardOutputContent', '')}"
            error = str(found.get("StandardErrorContent", "")).strip()
            # The agent adds the exit code to it in its own words.
            error = re.sub(r"\n?failed to run commands: exit status \d+$", "", error)
            code = int(found.get("ResponseCode", FAILED))
            return (code if code >= 0 else FAILED), "\n".join(filter(None, (said.rstrip(), error)))
        if clock() > end:
            return NOT_OVER, f"{instance} has not ended {told} ({status}); command {sent}"
        sleep(_POLL_SECONDS)


def _invocation(ssm: Any, sent: str, instance: str) -> dict[str, Any]:
    try:
        return dict(ssm.get_command_invocation(CommandId=sent, InstanceId=instance))
    except ssm.exceptions.InvocationDoesNotExist:
        return {}  # not yet
