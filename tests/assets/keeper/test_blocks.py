"""The end of a Capacity Block on ParallelCluster, with a clock that the test sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.node.keeper.blocks import Aws, Blocks, Slurm, blocks
from assets.node.keeper.ends import Ends
from assets.node.keeper.slurm import SlurmError
from tests.assets.keeper.fleet import NOW

MINUTE = timedelta(minutes=1)
RESERVED = "ReservationName=trainshed-end-train StartTime=x Nodes=train-st-p5en-[1-2] Users=root"


class Programs:
    """Slurm's programs over two nodes and some jobs."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str, str, str]] = []
        self.reserved = False
        self.down = False
        self.refused = ""
        self.ran: list[str] = []

    def __call__(self, command: Sequence[str], text: str) -> str:
        if self.down:
            raise SlurmError("connect failure")
        said = " ".join(command)
        if "show reservation" in said:
            return RESERVED if self.reserved else "No reservations in the system"
        if command[0] == "sinfo":
            return "train-st-p5en-1\ntrain-st-p5en-2\ntrain-st-p5en-1\n"
        if "--partition=train" in said:
            return "".join(
                f"{id} train,spare\n" for id, state, _ in self.jobs if state == "PENDING"
            )
        if command[0] == "squeue":
            return "".join(
                f"{id:<24}{state:<16}{'N/A':<24}{end:<24}{'1-0':<24}{'(null)':<64}\n"
                for id, state, end in self.jobs
            )
        self.ran.append(said)
        if self.refused and self.refused in said:
            raise SlurmError("Requested operation not supported")
        return ""


class World:
    """The program with all that it sees."""

    def __init__(self, **queue: Any) -> None:
        self.programs = Programs()
        self.now = NOW
        self.end = NOW + timedelta(hours=1)
        self.queue: dict[str, Any] = {"reservation_id": "cr-1", "drain_minutes": 40, **queue}
        self.ec2: dict[str, datetime] = {}
        self.warned: dict[str, datetime] = {}
        self.told: list[tuple[str, str]] = []
        self.seconds = 0.0
        self.program = Blocks(
            Slurm(self.programs),
            self.read,
            lambda subject, text: self.told.append((subject, text)),
            Ends(lambda ids: self.ec2, lambda: self.seconds),
            Ends(lambda ids: self.warned, lambda: self.seconds),
            now=lambda: self.now,
        )

    def read(self) -> str:
        train = {**self.queue, "end": self.end.isoformat()}
        return json.dumps({"queues": {"train": train, "spare": {}}})

    def at(self, before_end: float) -> list[str]:
        """Let it look some minutes before the end, and return what it did."""
        self.now = self.end - before_end * MINUTE
        self.seconds += 60
        self.programs.ran.clear()
        self.program.round()
        if any("create" in ran for ran in self.programs.ran):
            self.programs.reserved = True
        return list(self.programs.ran)


@pytest.fixture
def world() -> World:
    return World()


def test_a_block_is_left_in_time_and_no_job_is_ended_before_its_warning(world: World) -> None:
    world.programs.jobs = [("7", "RUNNING", "2026-12-31T00:00:00"), ("8", "PENDING", "N/A")]
    assert world.at(41) == []
    reserve, warn = world.at(40)
    assert reserve.startswith("scontrol create reservationname=trainshed-end-train nodes=train-st")
    assert "users=root flags=MAINT,IGNORE_JOBS" in reserve
    # Slurm sends the signal that a job asked for before its end; that is ten minutes from now.
    local = (world.end - 30 * MINUTE).astimezone().strftime("%Y-%m-%dT%H:%M:%S")
    assert warn.startswith(f"scontrol update jobid=7 endtime={local} ")
    assert [subject for subject, _ in world.told] == ["Queue train: its Capacity Block is left"]
    world.programs.jobs = [("7", "RUNNING", local)]
    assert [ran for minute in (39, 35, 31.1) for ran in world.at(minute)] == []
    assert world.at(31) == ["scontrol requeue 7"]
    assert len(world.told) == 1


def test_a_job_whose_warning_slurm_refuses_is_requeued_all_the_same(world: World) -> None:
    world.programs.jobs = [("7", "RUNNING", "2026-12-31T00:00:00")]
    world.at(40)
    assert "scontrol requeue 7" in world.at(31)


@pytest.mark.parametrize(("sooner", "left"), [(0, False), (-60, False), (20, True)])
def test_the_end_is_the_files_or_ec2s_whichever_comes_first(sooner: int, left: bool) -> None:
    world = World()
    world.ec2 = {"cr-1": world.end - sooner * MINUTE}
    assert bool(world.at(60)) is left


@pytest.mark.parametrize(("ago", "left"), [(0, True), (-1, False)], ids=["now", "in a minute"])
def test_a_block_is_left_when_ec2_warns_of_its_end(world: World, ago: int, left: bool) -> None:
    world.warned = {"cr-1": world.end - (60 + ago) * MINUTE}
    world.programs.jobs = [("7", "RUNNING", "2026-12-31T00:00:00")]
    did = world.at(60)
    assert bool(did) is left
    # Jobs have their ten minutes from then on.
    local = (world.end - 50 * MINUTE).astimezone().strftime("%Y-%m-%dT%H:%M:%S")
    assert not left or f"endtime={local}" in did[1]


def test_a_block_whose_end_moves_away_is_in_use_again(world: World) -> None:
    world.at(40)
    world.end += timedelta(days=7)
    assert world.at(7 * 24 * 60) == ["scontrol delete reservationname=trainshed-end-train"]


