"""The record of a failed boot, where the custom resource and the keeper read it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from .plan import Node, Step

_TAIL = 1500
_REASON = 300
# Systems Manager user guide "Parameter tiers", read 2026-11-29: 4 KB for a standard parameter.
_MOST_CHARACTERS = 4000


@dataclass(frozen=True)
class FailedBoot:
    """Why a node did not boot.

    Args:
        schema: Version of the record.
        instance_id: EC2 instance id.
        role: Role of the node.
        queue: Queue of a compute node.
        node: Name in Slurm.
        step: The step that failed.
        reason: What its script said last.
        remedy: What a person does.
        tail: End of the step's output.
        at: When, in UTC.
    """

    schema: int
    instance_id: str
    role: str
    queue: str
    node: str
    step: str
    reason: str
    remedy: str
    tail: str
    at: str

    @classmethod
    def of(cls, node: Node, step: Step, output: str) -> FailedBoot:
        """Return the record of a step's output."""
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        return cls(
            schema=1,
            instance_id=node.instance_id,
            role=node.role,
            queue=node.queue,
            node=node.name,
            step=step.name,
            reason=(lines or ["it said nothing"])[-1][:_REASON],
            remedy=step.remedy,
            tail=output[-_TAIL:],
            at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        )

    def written(self) -> str:
        """Return the value of its parameter, with as much of the tail as there is room for."""
        row = asdict(self)
        while (over := len(text := _json(row)) - _MOST_CHARACTERS) > 0 and row["tail"]:
            row["tail"] = row["tail"][-(-over // 6) :]  # a character takes six at most
        return text


def _json(row: dict[str, object]) -> str:
    # Systems Manager refuses a value with two opening braces, as if it named another parameter.
    return json.dumps(row).replace("{{", "{\\u007b")


def publish(record: FailedBoot, cluster: str, region: str) -> None:
    """Write the record to its SSM parameter; a failure of that is told and no more."""
    arguments = ["--type", "String", "--overwrite", "--value", record.written()]
    _ssm("put-parameter", record.instance_id, cluster, region, *arguments)


def clear(node: Node, cluster: str, region: str) -> None:
    """Delete the record of an earlier failure, if there is one."""
    _ssm("delete-parameter", node.instance_id, cluster, region)


def _ssm(operation: str, instance_id: str, cluster: str, region: str, *arguments: str) -> None:
    name = f"/trainshed/{cluster}/slurm/nodes/{instance_id}"
    command = ["aws", "ssm", operation, "--region", region, "--name", name, *arguments]
    try:
        done = subprocess.run(  # noqa: S603, the AWS command line
            command, capture_output=True, text=True, timeout=120, check=False
        )
        said = done.stderr.strip() if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if said and "ParameterNotFound" not in said:
        print(f"boot: {operation} {name}: {said}", file=sys.stderr)
