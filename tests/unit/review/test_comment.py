"""A review as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.review.assemblies import (
    CLUSTER,
    FOUNDATION,
    Stacks,
    changed,
    id_of,
    kait,
    kait_text,
    of_type,
    write,
)
from trainshed.review import (
    FileDiff,
    Finding,
    Review,
    Stop,
    markdown,
    markdown_of,
    review,
    review_many,
)
from trainshed.review.effects import Effect

Golden = Callable[[str, object], None]


def shrunk(folder: Path) -> Review:
    """KAIT with half of its nodes, from two institution files."""
    text = kait_text()
    folder.mkdir(exist_ok=True)
    (folder / "a.yaml").write_text(text)
    (folder / "b.yaml").write_text(text.replace("nodes: 16", "nodes: 8"))
    return review(folder / "a.yaml", folder / "b.yaml")


def worst(stacks: Stacks) -> None:
    """Everything that a reviewer is there for, at once."""
    foundation = stacks[FOUNDATION]
    of_type(foundation, "AWS::FSx::FileSystem")["Properties"]["LustreConfiguration"].pop(
        "EfaEnabled"
    )
    bucket = of_type(foundation, "AWS::S3::Bucket")
    bucket["Properties"]["BucketName"] = "other"
    bucket["UpdateReplacePolicy"] = "Delete"
    rule = {"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
    of_type(foundation, "AWS::EC2::SecurityGroup", "Egress")["Properties"][
        "SecurityGroupIngress"
    ] = [rule]
    link = id_of(foundation, "AWS::FSx::DataRepositoryAssociation", "Datasets")
    foundation["Resources"].pop(link)
    role = of_type(stacks[CLUSTER], "AWS::IAM::Role", "OnEventRole")["Properties"]
    role["ManagedPolicyArns"].append("arn:aws:iam::aws:policy/AdministratorAccess")


def grown(stacks: Stacks) -> None:
    """A larger file system and nothing else."""
    of_type(stacks[FOUNDATION], "AWS::FSx::FileSystem")["Properties"]["StorageCapacity"] = 460800


def test_three_reviews_read_as_they_should(tmp_path: Path, golden: Golden) -> None:
    sections = {"Cost": "| Item | USD |\n|---|---|\n| FSx for Lustre | 31,000 to 33,000 |"}
    reviews = {
        "shrunk": shrunk(tmp_path / "shrunk"),
        "worst": changed(tmp_path / "worst", worst, accepted=["orphan-data"]),
        "grown": replace(changed(tmp_path / "grown", grown), sections=sections),
    }
    for name, found in reviews.items():
        golden(f"review/{name}.md", markdown(found))


def test_an_unchanged_institution_is_one_line(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda stacks: None)
    assert markdown(found) == "**kait**: nothing changes.\n"


def test_several_institutions_are_one_comment_what_changes_first(tmp_path: Path) -> None:
    same = changed(tmp_path / "a", lambda stacks: None)
    other = replace(changed(tmp_path / "b", grown), name="other")
    text = markdown_of([same, other])
    assert text.startswith("## 🟢 other: live\n")
    assert text.endswith("\n\n**kait**: nothing changes.\n")


def test_several_that_change_are_listed_first(tmp_path: Path) -> None:
    """What a long comment cuts off at its end is known from its beginning."""
    files = (FileDiff("f", "\n".join(["+" + "x" * 200] * 350), 350, 0),)
    many = [Review(f"u{at}", files=files) for at in range(3)]
    text = markdown_of([*many, changed(tmp_path, worst)])
    assert text.startswith(
        "- 🟢 u0: live\n- 🟢 u1: live\n- 🟢 u2: live\n- ⛔ kait: would lose data, stopped\n\n## "
    )
    assert "## ⛔" not in text


def test_a_diff_that_is_cut_ends_as_it_began() -> None:
    line = "+```" + "x" * 200
    text = markdown(Review("kait", files=(FileDiff("f", "\n".join([line] * 390), 390, 0),)))
    assert "\n````\n</details>\n\n> ✂️ Cut here" in text


def test_two_versions_without_a_stack_say_so() -> None:
    assert markdown_of([]) == "Neither version has a stack.\n"


def test_a_comment_fits_and_says_where_it_was_cut() -> None:
    files = tuple(FileDiff(f"f{at}", "\n".join(["+" + "x" * 90] * 300), 300, 0) for at in range(9))
    text = markdown(Review("kait", files=files))
    assert len(text) < 65_536
    assert text.endswith("the rest does not fit into a comment. The HTML page has all of it.\n")
    assert text.count("```") % 2 == 0
    assert text.count("<details>") == text.count("</details>")


def test_a_long_diff_is_shortened_by_itself() -> None:
    file = FileDiff("f", "\n".join(["+x"] * 1000), 1000, 0)
    assert "✂️ 600 more lines" in markdown(Review("kait", files=(file,)))


def test_backticks_in_a_diff_do_not_end_it() -> None:
    text = markdown(Review("kait", files=(FileDiff("f", "+```\n+x", 2, 0),)))
    assert "````diff\n+```\n+x\n````" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a|b", "`a\\|b`"),
        ("a`b", "`` a`b ``"),
        ("a``b", "``` a``b ```"),
        ("<script>", "`<script>`"),
        ("", "*none*"),
    ],
)
def test_values_cannot_break_the_table(value: str, shown: str) -> None:
    finding = Finding("place", "x", value, Effect.LIVE, "Sentence <b> | end.")
    (row,) = [
        line
        for line in markdown(Review("kait", findings=(finding,))).splitlines()
        if "place" in line
    ]
    assert row == f"| 🟢 live | `place` | `x` → {shown} | Sentence &lt;b&gt; \\| end. |"


EVIL = "<!-- x --><img src=x onerror=alert(1)> [a](http://b) **c** `d` </details>"


def test_what_stops_hides_nothing_behind_it() -> None:
    """A condition of a policy is anybody's text: a comment in it would swallow what follows."""
    stop = Stop("administrator-access", "a`b", EVIL)
    files = (FileDiff("f", "+x", 1, 0),)
    stops = (stop, replace(stop, is_accepted=True))
    text = markdown(Review("kait", files=files, stops=stops))
    shown = (
        "&lt;!-- x --&gt;&lt;img src=x onerror=alert(1)&gt; \\[a\\](http://b) "
        "\\*\\*c\\*\\* \\`d\\` &lt;/details&gt;"
    )
    assert f"> - `` a`b ``: {shown}\n" in text
    assert f"> ✔️ Acknowledged, `administrator-access` at `` a`b ``: {shown}\n" in text
    assert "<!--" not in text