@pytest.mark.parametrize("queues", [{"train": {}, "spare": {}}, {"spare": {}}], ids=["od", "gone"])
def test_a_queue_that_ends_no_more_is_in_use_again(
    world: World, queues: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """With another capacity, or taken out: users had none of its nodes until a person came."""
    world.at(40)
    world.program._read = lambda: json.dumps({"queues": queues})
    world.programs.refused = "delete"
    world.at(30)
    assert "Requested operation not supported" in capsys.readouterr().out
    world.programs.refused = ""
    assert world.at(30) == ["scontrol delete reservationname=trainshed-end-train"]


def test_waiting_jobs_move_to_the_queue_that_is_named() -> None:
    world = World(next_queue="spare2")
    world.programs.jobs = [("8", "PENDING", "N/A")]
    assert "scontrol update jobid=8 partition=spare,spare2" in world.at(40)
    assert world.told[0][1].endswith(", to go on in spare2.")


@pytest.mark.parametrize(
    "refused", ["jobid=8 partition", "create reservationname=trainshed-end-train"]
)
def test_what_slurm_refuses_for_one_queue_keeps_no_other_from_its_end(
    refused: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The jobs of the others would have been killed with their block, and without a signal."""
    world = World(next_queue="spare2")
    other = {**world.queue, "reservation_id": "cr-2", "next_queue": ""}
    document = json.loads(world.read())
    document["queues"]["zeta"] = {**other, "end": world.end.isoformat()}
    world.program._read = lambda: json.dumps(document)
    world.programs.jobs = [("7", "RUNNING", "2026-12-31T00:00:00"), ("8", "PENDING", "N/A")]
    world.programs.refused = refused
    did = world.at(40)
    assert any("create reservationname=trainshed-end-zeta" in ran for ran in did)
    assert any(ran.startswith("scontrol update jobid=7 endtime=") for ran in did)
    assert "Requested operation not supported" in capsys.readouterr().out


def test_without_slurm_nothing_is_done_and_the_next_round_goes_on(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.programs.down = True
    assert world.at(40) == []
    assert "connect failure" in capsys.readouterr().out
    world.programs.down = False
    assert world.at(39)


def test_ec2_is_asked_once_a_minute_and_remembered_when_it_is_silent() -> None:
    asked: list[frozenset[str]] = []
    seconds = [0.0]
    answers: list[dict[str, datetime] | None] = [{"cr-1": NOW}, None]

    def ask(ids: frozenset[str]) -> dict[str, datetime] | None:
        asked.append(ids)
        return answers.pop(0)

    ends = Ends(ask, lambda: seconds[0])
    assert ends.look([]) == {} and asked == []
    for second in (0.0, 30.0, 60.0, 90.0):
        seconds[0] = second
        assert ends.look(["cr-1"]) == {"cr-1": NOW}
    assert asked == [frozenset({"cr-1"})] * 2


class Cli:
    """The command line of AWS."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.answer = ""

    def __call__(self, command: Sequence[str], text: str) -> str:
        self.ran.append(" ".join(command))
        if not self.answer:
            raise SlurmError("aws: no answer")
        return self.answer


BOTH = frozenset({"cr-2", "cr-1"})


def test_ec2_is_asked_for_the_ends_of_blocks() -> None:
    cli = Cli()
    cli.answer = '[["cr-1", "2026-12-03T11:30:00+00:00"], ["cr-2", null]]'
    ends = Aws(cli, "kait", "us-east-2").ends(BOTH)
    assert ends == {"cr-1": datetime(2026, 12, 3, 11, 30, tzinfo=UTC)}
    assert cli.ran[0].startswith("aws ec2 describe-capacity-reservations --region us-east-2")
    assert cli.ran[0].endswith("--capacity-reservation-ids cr-1 cr-2")


def test_a_block_that_ec2_has_forgotten_hides_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    def run(command: Sequence[str], text: str) -> str:
        if "cr-1" in command:
            raise SlurmError("(InvalidCapacityReservationId.NotFound) the ID 'cr-1' does not exist")
        return '[["cr-2", "2026-12-03T11:30:00+00:00"]]'

    ends = Aws(run, "kait", "us-east-2").ends(BOTH)
    assert ends == {"cr-2": datetime(2026, 12, 3, 11, 30, tzinfo=UTC)}
    assert capsys.readouterr().out == ""


def test_warnings_are_read_from_parameter_store() -> None:
    cli = Cli()
    cli.answer = json.dumps(
        [
            ["/trainshed/kait/blocks/cr-1", "2026-12-03T10:50:07Z"],
            ["/trainshed/kait/blocks/cr-2", "none"],
        ]
    )
    warned = Aws(cli, "kait", "us-east-2").warnings(BOTH)
    assert warned == {"cr-1": datetime(2026, 12, 3, 10, 50, 7, tzinfo=UTC)}
    assert cli.ran[0].endswith("--names /trainshed/kait/blocks/cr-1 /trainshed/kait/blocks/cr-2")


def test_without_an_answer_nothing_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    aws = Aws(Cli(), "kait", "us-east-2")
    assert aws.ends(BOTH) is None and aws.warnings(BOTH) is None
    assert capsys.readouterr().out.count("no answer") == 2


def test_only_queues_with_a_block_end(tmp_path: Path) -> None:
    assert [block.queue for block in blocks(json.loads(World().read()))] == ["train"]
