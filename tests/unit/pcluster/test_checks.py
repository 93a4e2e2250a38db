"""What ParallelCluster's own validators let through: each check fires, and is silent elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from trainshed import facts
from trainshed.config import CapacityBlock, LoginPool
from trainshed.config.capacity import Capacity
from trainshed.config.faults import dotted
from trainshed.pcluster import Surroundings, configuration_faults
from trainshed.pcluster.checks import CHECKS
from trainshed.pcluster.checks.slurm import expand

Render = Callable[..., dict[str, Any]]
Change = Callable[[dict[str, Any]], None]

SETTINGS = "Scheduling.SlurmSettings.CustomSlurmSettings"
QUEUE = "Scheduling.SlurmQueues[0]"
TYPES = facts.INSTANCE_TYPES


def put(key_path: str, value: object) -> Change:
    """Change one key, written with dots; numbers are indexes, and sections on the way are made."""

    def change(config: dict[str, Any]) -> None:
        section: Any = config
        *way, last = key_path.split(".")
        for key in way:
            section = section[int(key)] if key.isdigit() else section.setdefault(key, {})
        section[last] = value

    return change


def drop(key_path: str) -> Change:
    def change(config: dict[str, Any]) -> None:
        section: Any = config
        *way, last = key_path.split(".")
        for key in way:
            section = section[int(key)] if key.isdigit() else section[key]
        del section[last]

    return change


def settings(*lines: dict[str, Any]) -> Change:
    return put("Scheduling.SlurmSettings.CustomSlurmSettings", list(lines))


def both(*changes: Change) -> Change:
    def change(config: dict[str, Any]) -> None:
        for each in changes:
            each(config)

    return change


def queues(count: int) -> Change:
    def change(config: dict[str, Any]) -> None:
        first = config["Scheduling"]["SlurmQueues"][0]
        config["Scheduling"]["SlurmQueues"] = [
            {**deepcopy(first), "Name": f"q{n}"} for n in range(count)
        ]

    return change


DATABASE = put(
    "Scheduling.SlurmSettings.Database",
    {
        "Uri": "db",
        "UserName": "slurm",
        "PasswordSecretArn": "arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
    },
)
Q = "Scheduling.SlurmQueues.0"
CR = f"{Q}.ComputeResources.0"

FIRING: dict[str, tuple[Change, dict[str, Any], str]] = {
    "a block bought as On-Demand": (
        put(f"{Q}.CapacityReservationTarget", {"CapacityReservationId": "cr-0123456789abcdefb"}),
        {"capacity_block_ids": frozenset({"cr-0123456789abcdefb"})},
        f"{QUEUE}.CapacityReservationTarget.CapacityReservationId: cr-0123456789abcdefb is a "
        "Capacity Block and the queue's CapacityType is ONDEMAND; EC2 refuses the launch: use "
        "CAPACITY_BLOCK",
    ),
    "a block bought as Spot by its compute resource": (
        both(
            put(f"{Q}.CapacityType", "SPOT"),
            put(
                f"{CR}.CapacityReservationTarget",
                {"CapacityReservationId": "cr-0123456789abcdefb"},
            ),
        ),
        {"capacity_block_ids": frozenset({"cr-0123456789abcdefb"})},
        f"{QUEUE}.ComputeResources[0].CapacityReservationTarget.CapacityReservationId: "
        "cr-0123456789abcdefb is a Capacity Block and the queue's CapacityType is SPOT; EC2 "
        "refuses the launch: use CAPACITY_BLOCK",
    ),
    "a block used in part": (
        both(put(f"{Q}.CapacityType", "CAPACITY_BLOCK"), put(f"{CR}.MinCount", 2)),
        {},
        f"{QUEUE}.ComputeResources[0].MinCount: 2 is not MaxCount, 4; a Capacity Block is paid for "
        "as a whole: make them equal",
    ),
    "a block in a placement group": (
        both(
            put(f"{Q}.CapacityType", "CAPACITY_BLOCK"),
            put(f"{Q}.Networking.PlacementGroup", {"Enabled": True}),
        ),
        {},
        f"{QUEUE}.Networking.PlacementGroup: is enabled on a Capacity Block, which is already "
        "placed; leave it out",
    ),
    "a denied setting": (
        settings({"SlurmctldParameters": "x"}),
        {},
        f"{SETTINGS}[0].SlurmctldParameters: is a setting that ParallelCluster keeps for itself; "
        "leave it out",
    ),
    "a denied setting in a line of several": (
        settings({"KillWait": 30}, {"MessageTimeout": 30, "TASKPLUGIN": "task/none"}),
        {},
        f"{SETTINGS}[1].TASKPLUGIN: is a setting that ParallelCluster keeps for itself; "
        "leave it out",
    ),
    "a setting that is two lines": (
        settings({"PartitionName": "x\nProlog=/x"}),
        {},
        f"{SETTINGS}[0].PartitionName: 'x\\nProlog=/x' has a character that does not print; write "
        "it on one line",
    ),
    "a setting that holds another": (
        settings({"PartitionName": "x Nodes=ALL"}),
        {},
        f"{SETTINGS}[0].PartitionName: 'x Nodes=ALL' holds a setting of its own, Nodes; give that "
        "one a key of its own",
    ),
    "a file of settings": (
        settings({"Include": "/etc/x"}),
        {},
        f"{SETTINGS}[0].Include: reads a file that no check sees; write its lines as settings here",
    ),
    "a setting of a queue that is no name": (
        put(f"{Q}.CustomSlurmSettings", {"AllowQos=a Nodes": "ALL"}),
        {},
        f"{QUEUE}.CustomSlurmSettings.AllowQos=a Nodes: 'AllowQos=a Nodes' is no name of a "
        "setting; use one such as MaxJobCount, and give each setting a key of its own",
    ),
    "a setting denied beside a database": (
        both(DATABASE, settings({"JobAcctGatherType": "jobacct_gather/linux"})),
        {},
        f"{SETTINGS}[0].JobAcctGatherType: is a setting that ParallelCluster keeps for itself; "
        "leave it out",
    ),
    "a denied setting of a queue": (
        put(f"{Q}.CustomSlurmSettings", {"OverSubscribe": "YES"}),
        {},
        f"{QUEUE}.CustomSlurmSettings.OverSubscribe: is a setting that ParallelCluster keeps for "
        "itself; leave it out",
    ),
    "a denied setting of a compute resource": (
        put(f"{CR}.CustomSlurmSettings", {"Gres": "gpu:8"}),
        {},
        f"{QUEUE}.ComputeResources[0].CustomSlurmSettings.Gres: is a setting that ParallelCluster "
        "keeps for itself; leave it out",
    ),
    "a file system under the scratch directory": (
        put("SharedStorage.0.MountDir", "/opt/dlami/nvme/fsx"),
        {},
        f"{QUEUE}.ComputeSettings.LocalStorage.EphemeralVolume.MountDir: /opt/dlami/nvme and "
        "/opt/dlami/nvme/fsx overlap, so one hides the other; mount them apart, such as "
        "/opt/dlami/nvme and /fsx",
    ),
    "a file system on a system directory": (
        put("SharedStorage.0.MountDir", "srv"),
        {},
        "SharedStorage[0].MountDir: /srv is a directory of the system; use one such as /fsx",
    ),
    "a tag with AWS's prefix": (
        put("Tags", [{"Key": "AWS:team", "Value": "x"}]),
        {},
        "Tags[0].Key: 'AWS:team': the prefix 'aws:' is reserved; rename the tag",
    ),
    "a queue's tag with AWS's prefix": (
        put(f"{Q}.Tags", [{"Key": "ok", "Value": "x"}, {"Key": "aws:x", "Value": "x"}]),
        {},
        f"{QUEUE}.Tags[1].Key: 'aws:x': the prefix 'aws:' is reserved; rename the tag",
    ),
    "SSH without a range": (
        both(drop("HeadNode.Ssh"), drop("LoginNodes")),
        {},
        "HeadNode.Ssh.AllowedIps: is missing, which opens port 22 to 0.0.0.0/0; give your "
        "institution's own range",
    ),
    "SSH from everywhere on login nodes": (
        put("LoginNodes.Pools.0.Ssh", {"AllowedIps": "0.0.0.0/0"}),
        {},
        "LoginNodes.Pools[0].Ssh.AllowedIps: 0.0.0.0/0 opens port 22 to half the internet; give "
        "your institution's own range, a /16 at most",
    ),
    "login nodes that the file system does not let in": (
        put("LoginNodes.Pools.0.Networking.AdditionalSecurityGroups", ["sg-0123456789abcdef9"]),
        {"file_system_group_ids": frozenset({"sg-0123456789abcdef0"})},
        "LoginNodes.Pools[0].Networking.AdditionalSecurityGroups: has none of the groups that the "
        "file system lets in; add sg-0123456789abcdef0",
    ),
    "a partition of nodes that do not exist": (
        settings({"PartitionName": "debug", "Nodes": "compute-st-kait-gpu-[1-4]"}),
        {},
        f"{SETTINGS}[0].Nodes: compute-st-kait-gpu-1 is no node of this cluster; its nodes are "
        "train-st-p5en-[1-4]",
    ),
    "a partition of more nodes than there are": (
        settings({"partitionname": "debug", "nodes": "train-st-p5en-[1-5]"}),
        {},
        f"{SETTINGS}[0].nodes: train-st-p5en-5 is no node of this cluster; its nodes are "
        "train-st-p5en-[1-4]",
    ),
    "a script that the head node cannot read": (
        put("HeadNode.CustomActions.OnNodeStart", {"Script": "s3://other/start.sh"}),
        {},
        "HeadNode.CustomActions.OnNodeStart.Script: s3://other/start.sh is not under S3Access, so "
        "the node cannot read it; add its bucket and key there",
    ),
    "a script that compute nodes cannot read": (
        put(f"{Q}.Iam.S3Access", [{"BucketName": "scripts", "KeyName": "boot.sh"}]),
        {},
        f"{QUEUE}.CustomActions.OnNodeConfigured.Sequence[0].Script: s3://scripts/ready.sh is not "
        "under S3Access, so the node cannot read it; add its bucket and key there",
    ),
    "a head node that takes the whole hour": (
        put("DevSettings.Timeouts.HeadNodeBootstrapTimeout", 3600),
        {},
        "DevSettings.Timeouts.HeadNodeBootstrapTimeout: 3600 seconds leave too little of "
        "CloudFormation's hour for the resource; use 3000 or less",
    ),
    "an Elastic IP as an allocation id": (
        put("HeadNode.Networking.ElasticIp", "eipalloc-0123456789abcdef0"),
        {},
        "HeadNode.Networking.ElasticIp: eipalloc-0123456789abcdef0 is an allocation id; give the "
        "public address that belongs to it",
    ),
    "a cluster with the name of its stack": (
        both(),
        {"cluster_name": "kait", "stack_name": "kait"},
        ": cluster_name 'kait' is also the name of the stack it is made from, and ParallelCluster "
        "makes a stack of that name; rename one of them",
    ),
    "a long name": (
        both(),
        {"cluster_name": "k" * 61},
        f": cluster_name '{'k' * 61}' has 61 characters; use 60 or fewer",
    ),
    "a long name with accounting": (
        DATABASE,
        {"cluster_name": "k" * 41},
        f": cluster_name '{'k' * 41}' has 41 characters; use 40 or fewer, since the names of its "
        "accounting tables begin with it",
    ),
    "an include file": (
        put("Scheduling.SlurmSettings.CustomSlurmSettingsIncludeFile", "s3://b/slurm.conf"),
        {},
        "Scheduling.SlurmSettings.CustomSlurmSettingsIncludeFile: is not read by any check before "
        "slurmctld reads it; write its lines under CustomSlurmSettings",
    ),
    "a policy that the provider may not attach": (
        put("HeadNode.Iam.AdditionalIamPolicies", [{"Policy": "arn:aws:iam::aws:policy/X"}]),
        {"attachable_policies": ("arn:aws:iam::aws:policy/Amazon*",)},
        "HeadNode.Iam.AdditionalIamPolicies[0].Policy: arn:aws:iam::aws:policy/X may not be "
        "attached by the provider's role; name the policy under policies of the record, or give "
        "it the path /parallelcluster/",
    ),
    "another architecture than the head node's": (
        put("HeadNode.InstanceType", "m7g.2xlarge"),
        {"known_types": {name: TYPES[name] for name in ("m7g.2xlarge", "p5en.48xlarge")}},
        f"{QUEUE}.ComputeResources[0].InstanceType: p5en.48xlarge is x86_64 and the head node, "
        "m7g.2xlarge, is arm64; take a head node of the same architecture",
    ),
    "too many queues": (
        queues(51),
        {},
        "Scheduling.SlurmQueues: 51 queues; ParallelCluster takes 50: join some, or make a second "
        "cluster",
    ),
    "a node with a name like ParallelCluster's": (
        settings({"NodeName": "own-dy-node-1", "CPUs": 4}),
        {},
        f"{SETTINGS}[0].NodeName: own-dy-node-1 contains '-dy-', as only ParallelCluster's own "
        "nodes may; rename it",
    ),
    "too little time for a stuck step": (
        settings({"MessageTimeout": 100}, {"UnkillableStepTimeout": "300"}),
        {},
        f"{SETTINGS}[1].UnkillableStepTimeout: 300 is below five times MessageTimeout, 100; use "
        "500 or more",
    ),
    "too little time for a stuck step under ParallelCluster's own timeout": (
        settings({"UnkillableStepTimeout": 180}),
        {},
        f"{SETTINGS}[0].UnkillableStepTimeout: 180 is below five times MessageTimeout, 60; use "
        "300 or more",
    ),
}


def messages(config: dict[str, Any], **known: Any) -> list[str]:
    found = configuration_faults(config, Surroundings(**known))
    return [f"{dotted(fault.key_path)}: {fault.reason}" for fault in found]


@pytest.fixture
def config(rendered: Render) -> dict[str, Any]:
    return deepcopy(rendered(login_nodes={"login": LoginPool()}))


@pytest.mark.parametrize("name", FIRING)
def test_a_configuration_that_would_fail_later_is_refused(
    config: dict[str, Any], name: str
) -> None:
    change, known, message = FIRING[name]
    change(config)
    assert messages(config, **known) == [message]


def test_a_good_configuration_is_without_fault_however_much_is_known(
    config: dict[str, Any],
) -> None:
    assert (
        messages(
            config,
            cluster_name="kait",
            stack_name="kait-cluster",
            capacity_block_ids=frozenset({"cr-0123456789abcdefb"}),
            file_system_group_ids=frozenset({"sg-0123456789abcdef0"}),
            attachable_policies=("arn:aws:iam::aws:policy/Amazon*",),
            previous=deepcopy(config),
            known_types=TYPES,
        )
        == []
    )


SILENT: dict[str, tuple[Change, dict[str, Any]]] = {
    "a block bought as a block": (
        put(f"{Q}.CapacityType", "CAPACITY_BLOCK"),
        {"capacity_block_ids": frozenset({"cr-0123456789abcdef0"})},
    ),
    "accounting settings without a database": (
        settings({"AccountingStorageType": "accounting_storage/slurmdbd"}),
        {},
    ),
    "settings that a queue may have": (
        put(f"{Q}.CustomSlurmSettings", {"AllowQos": "normal", "PriorityTier": 1}),
        {},
    ),
    "scratch directories of two queues": (queues(2), {}),
    "neighbours with the same beginning": (
        put("SharedStorage.0.MountDir", "/opt/dlami/nvme2"),
        {},
    ),
    "a prefix list": (put("HeadNode.Ssh.AllowedIps", "pl-0123456789abcdef0"), {}),
    "login nodes that inherit the head node's range": (drop("LoginNodes.Pools.0.Ssh"), {}),
    "partitions of all kinds of nodes": (
        settings(
            {"NodeSet": "big", "Nodes": "train-st-p5en-[3-4]"},
            {"NodeName": "tape[01-02]", "CPUs": 4},
            {"PartitionName": "a", "Nodes": "train-st-p5en-[1-2],train-st-p5en-4"},
            {"PartitionName": "b", "Nodes": "train_nodes,big"},
            {"PartitionName": "c", "Nodes": "ALL"},
            {"PartitionName": "d", "Nodes": "tape02"},
        ),
        {},
    ),
    "scripts under a pattern": (
        put("HeadNode.Iam.S3Access", [{"BucketName": "scripts", "KeyName": "*.sh"}]),
        {},
    ),
    "scripts of a bucket that may be read as a whole": (
        put("HeadNode.Iam.S3Access", [{"BucketName": "scripts"}]),
        {},
    ),
    "scripts of nodes with a role of their own": (
        put("HeadNode.Iam", {"InstanceRole": "arn:aws:iam::111122223333:role/own"}),
        {},
    ),
    "a script from elsewhere": (
        put("HeadNode.CustomActions.OnNodeStart", {"Script": "https://example.edu/start.sh"}),
        {},
    ),
    "an address for the head node": (put("HeadNode.Networking.ElasticIp", "198.51.100.7"), {}),
    "a policy that is known only at deployment": (
        put("HeadNode.Iam.AdditionalIamPolicies", [{"Policy": "${Token[TOKEN.7]}"}]),
        {"attachable_policies": ("arn:aws:iam::aws:policy/Amazon*",)},
    ),
    "a name that is known only at deployment": (both(), {"cluster_name": "${Token[TOKEN.7]}" * 9}),
    "fifty queues": (queues(50), {}),
    "enough time for a stuck step": (settings({"UnkillableStepTimeout": 300}), {}),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_check_is_silent_where_nothing_is_wrong(config: dict[str, Any], name: str) -> None:
    change, known = SILENT[name]
    change(config)
    assert messages(config, **known) == []


SHRINKING: dict[str, tuple[Change, str]] = {
    "fewer nodes": (
        both(put(f"{CR}.MinCount", 2), put(f"{CR}.MaxCount", 2)),
        f"{QUEUE}.ComputeResources[0].MinCount: 4 becomes 2, which DRAIN does not allow while "
        "nodes run; stop the fleet first, or use TERMINATE for this update",
    ),
    "another queue name": (
        put(f"{Q}.Name", "other"),
        "Scheduling.SlurmQueues: queue train is gone, which DRAIN does not allow while nodes run; "
        "stop the fleet first, or use TERMINATE for this update",
    ),
    "another instance family": (
        both(put(f"{CR}.Name", "p5e"), put(f"{CR}.InstanceType", "p5e.48xlarge")),
        "Scheduling.SlurmQueues: p5en of queue train is gone, which DRAIN does not allow while "
        "nodes run; stop the fleet first, or use TERMINATE for this update",
    ),
}


@pytest.mark.parametrize("name", SHRINKING)
def test_taking_nodes_away_under_drain_is_refused(config: dict[str, Any], name: str) -> None:
    change, message = SHRINKING[name]
    before = deepcopy(config)
    change(config)
    assert messages(config, previous=before)[0] == message
    config["Scheduling"]["SlurmSettings"]["QueueUpdateStrategy"] = "TERMINATE"
    assert messages(config, previous=before) == []


def test_growing_and_adding_under_drain_is_fine(config: dict[str, Any]) -> None:
    before = deepcopy(config)
    both(queues(2), put(f"{Q}.Name", "train"), put(f"{CR}.MaxCount", 9))(config)
    assert messages(config, previous=before) == []


def test_every_check_is_in_the_list() -> None:
    names = {check.__name__ for check in CHECKS}
    assert len(names) == len(CHECKS) == 19


def test_a_block_of_a_fleet_is_launched_as_a_block(
    rendered: Render, capacities: dict[str, Capacity]
) -> None:
    block = capacities["block"]
    assert isinstance(block, CapacityBlock)
    config = rendered(queue_capacity=block)
    assert messages(config, capacity_block_ids=frozenset({block.reservation_id})) == []


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("a[1-3]", ["a1", "a2", "a3"]),
        ("a[08-10,12]x", ["a08x", "a09x", "a10x", "a12x"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("a[x]", ["ax"]),
        ("", []),
    ],
)
def test_node_expressions_are_read_as_slurm_reads_them(expression: str, names: list[str]) -> None:
    assert list(expand(expression)) == names
