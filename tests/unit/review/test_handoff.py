"""What a foundation tells a cluster through the Parameter Store, when it tells another thing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.review.assemblies import CLUSTER, FOUNDATION, Stacks, changed
from trainshed.review import Effect

LUSTRE = "AWS::FSx::FileSystem"
HANDOFF, READ = "HandoffFileSystemId016D76B4", "FoundationFileSystemId"
TOLD: dict[str, Callable[[Stacks], object]] = {
    "another value in the Parameter Store": lambda s: s[FOUNDATION]["Resources"][HANDOFF][
        "Properties"
    ].update(Value="fs-0123456789abcdef9"),
    "another name in the Parameter Store": lambda s: s[CLUSTER]["Parameters"][READ].update(
        Default="/elsewhere/FileSystemId"
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_cluster_that_is_told_another_file_system_leaves_its_own(
    name: str, tmp_path: Path
) -> None:
    found = changed(tmp_path, TOLD[name])
    (stop,) = found.stops
    assert stop.flag == f"--accept 'orphan-data:{CLUSTER} parameter {READ}'"
    assert stop.sentence == (
        "The cluster goes on with another file system, and nothing uses the one that is there."
    )
    (refused,) = [each for each in found.findings if each.effect is Effect.REFUSED]
    assert refused.place == "cluster-config SharedStorage[fsx].FsxLustreSettings.FileSystemId"


def test_a_cluster_that_is_told_another_group_says_so(tmp_path: Path) -> None:
    found = changed(
        tmp_path,
        lambda s: s[CLUSTER]["Parameters"]["FoundationEfaSecurityGroupId"].update(
            Default="/elsewhere/EfaSecurityGroupId"
        ),
    )
    place = f"{CLUSTER} parameter FoundationEfaSecurityGroupId"
    (told,) = [each for each in found.findings if each.place == place]
    assert (told.effect, found.stops) == (Effect.LIVE, ())
    assert told.after == "/elsewhere/EfaSecurityGroupId"


def test_another_name_with_the_same_answer_changes_nothing(tmp_path: Path) -> None:
    def change(stacks: Stacks) -> None:
        stacks[FOUNDATION]["Resources"][HANDOFF]["Properties"]["Name"] = "/new/FileSystemId"
        stacks[CLUSTER]["Parameters"][READ]["Default"] = "/new/FileSystemId"

    assert changed(tmp_path, change).verdict == Effect.LIVE


def test_what_goes_and_what_is_told_instead_are_one_stop(tmp_path: Path) -> None:
    def change(stacks: Stacks) -> None:
        resources = stacks[FOUNDATION]["Resources"]
        resources.pop(next(id for id in resources if resources[id]["Type"] == LUSTRE))
        for id in resources:
            if id.startswith("HandoffFileSystem"):
                resources[id]["Properties"]["Value"] = "another"

    assert [stop.place for stop in changed(tmp_path, change).stops] == [
        f"{FOUNDATION}/Storage07F31EBC"
    ]


def test_all_that_is_told_of_another_file_system_is_one_stop(tmp_path: Path) -> None:
    def change(stacks: Stacks) -> None:
        for id, resource in stacks[FOUNDATION]["Resources"].items():
            if id.startswith(("HandoffFileSystemDns", "HandoffFileSystemId")):
                resource["Properties"]["Value"] = "another"

    (stop,) = changed(tmp_path, change).stops
    assert stop.rule == "orphan-data"
