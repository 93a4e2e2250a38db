from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from assets.node.keeper.apply import Apply, ApplyError, Places
from assets.node.keeper.document import generation
from tests.assets.keeper.fleet import NOW
from tests.waiting import wait_until

DOCUMENT = '{"schema": 1}'
WANTED = generation(DOCUMENT)


@dataclass
class Head:
    """A head node's service and scripts."""

    places: Places
    state: str = "inactive"
    result: str = "success"
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def __call__(self, command: Sequence[str]) -> tuple[int, str]:
        if command[:2] == ("systemctl", "show"):
            return 0, f"Result={self.result}\nActiveState={self.state}"
        name = Path(command[1] if command[0].endswith("python3") else command[0]).name
        self.ran.append(name)
        if name == "reconfigure.sh":
            self.ran += sorted(path.name for path in Path(command[1]).iterdir())
        return self.answers.get(name, (0, ""))


@pytest.fixture
def head(tmp_path: Path) -> Head:
    places = Places(
        *(tmp_path / name for name in ("fleet.json", "files", "slurm", "a/applied", "x", "a/kept"))
    )
    for place in (places.files, places.slurm):
        place.mkdir()
        for name in ("slurm.conf", "gres.conf", "cgroup.conf"):
            (place / name).write_text("# old")
    (places.files / "policy.json").write_text("{}")
    return Head(places)


def fetched(head: Head, text: str = DOCUMENT) -> None:
    """Do what the head's boot does with a new document."""
    head.places.document.write_text(text + "\n")
    (head.places.files / "slurm.conf").write_text("# new")
    head.state = "inactive"


def test_a_new_document_is_fetched_by_the_boot_and_then_brought_to_slurm(head: Head) -> None:
    apply = Apply(head.places, head)
    assert not apply.step(WANTED, NOW)
    assert head.ran == ["systemctl"]
    head.state = "activating"
    assert not apply.step(WANTED, NOW)
    fetched(head)
    assert apply.step(WANTED, NOW)
    assert head.ran[1:] == [
        *("reconfigure.sh", "cgroup.conf", "gres.conf", "slurm.conf"),
        "slurm_accounts.py",
    ]
    assert apply.live == WANTED
    head.ran.clear()
    assert apply.step(WANTED, NOW) and Apply(head.places, head).step(WANTED, NOW)
    assert head.ran == []


def test_the_first_boot_is_waited_for_and_not_done_twice(head: Head) -> None:
    head.state = "activating"
    assert not Apply(head.places, head).step(WANTED, NOW)
    fetched(head)
    assert Apply(head.places, head).step(WANTED, NOW)
    assert "systemctl" not in head.ran


def test_slurm_is_left_alone_when_its_files_stay_the_same(head: Head) -> None:
    fetched(head)
    (head.places.files / "slurm.conf").write_text("# old")
    assert Apply(head.places, head).step(WANTED, NOW)
    assert head.ran == ["slurm_accounts.py"]


def test_files_that_slurmctld_has_not_read_are_brought_to_it_again(head: Head) -> None:
    fetched(head)
    (head.places.files / "slurm.conf").write_text("# old")
    (head.places.slurm / ".pending").touch()
    assert Apply(head.places, head).step(WANTED, NOW)
    assert head.ran[0] == "reconfigure.sh"


@pytest.mark.parametrize(
    ("script", "step"), [("reconfigure.sh", "slurm.conf"), ("slurm_accounts.py", "accounts")]
)
def test_what_is_refused_is_told_and_tried_again_after_a_while(
    head: Head, script: str, step: str
) -> None:
    fetched(head)
    head.answers[script] = (1, "slurmctld does not take these files: Invalid node names")
    apply = Apply(head.places, head)
    with pytest.raises(ApplyError) as refused:
        apply.step(WANTED, NOW)
    assert (refused.value.step, refused.value.reason) == (step, head.answers[script][1])
    ran = list(head.ran)
    with pytest.raises(ApplyError):
        apply.step(WANTED, NOW + timedelta(minutes=1))
    assert head.ran == ran and apply.live == ""
    head.answers.clear()
    assert apply.step(WANTED, NOW + timedelta(minutes=6))


@pytest.mark.parametrize(
    ("code", "remedy"), [(1, "mend the policy and deploy again"), (2, "it is tried again")]
)
def test_files_that_could_not_be_tried_are_no_fault_of_the_policy(
    head: Head, code: int, remedy: str
) -> None:
    fetched(head)
    head.answers["reconfigure.sh"] = (code, "no")
    with pytest.raises(ApplyError) as refused:
        Apply(head.places, head).step(WANTED, NOW)
    assert refused.value.remedy.startswith(remedy)


def test_the_old_document_after_a_refused_one_is_applied_at_once(head: Head) -> None:
    fetched(head)
    head.answers["reconfigure.sh"] = (1, "no")
    apply = Apply(head.places, head)
    with pytest.raises(ApplyError):
        apply.step(WANTED, NOW)
    head.answers.clear()
    fetched(head, "old")
    assert apply.step(generation("old"), NOW)


