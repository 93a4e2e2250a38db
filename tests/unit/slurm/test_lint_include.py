"""What the linter finds in a file that slurm.conf includes."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainshed.slurm import Finding, NodeGroup, NodeShape, SlurmPolicy, lint

COMPUTE = NodeGroup("compute", NodeShape(192, 2_097_152, 2, 48, 2, 8, "h200"), 16)
HARDENED = SlurmPolicy(preset="kait-hardened")
SEED_INCLUDE = (Path(__file__).parent / "seed-slurm-settings.conf").read_text()


def of(rule: str, findings: tuple[Finding, ...]) -> list[Finding]:
    """Return the findings of one rule."""
    return [finding for finding in findings if finding.rule == rule]


def test_t11_keys_that_parallelcluster_keeps_are_found_in_an_included_file() -> None:
    found = of("managed-keys", lint(HARDENED, [COMPUTE], include=SEED_INCLUDE))
    assert [finding.message for finding in found] == [
        f"include line {line}: {key} is ParallelCluster's own; a second value breaks scaling or "
        "accounting; leave the line out [managed-keys]"
        for line, key in (
            (6, "JobAcctGatherType"),
            (24, "AccountingStorageType"),
            (25, "AccountingStorageHost"),
            (26, "AccountingStoragePort"),
        )
    ]


def test_t11_without_a_database_the_accounting_lines_are_the_policys_own() -> None:
    assert not of("managed-keys", lint(HARDENED, include=SEED_INCLUDE, database=False))


@pytest.mark.parametrize(
    "line",
    [
        "Prolog=/x",
        "PROLOG=/x",
        "  taskplugin=task/none",
        "A=1 Epilog=x",
        "Prolog = /x",
        "Prolog+=/x",
        'A="b c" Prolog=/x',
        "Pro\\\nlog=/x",
    ],
)
def test_a_denied_key_is_found_in_any_case_and_place(line: str) -> None:
    assert of("managed-keys", lint(HARDENED, include=line))
    assert not of("managed-keys", lint(HARDENED, include=f"# {line.replace(chr(10), '')}"))
    assert not of("managed-keys", lint(HARDENED, include=line, parallelcluster=False))


def test_an_included_partition_with_the_name_of_a_queue_is_found() -> None:
    include = (
        "PartitionName=fast Nodes=ALL\nPartitionName=compute Nodes=ALL\n"
        'partitionname = "compute" Nodes=ALL\nPartitionName=\\\ncompute Nodes=ALL\n'
        "SchedulerParameters=PartitionName=compute"
    )
    found = of("native-partition-redefined", lint(HARDENED, [COMPUTE], include=include))
    assert [finding.key for finding in found] == [f"include line {n}" for n in (2, 3, 4)]


def test_a_file_that_an_included_file_includes_is_found() -> None:
    (found,) = of("nested-include", lint(HARDENED, include="KillWait=30\n  include /fsx/more.conf"))
    assert found.message == (
        "include line 2: what /fsx/more.conf says is seen by no check, and without the file no "
        "Slurm command works; write its lines here [nested-include]"
    )


def test_a_key_that_stands_twice_in_an_included_file_is_found() -> None:
    include = "KillWait=30\nPartitionName=a\nPartitionName=b\nkillwait=60"
    found = of("written-twice", lint(HARDENED, include=include))
    assert [finding.key for finding in found] == ["include killwait"]
