"""The configuration that a fleet's record becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import yaml

from trainshed import facts
from trainshed.config import (
    AccountingDatabase,
    Fleet,
    HeadNode,
    Image,
    LoginPool,
    Monitoring,
    ParallelClusterOptions,
    Queue,
    RootVolume,
    Spot,
    Ssh,
)
from trainshed.config.capacity import Capacity
from trainshed.pcluster import (
    References,
    configuration_faults,
    placeholders,
    render,
    to_yaml,
)

Render = Callable[..., dict[str, Any]]
MakeFleet = Callable[..., Fleet]
Golden = Callable[[str, object], None]

OSES = ("ubuntu2204", "ubuntu2404", "alinux2023", "rhel8", "rhel9")
TYPES = ("p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge")

PLACEMENT = {
    "block": ("CAPACITY_BLOCK", {"CapacityReservationId": "cr-0123456789abcdefb"}, None),
    "reservation": (
        "ONDEMAND",
        {"CapacityReservationId": "cr-0123456789abcdef0"},
        {"Enabled": False},
    ),
    "reservation in a group": (
        "ONDEMAND",
        {
            "CapacityReservationResourceGroupArn": (
                "arn:aws:resource-groups:us-east-2:111122223333:group/h200"
            )
        },
        {"Enabled": False},
    ),
    "reservation in a placement group": (
        "ONDEMAND",
        {"CapacityReservationId": "cr-0123456789abcdef0"},
        {"Enabled": True, "Name": "near"},
    ),
    "open reservation": ("ONDEMAND", None, {"Enabled": False}),
    "on demand": ("ONDEMAND", None, {"Enabled": False}),
    "on demand together": ("ONDEMAND", None, {"Enabled": True}),
    "spot": ("SPOT", None, {"Enabled": False}),
    "spot with a price": ("SPOT", None, {"Enabled": False}),
}


def queue_of(config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = config["Scheduling"]["SlurmQueues"][0]
    return found


@pytest.mark.parametrize("kind", PLACEMENT)
def test_each_way_of_buying_has_its_launch_options(
    rendered: Render, capacities: dict[str, Capacity], kind: str
) -> None:
    queue = queue_of(rendered(queue_capacity=capacities[kind]))
    assert (
        queue["CapacityType"],
        queue.get("CapacityReservationTarget"),
        queue["Networking"].get("PlacementGroup"),
    ) == PLACEMENT[kind]


def test_a_reservation_made_with_the_stack_is_named_by_its_id(
    make_fleet: MakeFleet, references: References
) -> None:
    fleet = make_fleet(queue_capacity={"kind": "targeted_reservation", "create": {"nodes": 4}})
    known = replace(references, reservation_ids={"train": "cr-00000000000000001"})
    queue = queue_of(render(fleet, known, known_types=facts.INSTANCE_TYPES))
    assert queue["CapacityReservationTarget"] == {"CapacityReservationId": "cr-00000000000000001"}


@pytest.mark.parametrize(
    ("os", "instance_type", "kind"),
    list(product(OSES, TYPES, PLACEMENT)),
    ids=lambda value: value.replace(" ", "-"),
)
def test_every_combination_is_without_fault(
    rendered: Render, capacities: dict[str, Capacity], os: str, instance_type: str, kind: str
) -> None:
    config = rendered(
        image=Image.model_validate({"os": os}),
        queue_instance_type=instance_type,
        queue_capacity=capacities[kind],
    )
    assert configuration_faults(config) == []


@pytest.mark.parametrize(
    ("capacity", "nodes", "counts"),
    [
        ("reservation", {}, (4, 4)),
        ("block", {}, (4, 4)),
        ("on demand", {}, (0, 4)),
        ("spot", {"queue_min_nodes": 1}, (1, 4)),
    ],
    ids=["reservation", "block", "on-demand", "spot"],
)
def test_paid_nodes_always_run_and_others_come_with_jobs(
    rendered: Render,
    capacities: dict[str, Capacity],
    capacity: str,
    nodes: dict[str, int],
    counts: tuple[int, int],
) -> None:
    config = rendered(queue_capacity=capacities[capacity], **nodes)
    resource = queue_of(config)["ComputeResources"][0]
    assert (resource["MinCount"], resource["MaxCount"]) == counts


def test_a_spot_price_is_a_number(rendered: Render) -> None:
    config = rendered(queue_capacity=Spot(max_price_usd_per_hour=21.5))
    assert queue_of(config)["ComputeResources"][0]["SpotPrice"] == 21.5


@pytest.mark.parametrize(
    ("keywords", "enabled"),
    [
        ({}, True),
        ({"queue_efa": False}, False),
        ({"queue_instance_type": "g5.xlarge"}, False),
        ({"queue_instance_type": "g5.48xlarge"}, True),
    ],
    ids=["with-efa", "turned-off", "without-efa", "one-card"],
)
def test_efa_is_on_where_the_type_has_it(
    rendered: Render, keywords: dict[str, Any], enabled: bool
) -> None:
    resource = queue_of(rendered(**keywords))["ComputeResources"][0]
    assert resource["Efa"] == {"Enabled": enabled}


def test_efa_interfaces_with_addresses_are_a_setting_of_the_cluster(rendered: Render) -> None:
    assert rendered(queue_efa_interface="efa")["DevSettings"]["EfaInterfaceType"] == "efa"
    assert "EfaInterfaceType" not in rendered()["DevSettings"]


@pytest.mark.parametrize(
    ("keywords", "volume"),
    [
        ({}, {"MountDir": "/opt/dlami/nvme"}),
        ({"queue_nvme_dir": "/scratch"}, {"MountDir": "/scratch"}),
        ({"queue_instance_type": "m7i.4xlarge"}, None),
    ],
    ids=["default", "elsewhere", "no-disks"],
)
def test_local_disks_are_mounted_where_there_are_any(
    rendered: Render, keywords: dict[str, Any], volume: dict[str, str] | None
) -> None:
    storage = queue_of(rendered(**keywords))["ComputeSettings"]["LocalStorage"]
    assert storage.get("EphemeralVolume") == volume


def test_ssh_is_closed_unless_a_range_is_given(rendered: Render) -> None:
    closed = rendered(login_nodes={"login": LoginPool()})
    assert closed["HeadNode"]["Ssh"] == {"AllowedIps": "255.255.255.255/32"}
    assert closed["LoginNodes"]["Pools"][0]["Ssh"] == {"AllowedIps": "255.255.255.255/32"}
    head = HeadNode(ssh=Ssh(key_name="ed", allowed_cidr="10.1.0.0/16"))
    opened = rendered(head_node=head, login_nodes={"login": LoginPool()})
    assert opened["HeadNode"]["Ssh"] == {"KeyName": "ed", "AllowedIps": "10.1.0.0/16"}
    assert opened["LoginNodes"]["Pools"][0]["Ssh"] == {"AllowedIps": "10.1.0.0/16"}


def test_the_head_node_is_private_and_keeps_its_credentials(rendered: Render) -> None:
    head = rendered()["HeadNode"]
    assert head["Imds"] == {"Secured": True}
    assert "ElasticIp" not in head["Networking"]
    assert head["LocalStorage"]["RootVolume"]["DeleteOnTermination"] is False


def test_idle_time_is_left_out_where_no_node_is_ever_idle(
    rendered: Render, capacities: dict[str, Capacity]
) -> None:
    options = ParallelClusterOptions(scaledown_idle_minutes=60)
    static = rendered(parallelcluster=options)
    dynamic = rendered(parallelcluster=options, queue_capacity=capacities["on demand"])
    assert "ScaledownIdletime" not in static["Scheduling"]["SlurmSettings"]
    assert dynamic["Scheduling"]["SlurmSettings"]["ScaledownIdletime"] == 60


def test_scripts_can_be_read_by_exact_key(rendered: Render) -> None:
    config = rendered()
    assert queue_of(config)["Iam"]["S3Access"] == [
        {"BucketName": "scripts", "KeyName": "boot.sh"},
        {"BucketName": "scripts", "KeyName": "ready.sh"},
    ]
    assert config["HeadNode"]["Iam"]["S3Access"] == [
        {"BucketName": "scripts", "KeyName": "actions.sh"},
        {"BucketName": "scripts", "KeyName": "boot.sh"},
    ]


def test_own_policies_come_after_those_of_trainshed_once(rendered: Render) -> None:
    own = "arn:aws:iam::111122223333:policy/site"
    ssm = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
    config = rendered(queue_policies=(own, ssm))
    both = [{"Policy": ssm}, {"Policy": own}]
    assert queue_of(config)["Iam"]["AdditionalIamPolicies"] == both
    config = rendered(login_nodes={"web": LoginPool(policies=(own,)), "shell": LoginPool()})
    web, shell = config["LoginNodes"]["Pools"]
    assert web["Iam"]["AdditionalIamPolicies"] == both
    assert shell["Iam"]["AdditionalIamPolicies"] == both[:1]


def test_tags_are_sorted(make_fleet: MakeFleet, references: References) -> None:
    config = render(
        make_fleet(), references, known_types=facts.INSTANCE_TYPES, tags={"b": "2", "a": "1"}
    )
    assert config["Tags"] == [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]


def test_slurm_settings_keep_their_order_and_the_records_own_come_last(
    make_fleet: MakeFleet, references: References
) -> None:
    options = ParallelClusterOptions(extra_slurm_settings={"KillWait": 60})
    partition = {"PartitionName": "debug", "Nodes": "train_nodes", "MaxTime": "00:30:00"}
    config = render(
        make_fleet(parallelcluster=options),
        references,
        known_types=facts.INSTANCE_TYPES,
        slurm_settings=[{"PreemptMode": "REQUEUE"}, partition],
        queue_slurm_settings={"train": {"PriorityTier": 1}},
    )
    settings = config["Scheduling"]["SlurmSettings"]["CustomSlurmSettings"]
    assert settings == [{"PreemptMode": "REQUEUE"}, partition, {"KillWait": 60}]
    assert queue_of(config)["CustomSlurmSettings"] == {"PriorityTier": 1}


def test_an_isolated_network_needs_no_route_53(
    make_fleet: MakeFleet, references: References
) -> None:
    config = render(
        make_fleet(), replace(references, isolated=True), known_types=facts.INSTANCE_TYPES
    )
    assert config["Scheduling"]["SlurmSettings"]["Dns"] == {
        "DisableManagedDns": True,
        "UseEc2Hostnames": True,
    }


def test_rendering_twice_gives_the_same_text(rendered: Render) -> None:
    assert to_yaml(rendered()) == to_yaml(rendered())


def test_the_text_is_the_configuration(rendered: Render) -> None:
    config = rendered(login_nodes={"login": LoginPool()})
    text = to_yaml(config)
    assert text.startswith("# AWS ParallelCluster 3.16.1, written by trainshed\n")
    assert yaml.safe_load(text) == config


@pytest.fixture
def full(make_fleet: MakeFleet, capacities: dict[str, Capacity]) -> Fleet:
    disk = RootVolume(gib=500, iops=8000, throughput_mib_s=500)
    queues = {
        kind.replace(" ", "-")[:25]: Queue(
            instance_type="p5en.48xlarge", capacity=capacity, max_nodes=2, root_volume=disk
        )
        for kind, capacity in capacities.items()
    }
    return make_fleet(
        queues=queues,
        image=Image(os="alinux2023", ami_id="ami-0123456789abcdef0"),
        head_node=HeadNode(
            instance_type="m7i.8xlarge",
            ssh=Ssh(key_name="ed", allowed_cidr="10.1.0.0/16"),
            policies=("arn:aws:iam::111122223333:policy/site",),
        ),
        login_nodes={"login": LoginPool(count=2, grace_minutes=30)},
        accounting=AccountingDatabase(
            host="db.example.edu:3306",
            user="slurm",
            password_secret_arn="arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
        ),
        monitoring=Monitoring(detailed=True, log_retention_days=365),
        parallelcluster=ParallelClusterOptions(
            scaledown_idle_minutes=30,
            extra_slurm_settings={"UnkillableStepTimeout": 300},
            permissions_boundary_arn="arn:aws:iam::111122223333:policy/boundary",
        ),
    )


def test_a_plain_fleet_reads_as_before(make_fleet: MakeFleet, golden: Golden) -> None:
    fleet = make_fleet()
    config = render(
        fleet,
        placeholders(fleet, region="us-east-2", mount_dir="/fsx"),
        known_types=facts.INSTANCE_TYPES,
    )
    assert configuration_faults(config) == []
    golden("pcluster/plain.yaml", to_yaml(config))


def test_a_fleet_with_everything_reads_as_before(
    full: Fleet, references: References, golden: Golden
) -> None:
    config = render(full, references, known_types=facts.INSTANCE_TYPES, tags={"team": "llm"})
    assert configuration_faults(config) == []
    golden("pcluster/full.yaml", to_yaml(config))
