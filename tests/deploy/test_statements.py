"""Every statement of every role in every example is asked for in a life, or a row says why not."""

from __future__ import annotations

import re

import pytest

from tests import examples
from tests.deploy.emulator.process import ROOT
from tests.deploy.statement_rows import ROWS, Row, is_elsewhere, labels

# test_least_privilege.py and test_bare_fleet.py hold what these two ask against their statements.
LIVED = ("full", "bare")


@pytest.mark.parametrize("name", sorted({*examples.NAMES} - {*LIVED}))
def test_a_statement_of_another_example_is_one_of_the_lives_or_in_a_row(name: str) -> None:
    lived = {label for each in LIVED for label in labels(each)}
    assert [each for each in labels(name) if each not in lived and not is_elsewhere(each)] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.labels)
def test_a_row_is_of_some_statement_and_names_a_test_that_is_there(row: Row) -> None:
    assert any(row.holds(label) for each in examples.NAMES for label in labels(each))
    file, _, function = row.test.partition("::")
    assert re.search(rf"^def {function}\(", (ROOT / file).read_text(), re.MULTILINE), row.test


def test_login_nodes_have_the_rights_of_compute_nodes() -> None:
    found = labels("bare")
    start = "bare ClusterFleetRoles"
    rights = {
        role: {
            label.removeprefix(f"{start}{role}Policy "): each
            for label, each in found.items()
            if label.startswith(f"{start}{role}Policy ")
        }
        for role in ("Compute", "Login")
    }
    assert rights["Login"] == rights["Compute"]
