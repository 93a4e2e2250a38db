from __future__ import annotations

import re
from typing import get_args

import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from trainshed.facts import instance_type, parallelcluster


def test_operating_systems_and_their_users() -> None:
    users = {
        name: system.default_user for name, system in parallelcluster.OPERATING_SYSTEMS.items()
    }
    assert users == {
        "alinux2023": "ec2-user",
        "ubuntu2204": "ubuntu",
        "ubuntu2404": "ubuntu",
        "rhel8": "ec2-user",
        "rocky8": "rocky",
        "rhel9": "ec2-user",
        "rocky9": "rocky",
    }


def test_only_rocky_linux_needs_an_image_of_ones_own() -> None:
    systems = parallelcluster.OPERATING_SYSTEMS
    assert {n for n, system in systems.items() if not system.official_image} == {"rocky8", "rocky9"}


def test_only_red_hat_needs_its_own_reservation_platform() -> None:
    systems = parallelcluster.OPERATING_SYSTEMS
    other = {n for n, system in systems.items() if system.reservation_platform != "Linux/UNIX"}
    assert other == {"rhel8", "rhel9"}


def test_systems_that_do_not_run_on_grace_blackwell() -> None:
    systems = parallelcluster.OPERATING_SYSTEMS
    assert {n for n, system in systems.items() if not system.on_gb200} == {
        "rhel8",
        "rhel9",
        "rocky8",
    }


def test_log_retentions_are_those_of_cloudwatch_but_for_these() -> None:
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", "AWS::Logs::LogGroup").schema
    cloudwatch = set(schema["properties"]["RetentionInDays"]["enum"])
    ours = set(parallelcluster.LOG_RETENTION_DAYS)
    assert ours - cloudwatch == {0}
    assert cloudwatch - ours == {1096, 2192, 2557, 2922, 3288}
    assert parallelcluster.DEFAULT_LOG_RETENTION_DAYS in ours


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (parallelcluster.CLUSTER_NAME_PATTERN, ["kait", "Kait-2"], ["2kait", "kait_2", ""]),
        (parallelcluster.QUEUE_NAME_PATTERN, ["compute", "p5en-1"], ["Compute", "1p5", "a_b", ""]),
    ],
    ids=["cluster", "queue"],
)
def test_name_patterns(pattern: str, right: list[str], wrong: list[str]) -> None:
    assert all(re.fullmatch(pattern, name) for name in right)
    assert not any(re.fullmatch(pattern, name) for name in wrong)


def test_settings_are_denied_at_every_level() -> None:
    levels = set(get_args(parallelcluster.SettingsLevel))
    assert levels == parallelcluster.DENIED_SETTINGS.keys()
    every = {name for names in parallelcluster.DENIED_SETTINGS.values() for name in names}
    assert all(name == name.lower() for name in every)


@pytest.mark.parametrize(
    ("names", "level", "database", "denied"),
    [
        (["Prolog", "TaskPlugin", "DefCpuPerGPU"], "SlurmConf", False, ["Prolog", "TaskPlugin"]),
        (["AccountingStorageType"], "SlurmConf", False, []),
        (["AccountingStorageType"], "SlurmConf", True, ["AccountingStorageType"]),
        (["AccountingStorageEnforce"], "SlurmConf", True, []),
        (["STATE", "MaxTime", "OverSubscribe"], "Queue", False, ["OverSubscribe", "STATE"]),
        (["JobAcctGatherType"], "Queue", True, []),
        (["Gres", "Sockets"], "ComputeResource", False, ["Gres"]),
    ],
    ids=[
        "any case",
        "accounting without database",
        "accounting with database",
        "enforcement is free",
        "queue",
        "accounting is not a queue's",
        "compute resource",
    ],
)
def test_denied_settings(
    names: list[str], level: parallelcluster.SettingsLevel, database: bool, denied: list[str]
) -> None:
    assert parallelcluster.denied_settings(names, level, database=database) == denied


@pytest.mark.parametrize(
    ("path", "reserved"),
    [
        ("/opt", True),
        ("opt/", True),
        ("/opt/slurm", True),
        ("/tmp", True),
        ("/home", False),
        ("/fsx", False),
        ("/opt/dlami/nvme", False),
    ],
)
def test_reserved_mount_dirs(path: str, reserved: bool) -> None:
    assert parallelcluster.is_reserved_mount_dir(path) == reserved


def test_memory_that_slurm_hands_out_on_a_p5en() -> None:
    memory_mib = instance_type("p5en.48xlarge").memory_mib
    assert parallelcluster.schedulable_memory_mib(memory_mib) == 1_992_294


def test_versions_go_together() -> None:
    assert (parallelcluster.VERSION, parallelcluster.SLURM_VERSION) == ("3.16.1", "25.11.8")


def test_limits() -> None:
    assert parallelcluster.MAX_CLUSTER_NAME == 60
    assert parallelcluster.MAX_CLUSTER_NAME_WITH_ACCOUNTING == 40
    assert parallelcluster.MAX_QUEUE_NAME == 25
    assert parallelcluster.MAX_QUEUES == 50
    assert parallelcluster.MAX_COMPUTE_RESOURCES == 50