def test_cdk_nag_is_told(tmp_path: Path) -> None:
    def metadata(reason: str) -> dict[str, object]:
        data = {"type": "aws:cdk:acknowledged-rules", "data": {"AwsSolutions-S1": reason}}
        return {f"/{CLUSTER}/Cluster/Resource": [data]}

    violation = {
        "ruleName": "AwsSolutions-IAM4",
        "description": "A managed policy is used.",
        "violatingConstructs": [{"constructPath": f"{CLUSTER}/Role/Resource"}],
    }
    report = {"pluginReports": [{"pluginName": "AwsSolutions", "violations": [violation]}]}
    stacks = {CLUSTER: kait()[CLUSTER]}
    found = review(
        write(tmp_path / "a", stacks, metadata=metadata("old reason")),
        write(tmp_path / "b", stacks, metadata=metadata("new reason"), report=report),
    )
    rows = [line for line in markdown(found).splitlines() if "AwsSolutions" in line]
    assert rows == [
        "| finding new | `AwsSolutions-IAM4` | `kait-cluster/Role/Resource` | "
        "A managed policy is used. |",
        "| acknowledgement new | `AwsSolutions-S1` | `kait-cluster/Cluster` | new reason |",
        "| acknowledgement gone | `AwsSolutions-S1` | `kait-cluster/Cluster` | old reason |",
    ]


def test_a_new_institution_is_short_and_says_what_is_left_out(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "manifest.json").write_text('{"artifacts": {}}')
    (found,) = review_many(empty, write(tmp_path / "head", kait()))
    text = markdown(found)
    assert text.startswith("## 🟢 kait: new\n\nNew: everything is made for the first time.\n")
    rights = next(line for line in text.splitlines() if "Rights gained" in line)
    number = int(rights.split(": ")[1].split("<")[0])
    assert number > 100
    assert f"✂️ {number - 60} more are in the page." in text
    assert len(text) < 40_000
