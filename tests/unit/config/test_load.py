"""Files that are right load; wrong ones are refused with every fault at its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.unit.config.institution_text import (
    GOOD,
    RESERVED,
    ROUTES,
    alerts,
    described,
    edited,
    existing_vpc,
    faults,
    queue,
    top,
    two_queues,
    vpc,
)
from tests.unit.config.refused import capacity, fleet, foundation, network, queues
from trainshed.config import ConfigError, Spot, load

TABLES = (foundation, network, fleet, queues, capacity)


def test_the_smallest_file_loads(tmp_path: Path) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(GOOD)
    institution = load(path)
    assert institution.cluster_name == "uni"
    assert institution.fleet.queues["train"].least_nodes == 0


@pytest.mark.parametrize(("edits", "expected"), [row for table in TABLES for row in table.REFUSED])
def test_wrong_input_is_refused_with_its_line_key_and_mend(
    tmp_path: Path, edits: list[tuple[str, str]], expected: str
) -> None:
    found = faults(tmp_path, edited(*edits))
    assert expected in found, "\n".join(found)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(vpc("cidr: 100.64.0.0/16"), id="shared address space"),
        pytest.param(existing_vpc(cidr="52.0.0.0/16"), id="existing VPC with a public range"),
        pytest.param(
            existing_vpc(", compute_subnet_cidr: 10.0.64.0/18"), id="subnet inside its VPC"
        ),
        pytest.param(vpc("cidr: 10.0.0.0/26, internet: isolated"), id="room for the endpoints"),
        pytest.param(described(vcpus=188), id="a type of its own"),
        pytest.param(
            top(
                "instance_types:\n  m7i.2xlarge: {vcpus: 8, memory_mib: 32768, "
                "interfaces_per_card: 4}"
            ),
            id="a type as the table has it",
        ),
        pytest.param(two_queues(RESERVED + ", nodes: 8}", RESERVED + "}"), id="one reservation"),
        pytest.param(queue("nvme_dir: /mnt/scratch"), id="scratch below a reserved directory"),
        pytest.param(alerts(ROUTES, "info: C0OPS00000, institutions: {uni: {}}}"), id="own routes"),
        pytest.param(alerts("runbook", "runbook"), id="alerts"),
        pytest.param(top("tags: {Kostenstelle Müller: '4711 / a.b:c=d+e-f@g_h'}"), id="a tag"),
    ],
)
def test_this_file_is_right(tmp_path: Path, edit: tuple[str, str]) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(edited(edit))
    load(path)


def test_a_price_from_python_is_finite() -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Spot(max_price_usd_per_hour=float("inf"))


def test_all_faults_are_told_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = edited(
        ("name: uni", "name: UNI"),
        ("zone: us-east-1a", "zone: eu-west-1a"),
        ("capacity_gib: 1200", "capacity_gib: 1300"),
        ("p5.48xlarge", "p5.48xlrge"),
        ("max_nodes: 4", "max_nodes: 4\n      efaa: true"),
    )
    lines = [int(fault.split(":")[0]) for fault in faults(tmp_path, text)]
    assert lines == [1, 5, 8, 12, 14]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1: the file holds no keys; start with 'name: my-institution'"),
        ("- a\n", "1: the file holds no keys; start with 'name: my-institution'"),
        (
            "name: a\n\tb: 1\n",
            "2: not YAML: found a tab character that violates indentation; "
            "mind the indentation and put special characters in quotes",
        ),
        (
            "a: &x\n  b: *x\n",
            "1: nested deeper than 32 keys, or more than 20000 of them; "
            "an alias that holds itself does this",
        ),
        (
            f"# one\n---\n{GOOD}# two\n--- # of another\n{GOOD}",
            "19: two documents, and the second begins here, after a '---'; one file has one "
            "institution: put the second into a file of its own",
        ),
        (
            "name: a\nregion: \0\n",
            "2: not YAML: '\\x00' is a character that no YAML file holds; delete it",
        ),
    ],
    ids=["empty", "a list", "a tab", "an endless alias", "two documents", "a control character"],
)
def test_what_is_no_institution_is_refused_in_one_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    assert faults(tmp_path, text) == [expected]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "---\n"),
        ("", "...\n"),
        ("", "---\n# the end\n...\n"),
        ("", "...\n---\n"),
        ("%YAML 1.2\n---\n", "--- # the end"),
        ("# one\n---\n---\n", "---\n---\n"),
    ],
)
def test_a_document_of_nothing_beside_the_institution_is_none(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(f"{before}{GOOD}{after}")
    assert load(path).name == "uni"


@pytest.mark.parametrize("second", ["~", "null", "''", "!!str", "[]"])
def test_a_second_document_that_says_little_is_one(tmp_path: Path, second: str) -> None:
    (found,) = faults(tmp_path, f"{GOOD}--- {second}\n")
    assert "two documents, and the second begins here" in found


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ("name: a\n# é\n".encode("latin-1"), "2: not UTF-8: it has the byte 0xe9"),
        ("name: a\n".encode("utf-16-le"), "1: not YAML: '\\x00' is a character"),
        ("name: a\n".encode("utf-16"), "1: not UTF-8: it has the byte 0xff"),
    ],
    ids=["Latin-1", "UTF-16 without a mark", "UTF-16"],
)
def test_a_file_in_another_encoding_is_refused_at_its_line(
    tmp_path: Path, data: bytes, fault: str
) -> None:
    path = tmp_path / "uni.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{fault}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "reason"), [("none.yaml", "No such file or directory"), (".", "Is a directory")]
)
def test_what_is_no_file_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    path = tmp_path / name
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: cannot be read: {reason}"


def test_one_document_may_have_its_marks(tmp_path: Path) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(f"---\n{GOOD}...\n")
    assert load(path).name == "uni"


def test_yaml_is_read_without_hidden_conversions(tmp_path: Path) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(
        edited(("region: us-east-1", "region: us-east-1\ntags: {a: on, b: 12:30, c: 010}"))
    )
    assert load(path).tags == {"a": "on", "b": "12:30", "c": "010"}