def test_a_rollback_of_what_slurm_had_taken_in_part_is_brought_to_it(head: Head) -> None:
    fetched(head)
    apply = Apply(head.places, head)
    assert apply.step(WANTED, NOW)
    head.answers["slurm_accounts.py"] = (1, "the database is away")
    fetched(head, "newer")
    (head.places.files / "slurm.conf").write_text("# newer")
    with pytest.raises(ApplyError):
        apply.step(generation("newer"), NOW)
    (head.places.slurm / "slurm.conf").write_text("# newer")  # as reconfigure.sh has left it
    head.answers.clear()
    head.ran.clear()
    assert apply.live == "" and not apply.step(WANTED, NOW)
    assert head.ran == ["systemctl"]
    fetched(head)
    assert Apply(head.places, head).live == "", "another keeper knows it, too"
    assert apply.step(WANTED, NOW)
    assert "reconfigure.sh" in head.ran and apply.live == WANTED


def test_a_boot_with_another_document_is_no_document_that_is_live(head: Head) -> None:
    fetched(head)
    apply = Apply(head.places, head)
    assert apply.step(WANTED, NOW)
    fetched(head, "newer")
    assert apply.live == ""


@pytest.mark.parametrize("then", [WANTED, generation("old")], ids=["done", "another meanwhile"])
def test_slurm_that_takes_long_is_not_waited_for(head: Head, then: str) -> None:
    taken, ran = threading.Event(), head.ran

    def slow(command: Sequence[str]) -> tuple[int, str]:
        answer = head(command)
        if "reconfigure.sh" in command[0]:
            assert taken.wait(60)
        return answer

    fetched(head)
    apply = Apply(head.places, slow, patience_seconds=0)
    assert not apply.step(WANTED, NOW)
    assert not apply.step(then, NOW), "one at a time"
    taken.set()
    wait_until(lambda: "slurm_accounts.py" in ran, "the accounts")
    if then != WANTED:
        fetched(head, "old")
    wait_until(lambda: apply.step(then, NOW), "the document")
    assert apply.live == then
    assert ran.count("slurm_accounts.py") == (1 if then == WANTED else 2)


def test_a_boot_that_does_not_end_well_is_told(head: Head) -> None:
    apply = Apply(head.places, head)
    assert not apply.step(WANTED, NOW)
    head.result = "exit-code"
    with pytest.raises(ApplyError, match="the head node's boot does not end well"):
        apply.step(WANTED, NOW)


PARTITIONS = "PartitionName=DEFAULT State=UP\nPartitionName=train Nodes=x\n"


@pytest.mark.parametrize(
    ("answer", "reason", "remedy"),
    [
        (
            (0, "7\n8_1"),
            "partition a,train is removed while 2 jobs run in it",
            "an update ends no job: scontrol update partitionname=a state=drain, "
            "wait until they have ended, deploy again",
        ),
        ((1, "connect failure"), "connect failure", "it is tried again in 5 minutes"),
    ],
    ids=["jobs run", "nobody knows"],
)
def test_a_partition_that_jobs_run_in_is_not_taken_away(
    head: Head, answer: tuple[int, str], reason: str, remedy: str
) -> None:
    (head.places.slurm / "slurm.conf").write_text(PARTITIONS + "partitionname=a Nodes=x\n")
    fetched(head)
    head.answers["squeue"] = answer
    apply = Apply(head.places, head)
    with pytest.raises(ApplyError) as refused:
        apply.step(WANTED, NOW)
    assert (refused.value.step, refused.value.reason, refused.value.remedy) == (
        *("partitions", reason),
        remedy,
    )
    assert head.ran == ["squeue"]
    head.answers.clear()
    assert apply.step(WANTED, NOW + timedelta(minutes=6))


def test_nobody_is_asked_about_jobs_when_no_partition_leaves(head: Head) -> None:
    (head.places.slurm / "slurm.conf").write_text(PARTITIONS)
    fetched(head)
    (head.places.files / "slurm.conf").write_text(f"{PARTITIONS}PartitionName=b Nodes=x\n")
    assert Apply(head.places, head).step(WANTED, NOW)
    assert "squeue" not in head.ran


def test_what_slurm_has_is_kept_for_the_next_head_node(head: Head) -> None:
    fetched(head)
    (head.places.slurm / "slurm.conf").write_text(PARTITIONS)
    assert Apply(head.places, head).step(WANTED, NOW)
    kept = {path.name: path.read_text() for path in head.places.kept.iterdir()}
    assert kept == {"slurm.conf": PARTITIONS, "gres.conf": "# old", "cgroup.conf": "# old"}


def test_a_state_volume_that_takes_no_file_is_told_of(head: Head) -> None:
    fetched(head)
    head.places.kept.parent.mkdir()
    head.places.kept.write_text("no folder")
    with pytest.raises(ApplyError, match="File exists") as refused:
        Apply(head.places, head).step(WANTED, NOW)
    assert refused.value.step == "state-volume"
