"""Fleets that are refused at synth, each with the message that the person reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from trainshed.config import (
    AccountingDatabase,
    Fleet,
    ParallelClusterOptions,
)
from trainshed.config.faults import FaultsError
from trainshed.fleets import NodeScript, ParallelClusterFleet

Build = Callable[..., ParallelClusterFleet]
Synth = Callable[[cdk.Stack], Any]
Text = Callable[[Any], str]
MakeRecord = Callable[..., Fleet]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    script = tmp_path / "site.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    return script


def refusal(build: Build, fleet: Fleet | None = None, **keywords: Any) -> str:
    stack = cdk.Stack(cdk.App(), "Foreign")
    with pytest.raises(ValueError) as caught:
        build(stack, fleet, **keywords)
    return str(caught.value)


def test_what_parallelcluster_cannot_do_is_refused_by_its_key(
    build: Build, record: MakeRecord
) -> None:
    options = ParallelClusterOptions(
        scaledown_idle_minutes=60, extra_slurm_settings={"Prolog": "/x"}
    )
    assert refusal(build, record(parallelcluster=options)) == (
        "parallelcluster.extra_slurm_settings.Prolog: is a setting that ParallelCluster keeps for "
        "itself; leave it out\n"
        "parallelcluster.scaledown_idle_minutes: is 60, but min_nodes is max_nodes in every queue, "
        "so no node is ever stopped for idleness; leave it out"
    )


def test_a_name_that_is_too_long_for_accounting_is_refused(
    build: Build, record: MakeRecord
) -> None:
    database = AccountingDatabase(
        host="db",
        user="slurm",
        password_secret_arn="arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
    )
    assert refusal(build, record(accounting=database), cluster_name="k" * 41) == (
        f"cluster_name: '{'k' * 41}' has 41 characters; with accounting use 40 or fewer, since "
        "the names of its database tables begin with it"
    )


def test_the_name_of_the_stack_is_refused(build: Build) -> None:
    assert refusal(build, cluster_name="Foreign") == (
        ": cluster_name 'Foreign' is also the name of the stack it is made from, and "
        "ParallelCluster makes a stack of that name; rename one of them"
    )


def test_a_partition_of_unknown_nodes_is_refused(build: Build) -> None:
    lines = [{"PartitionName": "debug", "Nodes": "compute-st-kait-gpu-1"}]
    assert refusal(build, slurm_settings=lines) == (
        "Scheduling.SlurmSettings.CustomSlurmSettings[0].Nodes: compute-st-kait-gpu-1 is no node "
        "of this cluster; its nodes are compute-st-p5en-[1-4]"
    )


def test_a_type_that_is_not_known_is_refused(build: Build, record: MakeRecord) -> None:
    queue = record().queues["compute"].model_copy(update={"instance_type": "p9.48xlarge"})
    assert refusal(build, record(queues={"compute": queue})) == (
        "queues.compute.instance_type: 'p9.48xlarge' is not in the table of instance types; "
        "describe it under known_types"
    )


def test_a_name_that_is_known_only_later_is_refused(build: Build) -> None:
    assert refusal(build, cluster_name=cdk.Token.as_string({"Ref": "Name"})) == (
        "cluster_name is known only at deploy time, and names of roles and permissions are made of "
        "it at synth; write the name itself"
    )


def test_a_fleet_that_is_no_record_is_refused(build: Build) -> None:
    given: Any = {"queues": {}, "image": {}}
    assert refusal(build, given) == "fleet is a dict; use trainshed.config.Fleet(**fleet)"


@pytest.mark.parametrize("missing", ["network", "storage"])
def test_a_fleet_without_its_ground_is_refused(build: Build, missing: str) -> None:
    assert refusal(build, **{missing: None}) == (
        f"{missing} is None, and none is made in its place; pass one"
    )


def test_faults_are_of_the_kind_that_files_report(build: Build) -> None:
    stack = cdk.Stack(cdk.App(), "Foreign")
    with pytest.raises(FaultsError):
        build(stack, cluster_name="Foreign")


@pytest.mark.parametrize("argument", ["", "a b", "a\n"])
def test_an_argument_with_blanks_is_refused(site: Path, argument: str) -> None:
    with pytest.raises(ValueError) as caught:
        NodeScript(str(site), (argument,))
    assert str(caught.value) == (
        f"args of site.sh has {argument!r}; an argument is not empty and has no blanks"
    )


def test_two_scripts_of_one_name_are_refused(build: Build, site: Path, tmp_path: Path) -> None:
    other = tmp_path / "more" / "site.sh"
    other.parent.mkdir()
    other.write_text("#!/bin/bash\n")
    scripts = [NodeScript(str(site)), NodeScript(str(other))]
    assert refusal(build, head_scripts=scripts) == (
        f"{other} and {site} have the same file name; rename one of them"
    )


def test_more_scripts_than_a_parameter_holds_are_refused(build: Build, site: Path) -> None:
    scripts = [NodeScript(str(site), ("x" * 200,))] * 20
    message = refusal(build, head_scripts=scripts)
    assert message.startswith("23 scripts with their arguments take ")
    assert message.endswith(" bytes, above 4096; join some into one script")
