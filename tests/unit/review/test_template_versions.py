"""A launch template gets another version also where the text of its data stays the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.test_bare_nodes import (
    GROUP,
    INSTANCE,
    TEMPLATE,
    rows,
    stacks_reviewed,
    tagged,
)
from trainshed.review import Effect


def group_of(description: str) -> dict[str, Any]:
    return {"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": description}}


LATEST = {
    "LaunchTemplateId": {"Ref": "LT"},
    "Version": {"Fn::GetAtt": ["LT", "LatestVersionNumber"]},
}


def made_of(kind: str, role: str, description: str = "a", **template: Any) -> dict[str, Any]:
    """A security group, a launch template that has it and what is made of that."""
    given = template or {"LaunchTemplateData": {}}
    data = {**given["LaunchTemplateData"], "SecurityGroupIds": [{"Fn::GetAtt": "SG.GroupId"}]}
    return {
        "SG": group_of(description),
        "LT": {"Type": TEMPLATE, "Properties": {**given, "LaunchTemplateData": data}},
        "Node": {"Type": kind, "Properties": {"LaunchTemplate": LATEST, **tagged(role)}},
    }


def described(text: str) -> dict[str, Any]:
    return {"VersionDescription": text, "LaunchTemplateData": {}}


# What the text of the data does not tell: before, after, and the row of each.
VERSIONS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Effect]]] = {
    "group of a head node": (
        made_of(INSTANCE, "head", "a"),
        made_of(INSTANCE, "head", "b"),
        {"Stack/Node": Effect.PAUSES_NEW_JOBS},
    ),
    "description of a head node's": (
        made_of(INSTANCE, "head", **described("a")),
        made_of(INSTANCE, "head", **described("b")),
        {"Stack/Node": Effect.PAUSES_NEW_JOBS},
    ),
    "group of others' instance": (
        made_of(INSTANCE, "", "a"),
        made_of(INSTANCE, "", "b"),
        {
            "Stack/Node": Effect.REPLACES_NODES,
            "Stack/LT LaunchTemplateData.SecurityGroupIds": Effect.DRAINS_NODES,
        },
    ),
    "group of a queue": (
        made_of(GROUP, "compute", "a"),
        made_of(GROUP, "compute", "b"),
        {"Stack/LT LaunchTemplateData.SecurityGroupIds": Effect.DRAINS_NODES},
    ),
    "description of a queue's": (
        made_of(GROUP, "compute", **described("a")),
        made_of(GROUP, "compute", **described("b")),
        {"Stack/LT VersionDescription": Effect.DRAINS_NODES},
    ),
    "group of login nodes": (
        made_of(GROUP, "login", "a"),
        made_of(GROUP, "login", "b"),
        {"Stack/LT LaunchTemplateData.SecurityGroupIds": Effect.LIVE},
    ),
    "name of a queue's": (
        made_of(GROUP, "compute", LaunchTemplateName="a", LaunchTemplateData={}),
        made_of(GROUP, "compute", LaunchTemplateName="b", LaunchTemplateData={}),
        {"Stack/Node": Effect.DRAINS_NODES},
    ),
    "name of login nodes'": (
        made_of(GROUP, "login", LaunchTemplateName="a", LaunchTemplateData={}),
        made_of(GROUP, "login", LaunchTemplateName="b", LaunchTemplateData={}),
        {"Stack/Node": Effect.LIVE},
    ),
    "name of a head node's": (
        made_of(INSTANCE, "head", LaunchTemplateName="a", LaunchTemplateData={}),
        made_of(INSTANCE, "head", LaunchTemplateName="b", LaunchTemplateData={}),
        {"Stack/Node": Effect.PAUSES_NEW_JOBS},
    ),
}


@pytest.mark.parametrize("name", VERSIONS)
def test_another_version_of_a_template_reaches_its_nodes(name: str, tmp_path: Path) -> None:
    base, head, expected = VERSIONS[name]
    found = stacks_reviewed(tmp_path, base, head)
    assert {place: effect for place, (effect, _) in rows(found).items()} == expected


def test_a_template_that_points_to_a_new_group_is_in_the_list(tmp_path: Path) -> None:
    base, head = (made_of(GROUP, "compute", text) for text in ("a", "b"))
    found = stacks_reviewed(tmp_path, base, head)
    assert [(each.before, each.after) for each in found.findings] == [
        ('["${SG.GroupId}"]', '["${SG.GroupId}"], new')
    ]
    assert {each.logical_id: each.action.value for each in found.resources} == {
        "SG": "replaced",
        "LT": "changed",
    }
