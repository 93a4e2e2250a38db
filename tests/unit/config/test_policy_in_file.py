"""The Slurm policy and its database in an institution file: what is refused, at which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainshed.cli.checked import load_checked
from trainshed.config import ConfigError

GOOD = """\
name: uni
account: "111122223333"
region: us-east-1
network:
  zone: us-east-1a
  vpc: {cidr: 10.0.0.0/16}
storage:
  lustre: {capacity_gib: 1200, throughput_mb_s_per_tib: 125}
fleet:
  queues:
    train: {instance_type: p5.48xlarge, max_nodes: 4, capacity: {kind: on_demand}}
  accounting:
    create: {second_zone: us-east-1b}
  policy:
    preset: kait-hardened
    partitions:
      debug: {max_time: "00:20:00"}
"""
ISOLATED = "vpc: {cidr: 10.0.0.0/16}"
EXISTING = (
    "existing: {vpc_id: vpc-0123456789abcdef0, cidr: 10.0.0.0/16, "
    "compute_subnet_id: subnet-0123456789abcdef0}"
)
CREATE = "create: {second_zone: us-east-1b}"
HOST = (
    "{host: h, user: u, "
    "password_secret_arn: 'arn:aws:secretsmanager:us-east-1:111122223333:secret:x-AbCdEf'}"
)


def test_a_policy_over_a_preset_with_a_database_is_right(tmp_path: Path) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(GOOD)
    policy = load_checked(path).fleet.policy
    assert policy is not None and policy.partitions["debug"].max_time == "00:20:00"


REFUSED = {
    "no database": (
        f"  accounting:\n    {CREATE}\n",
        "",
        "12: fleet.policy: has limits, accounts and users, which Slurm keeps in a database, and "
        "fleet.accounting is not given; write accounting: {create: {}}, or a database that is "
        "there already",
    ),
    "an unknown QOS": (
        '{max_time: "00:20:00"}',
        "{qos: nope}",
        "17: fleet.policy.partitions.debug.qos: names nope, which is no QOS of this policy; use "
        "one of debug_qos, exclusive_qos, member_qos, normal_qos, priority_qos",
    ),
    "an unknown queue": (
        '{max_time: "00:20:00"}',
        "{queues: [fats]}",
        "17: fleet.policy.partitions.debug.queues: names fats; use one of train",
    ),
    "an error of the linter": (
        '{max_time: "00:20:00"}',
        '{max_time: "00:20:00"}\n    scheduler: {enforce_partition_limits: ANY}',
        "18: fleet.policy.scheduler.enforce_partition_limits: a job over a partition's limit is "
        "accepted, waits for ever and counts as submitted; use ALL [partition-limits-not-enforced]",
    ),
    "a preset that is none": (
        "preset: kait-hardened",
        "preset: kait",
        "14: fleet.policy: preset is 'kait'; use one of kait-hardened, kait-seed",
    ),
    "an unquoted number for a time": (
        '{max_time: "00:20:00"}',
        "{max_time: 1200}",
        "17: fleet.policy.partitions.debug.max_time: 1200 is a number, not a time; write the time "
        'in quotes: "00:20:00"',
    ),
    "a partition named like the queue": (
        '{max_time: "00:20:00"}',
        '{max_time: "00:20:00"}\n      train: {queues: [train]}',
        "18: fleet.policy.partitions.train: has the name of a queue, whose partition "
        "ParallelCluster makes itself; slurmctld stops at the second one: rename the partition or "
        "the queue",
    ),
    "what ParallelCluster selects itself": (
        '{max_time: "00:20:00"}',
        '{max_time: "00:20:00"}\n    scheduler: {select: CR_Core_Memory}',
        "18: fleet.policy.scheduler.select: is CR_Core_Memory; ParallelCluster sets it by "
        "fleet.parallelcluster.memory_scheduling, to CR_CPU_Memory: leave it out",
    ),
    "a setting that the policy writes": (
        "  policy:\n",
        "  parallelcluster: {extra_slurm_settings: {KillWait: 5}}\n  policy:\n",
        "14: fleet.parallelcluster.extra_slurm_settings.KillWait: is written by fleet.policy too, "
        "and Slurm takes the last one; change the policy and leave this out",
    ),
    "no second zone": (
        CREATE,
        "create: {}",
        "13: fleet.accounting.create.second_zone: required, but not given; a database stands in "
        "two zones: name another zone of us-east-1 than us-east-1a, such as us-east-1b",
    ),
    "the same zone twice": (
        CREATE,
        "create: {second_zone: us-east-1a}",
        "13: fleet.accounting.create.second_zone: us-east-1a is the network's own zone; name "
        "another zone of us-east-1 than us-east-1a, such as us-east-1b",
    ),
    "a zone of another Region": (
        CREATE,
        "create: {second_zone: us-east-2b}",
        "13: fleet.accounting.create.second_zone: zone 'us-east-2b' is in us-east-2, not in "
        "us-east-1; name another zone of us-east-1 than us-east-1a, such as us-east-1b",
    ),
    "a zone id beside a zone name": (
        CREATE,
        "create: {second_zone: usw2-az3}",
        "13: fleet.accounting.create.second_zone: 'usw2-az3' is no zone name, as the network's own "
        "zone is written; name another zone of us-east-1 than us-east-1a, such as us-east-1b",
    ),
    "subnets in a new VPC": (
        CREATE,
        "create: {second_zone: us-east-1b, subnet_ids: [subnet-0123456789abcdef0]}",
        "13: fleet.accounting.create.subnet_ids: is for an existing VPC; in a new one give "
        "second_zone instead",
    ),
    "a VPC without room": (
        "10.0.0.0/16",
        "10.0.0.0/27",
        "6: network.vpc.cidr: 10.0.0.0/27 has no room for the two subnets of the accounting "
        "database; use a /26 or larger",
    ),
    "a database made and named": (
        f"accounting:\n    {CREATE}",
        f"accounting:\n    {CREATE}\n    host: h",
        "14: fleet.accounting.host: is of a database that is there already; leave it or create out",
    ),
    "a database without a user": (
        f"accounting:\n    {CREATE}",
        "accounting: {host: h}",
        "12: fleet.accounting.password_secret_arn: required, but not given; or write create: {}",
    ),
    "less capacity than the least": (
        CREATE,
        "create: {second_zone: us-east-1b, min_capacity_units: 8}",
        "13: fleet.accounting.create.min_capacity_units: 8 is above max_capacity_units, 4; use 4 "
        "or less",
    ),
}


@pytest.mark.parametrize(("old", "new", "fault"), REFUSED.values(), ids=list(REFUSED))
def test_a_wrong_policy_or_database_is_refused_at_its_line(
    tmp_path: Path, old: str, new: str, fault: str
) -> None:
    assert GOOD.count(old) == 1
    path = tmp_path / "uni.yaml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ConfigError) as refused:
        load_checked(path)
    assert f"{path}:{fault}" in str(refused.value).splitlines()


@pytest.mark.parametrize(
    ("create", "fault"),
    [
        (
            "{second_zone: us-east-1b}",
            "second_zone: is for a new VPC; in an existing one give subnet_ids instead",
        ),
        (
            "{subnet_ids: [subnet-0123456789abcdef1, subnet-0123456789abcdef1]}",
            "subnet_ids: has 1; a database stands in two zones: give two private subnets of the "
            "VPC, each in another zone",
        ),
    ],
    ids=["a zone", "one subnet twice"],
)
def test_in_an_existing_vpc_a_database_takes_two_subnets(
    tmp_path: Path, create: str, fault: str
) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(GOOD.replace(ISOLATED, EXISTING).replace(CREATE, f"create: {create}"))
    with pytest.raises(ConfigError) as refused:
        load_checked(path)
    assert f"{path}:13: fleet.accounting.create.{fault}" in str(refused.value).splitlines()


def test_both_presets_can_be_named_and_the_seed_is_refused_for_its_holes(tmp_path: Path) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(
        GOOD.replace("kait-hardened", "kait-seed").replace(
            '    partitions:\n      debug: {max_time: "00:20:00"}\n', ""
        )
    )
    with pytest.raises(ConfigError) as refused:
        load_checked(path)
    said = str(refused.value)
    for rule in ("qos-must-be-typed", "native-partition-open", "built-in-qos", "no-gpu-cap"):
        assert f"[{rule}]" in said
    assert all(": fleet." in line for line in said.splitlines())
