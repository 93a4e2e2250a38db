"""Leaves Capacity Blocks before they end, from the head node of a ParallelCluster cluster.

The bare fleet's keeper drains its nodes for it. Here a drained node would be replaced at once, so
that the nodes of a queue are reserved for root: running jobs go on, and none starts.

usage: python3 -m keeper.blocks [--once]
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from .document import GRACE
from .document import time as read_time
from .ends import GONE, Ends, warnings
from .jobs import Jobs
from .recovery.act import Tell
from .recovery.loop import DOCUMENT, teller
from .recovery.slurm import Slurm as RecoverySlurm
from .rounds import rounds
from .slurm import Run, SlurmError, run

FREED = Path(os.environ.get("ROOT_DIR") or "/", "var/lib/trainshed/freed-jobs")
_ENDS = "trainshed-end-"


@dataclass(frozen=True)
class Block:
    """A queue whose capacity ends.

    Args:
        queue: Its name, which is also its partition's.
        id: Id of the Capacity Block.
        ends: When it ends.
        drain: So long before that EC2 begins to take instances away, and some minutes, it is left.
        then: Queue to which waiting jobs move. Empty: they wait for the next block here.
    """

    queue: str
    id: str
    ends: datetime
    drain: timedelta
    then: str = ""

    @property
    def drain_from(self) -> datetime:
        """When it is left."""
        return self.ends - self.drain

    def told(self, end: datetime | None, warned: datetime | None) -> Block:
        """Return the block with what EC2 says of its end, where that comes first."""
        sooner = [self.ends, end or self.ends, warned + self.drain if warned else self.ends]
        return replace(self, ends=min(sooner))

    @property
    def reservation(self) -> str:
        """Slurm reservation that keeps new jobs from its nodes."""
        return f"{_ENDS}{self.queue}"


def blocks(document: Mapping[str, Any]) -> list[Block]:
    """Return the queues of a document that end."""
    found = []
    for name, queue in sorted(document["queues"].items()):
        ends = read_time(queue.get("end"))
        if ends is not None:
            drain = timedelta(minutes=int(queue["drain_minutes"]))
            then = str(queue.get("next_queue") or "")
            found.append(Block(name, str(queue["reservation_id"]), ends, drain, then))
    return found


class Aws:
    """What the head node asks AWS, by its command line.

    Args:
        run: What runs commands.
        cluster: Name of the cluster.
        region: Region of the cluster.
    """

    def __init__(self, run: Run, cluster: str, region: str) -> None:
        self._run, self._cluster, self._region = run, cluster, region

    def ends(self, blocks: frozenset[str]) -> dict[str, datetime] | None:
        """Return when Capacity Blocks end, as EC2 has it; None without an answer."""
        shown = "CapacityReservations[].[CapacityReservationId,EndDate]"
        ids = ("--capacity-reservation-ids", *sorted(blocks))
        try:
            said = self._said("ec2", "describe-capacity-reservations", shown, *ids)
        except (SlurmError, ValueError) as error:
            if GONE not in str(error):
                say("cannot ask AWS", what="ends of blocks", reason=str(error))
                return None
            one = (self.ends(frozenset({id})) for id in sorted(blocks) if len(blocks) > 1)
            return {id: end for found in one for id, end in (found or {}).items()}
        return {id: end for id, text in said if (end := read_time(text)) is not None}

    def warnings(self, blocks: frozenset[str]) -> dict[str, datetime] | None:
        """Return when EC2 first warned that it takes blocks away; None without an answer."""
        names = [f"/trainshed/{self._cluster}/blocks/{id}" for id in sorted(blocks)]
        shown = "Parameters[].[Name,Value]"
        try:
            return warnings(dict(self._said("ssm", "get-parameters", shown, "--names", *names)))
        except (SlurmError, ValueError) as error:
            say("cannot ask AWS", what="warnings", reason=str(error))
            return None

    def _said(self, service: str, what: str, shown: str, *more: str) -> list[list[str]]:
        command = ("aws", service, what, "--region", self._region, "--output", "json")
        said: list[list[str]] = json.loads(self._run((*command, "--query", shown, *more), ""))
        return said


class Slurm(RecoverySlurm):
    """The cluster, whose queues are partitions too."""

    def left(self) -> set[str]:
        """Return the reservations of queues that are left."""
        said = self._run(("scontrol", "--oneliner", "show", "reservation"), "")
        return {
            name for name in re.findall(r"ReservationName=(\S+)", said) if name.startswith(_ENDS)
        }

    def nodes_of(self, queue: str) -> tuple[str, ...]:
        """Return the nodes of a queue, started or not."""
        shown = ("sinfo", "--noheader", "--Node", f"--partition={queue}", "-o", "%N")
        said = self._run(shown, "")
        return tuple(sorted(set(said.split())))

    def move_waiting(self, queue: str, then: str) -> None:
        """Let the jobs that wait in a queue wait in another."""
        # %A, a number that scontrol takes for all tasks of an array; %i says 7_[1-9%2].
        shown = ("squeue", "--all", "--noheader", f"--partition={queue}", "-t", "PD", "-o", "%A %P")
        for line in self._run(shown, "").splitlines():
            job, partitions = line.split()
            others = [name for name in partitions.split(",") if name not in (queue, then)]
            try:
                self._update_job(job, f"partition={','.join([*others, then])}")
            except SlurmError as error:
                say("did not succeed", action="move", subject=job, reason=str(error))


class Blocks:
    """Watches the ends of a cluster's blocks.

    Args:
        slurm: The cluster.
        read: Returns the document's text.
        tell: Tells people.
        ends: When blocks end, as EC2 says.
        warned: When EC2 warned of their end.
        now: The time.
        freed: File of requeued jobs that are looked after. Default: a restart forgets them.
    """

    def __init__(
        self,
        slurm: Slurm,
        read: Callable[[], str],
        tell: Tell,
        ends: Ends,
        warned: Ends,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),  # noqa: UP017
        freed: Path | None = None,
    ) -> None:
        self._slurm, self._read, self._tell = slurm, read, tell
        self._ends, self._warned, self._now = ends, warned, now
        self._jobs = Jobs(slurm, say, freed)

    def round(self) -> None:
        """Do what is due; what fails is done in the next round."""
        try:
            now, reserved = self._now(), self._slurm.left()
            watched = self._blocks()
            for block in watched:
                self._one(now, block, block.reservation in reserved)
            # Of queues with another capacity now, or that are gone.
            for name in sorted(reserved - {block.reservation for block in watched}):
                self._use_again(name)
            self._jobs.look_after(now)
        except (SlurmError, ValueError, OSError) as error:
            say("cannot look", reason=str(error))

    def _one(self, now: datetime, block: Block, reserved: bool) -> None:
        """Do what is due for a block; what Slurm refuses keeps no other from its end."""
        try:
            if now >= block.drain_from:
                self._leave(now, block, reserved)
            elif reserved:
                self._use_again(block.reservation)
        except SlurmError as error:
            say("did not succeed", queue=block.queue, reason=str(error))

    def _use_again(self, reservation: str) -> None:
        queue = reservation.removeprefix(_ENDS)
        try:
            self._slurm.unreserve(reservation)
            say("in use again", queue=queue)
        except SlurmError as error:
            say("did not succeed", queue=queue, reason=str(error))

    def _blocks(self) -> list[Block]:
        """Return the blocks; each ends as written, or as EC2 says, whichever comes first."""
        written = blocks(json.loads(self._read()))
        ids = [block.id for block in written]
        ends, warned = self._ends.look(ids), self._warned.look(ids)
        return [block.told(ends.get(block.id), warned.get(block.id)) for block in written]

    def _leave(self, now: datetime, block: Block, reserved: bool) -> None:
        nodes = self._slurm.nodes_of(block.queue)
        if nodes and not reserved:
            self._slurm.reserve(block.reservation, nodes, new=True)
            until = block.drain_from + GRACE
            self._tell(
                f"Queue {block.queue}: its Capacity Block is left",
                f"The Capacity Block of queue {block.queue} ends at {block.ends:%F %R} UTC. No job "
                f"starts there any more; running jobs are asked to save, and requeued at "
                f"{until:%R} UTC" + (f", to go on in {block.then}." if block.then else "."),
            )
        if nodes:
            self._jobs.end(now, nodes, block.drain_from + GRACE)
        if block.then:
            self._slurm.move_waiting(block.queue, block.then)


def say(told: str, **more: object) -> None:
    """Write a line to the journal."""
    print(json.dumps({"blocks": told, **more}), flush=True)


def main(arguments: Sequence[str]) -> int:
    """Watch for ever, or for one round."""
    values = json.loads(DOCUMENT.read_text())
    aws = Aws(run, str(values["cluster"]), str(values["region"]))
    ends, warned = Ends(aws.ends, time.monotonic), Ends(aws.warnings, time.monotonic)
    watched = Blocks(Slurm(), DOCUMENT.read_text, teller(values), ends, warned, freed=FREED)
    return rounds(watched.round, say, once="--once" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
