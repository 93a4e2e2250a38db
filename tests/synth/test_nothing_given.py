"""None for what a construct or a factory stands on is refused in the same words everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from constructs import Construct

import trainshed
from tests.synth.file_systems import existing_storage, storage_on
from trainshed import (
    LustreStorage,
    ParallelClusterFleet,
    SlackAlerts,
    SlurmAccountingDatabase,
    SlurmFleet,
    TrainingCluster,
    TrainingNetwork,
    alerts,
    facts,
    fleets,
)
from trainshed._given import check_all_present
from trainshed.config import (
    AlertRoutes,
    Fleet,
    Image,
    Lustre,
    NewDatabase,
    OnDemand,
    Queue,
    S3Link,
    load,
)
from trainshed.config.capacity import TargetedReservation
from trainshed.storage import LustreLinks

HERE = facts.ZoneName("us-east-1a")
ROUTES = AlertRoutes(critical="C0ONCALL00", warning="C0OPS00000", info="C0OPS00000")
QUEUES = {"train": Queue(instance_type="p5.48xlarge", max_nodes=4, capacity=OnDemand())}
FLEET = Fleet(queues=QUEUES)
RESERVED = TargetedReservation(reservation_id="cr-0123456789abcdef0")
BARE = Fleet(
    backend="slurm",
    image=Image(ami_id="ami-0123456789abcdef0"),
    queues={"train": Queue(instance_type="p5.48xlarge", max_nodes=4, capacity=RESERVED)},
)
MINIMAL = load(Path(__file__).parents[2] / "institutions" / "minimal.yaml")


class Ground(NamedTuple):
    """What exists already, for all rows."""

    network: TrainingNetwork
    storage: LustreStorage
    alerts: SlackAlerts
    topic: sns.ITopic
    role: iam.Role


@pytest.fixture(scope="module")
def ground() -> Ground:
    env = cdk.Environment(account="111122223333", region="us-east-1")
    stack = cdk.Stack(cdk.App(), "Foreign", env=env)
    network = TrainingNetwork(stack, "Network", zone=HERE)
    secret = secretsmanager.Secret.from_secret_name_v2(stack, "Slack", "kait/slack")
    sent = SlackAlerts(stack, "Alerts", secret=secret, routes=ROUTES, operators=["a@example.edu"])
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    return Ground(network, storage_on(network), sent, sns.Topic(stack, "Topic"), role)


Call = Callable[[Ground, Construct], object]
Any_: Any = None
"""None, for an argument that takes none."""


def network_from(**missing: Any) -> Call:
    def call(ground: Ground, scope: Construct) -> object:
        known = ground.network
        parts: dict[str, Any] = {
            "zone": HERE,
            "internet": "nat",
            "vpc": known.vpc,
            "compute_subnet": known.compute_subnet,
            "efa_security_group": known.efa_security_group,
            "egress_security_group": known.egress_security_group,
        }
        return TrainingNetwork.from_attributes(scope, "Made", **{**parts, **missing})

    return call


def fleet_on(kind: type, record: Fleet, **missing: Any) -> Call:
    def call(ground: Ground, scope: Construct) -> object:
        known = {"network": ground.network, "storage": ground.storage}
        given = {"cluster_name": "llm", "fleet": record, **known, **missing}
        return kind(scope, "Made", **given)

    return call


def storage_from(**missing: Any) -> Call:
    def call(ground: Ground, scope: Construct) -> object:
        known = ground.network
        given: dict[str, Any] = {
            "vpc": known.vpc,
            "subnet": known.compute_subnet,
            "client_security_group": known.efa_security_group,
            "lustre": Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125),
        }
        return LustreStorage(scope, "Made", **{**given, **missing})

    return call


def alerts_with(**missing: Any) -> Call:
    def call(ground: Ground, scope: Construct) -> object:
        secret = secretsmanager.Secret.from_secret_name_v2(scope, "Slack", "kait/slack")
        given: dict[str, Any] = {"secret": secret, "routes": ROUTES, "failure_topic": ground.topic}
        return SlackAlerts(scope, "Made", **{**given, **missing})

    return call


def provider_with(**missing: Any) -> Call:
    given: dict[str, Any] = {
        "cluster_name": "llm",
        "attachable_policy_arns": [],
        "script_bucket_arns": [],
        "script_arns": [],
    }
    return lambda _, scope: fleets.ParallelClusterProvider(scope, "Made", **{**given, **missing})


def budget_with(**missing: Any) -> Call:
    def call(ground: Ground, scope: Construct) -> object:
        given: dict[str, Any] = {"institution": "uni", "usd_per_month": 1, "topic": ground.topic}
        return alerts.InstitutionBudget(scope, "Made", **{**given, **missing})

    return call


def reservation_with(**missing: Any) -> Call:
    given: dict[str, Any] = {"instance_type": "p5.48xlarge", "nodes": 1, "zone": HERE}
    return lambda _, scope: trainshed.CapacityReservation(scope, "Made", **{**given, **missing})


def watching(verb: str, *args: Any, **given: Any) -> Call:
    return lambda ground, _: getattr(ground.alerts, verb)(*args, **given)


def one_subnet(ground: Ground) -> list[ec2.ISubnet]:
    return [ground.network.compute_subnet, Any_]


ROWS: dict[str, tuple[Call, str]] = {
    "network, its zone": (network_from(zone=None), "zone"),
    "network, its way out": (network_from(internet=None), "internet"),
    "network, its VPC": (network_from(vpc=None), "vpc"),
    "network, its subnet": (network_from(compute_subnet=None), "compute_subnet"),
    "network, its EFA group": (network_from(efa_security_group=None), "efa_security_group"),
    "network, its way-out group": (
        network_from(egress_security_group=None),
        "egress_security_group",
    ),
    "storage of a file, network": (
        lambda _, scope: trainshed.storage_of(scope, "Made", MINIMAL, network=Any_),
        "network",
    ),
    "accounting of a file, network": (
        lambda _, scope: trainshed.accounting_of(scope, "Made", MINIMAL, network=Any_),
        "network",
    ),
    "alerts of a file, section": (
        lambda _, scope: trainshed.alerts_of(scope, "Made", MINIMAL, Any_, cluster=Any_),
        "settings and cluster",
    ),
    "storage, its VPC": (storage_from(vpc=None), "vpc"),
    "storage, its links": (storage_from(links=None), "links"),
    "storage, its buckets": (storage_from(link_buckets=None), "link_buckets"),
    "storage, a bucket": (storage_from(link_buckets={"b": None}), "link_buckets['b']"),
    "existing storage, its links": (
        lambda _, scope: existing_storage(scope, links=None),  # type: ignore[arg-type]
        "links",
    ),
    "existing storage, a bucket": (
        lambda _, scope: existing_storage(scope, link_buckets={"b": None}),  # type: ignore[arg-type]
        "link_buckets['b']",
    ),
    "links": (
        lambda _, scope: LustreLinks(
            scope, "Made", file_system_id="fs-1", links=Any_, bucket=None, link_buckets=Any_
        ),
        "links and link_buckets",
    ),
    "storage, who mounts it": (
        lambda ground, _: ground.storage.add_client("Login", Any_),
        "security_group",
    ),
    "cluster, network": (fleet_on(TrainingCluster, FLEET, network=None), "network"),
    "cluster, types": (fleet_on(TrainingCluster, FLEET, known_types=None), "known_types"),
    "ParallelCluster, storage": (fleet_on(ParallelClusterFleet, FLEET, storage=None), "storage"),
    "ParallelCluster, types": (
        fleet_on(ParallelClusterFleet, FLEET, known_types=None),
        "known_types",
    ),
    "ParallelCluster, settings": (
        fleet_on(ParallelClusterFleet, FLEET, slurm_settings=None),
        "slurm_settings",
    ),
    "ParallelCluster, a script": (
        fleet_on(ParallelClusterFleet, FLEET, head_scripts=[None]),
        "head_scripts[0]",
    ),
    "ParallelCluster, scripts": (
        fleet_on(ParallelClusterFleet, FLEET, head_scripts=None),
        "head_scripts",
    ),
    "bare fleet, network": (fleet_on(SlurmFleet, BARE, network=None), "network"),
    "bare fleet, types": (fleet_on(SlurmFleet, BARE, known_types=None), "known_types"),
    "database, its VPC": (
        lambda ground, scope: SlurmAccountingDatabase(
            scope, "Made", vpc=Any_, subnets=[ground.network.compute_subnet] * 2
        ),
        "vpc",
    ),
    "database, its subnets": (
        lambda ground, scope: SlurmAccountingDatabase(
            scope, "Made", vpc=ground.network.vpc, subnets=Any_
        ),
        "subnets",
    ),
    "database, a subnet": (
        lambda ground, scope: SlurmAccountingDatabase(
            scope, "Made", vpc=ground.network.vpc, subnets=one_subnet(ground)
        ),
        "subnets[1]",
    ),
    "reservation, its type": (reservation_with(instance_type=None), "instance_type"),
    "reservation, its nodes": (reservation_with(nodes=None), "nodes"),
    "reservation of a capacity": (
        lambda _, scope: trainshed.CapacityReservation.from_capacity(
            scope, "Made", capacity=Any_, instance_type="p5.48xlarge", zone=HERE
        ),
        "capacity",
    ),
    "reservation that exists": (
        lambda _, scope: trainshed.CapacityReservation.from_reservation_id(
            scope, "Made", reservation_id=Any_
        ),
        "reservation_id",
    ),
    "alerts, operators": (alerts_with(operators=None), "operators"),
    "alerts, an operator": (alerts_with(operators=[None]), "operators[0]"),
    "alerts, publishers": (alerts_with(publishers=None), "publishers"),
    "topic, publishers": (
        lambda _, scope: alerts.AlertTopic(scope, "Made", publishers=Any_),
        "publishers",
    ),
    "topic, a publisher": (
        lambda _, scope: alerts.AlertTopic(scope, "Made", publishers=[Any_]),
        "publishers[0]",
    ),
    "budget, topic": (budget_with(topic=None), "topic"),
    "budget, addresses": (budget_with(emails=None), "emails"),
    "budget, shares": (budget_with(actual_percent=None), "actual_percent"),
    "budget, forecasts": (budget_with(forecast_percent=[None]), "forecast_percent[0]"),
    "limits of a section": (lambda *_: alerts.ProvisionedLimits.of(Any_), "source"),
    "alarm of somebody": (watching("notify", None), "alarm"),
    "alarm": (watching("add_alarm", None), "spec"),
    "alarms": (watching("add_alarms", None), "specs"),
    "one of two alarms": (watching("add_alarms", [None]), "specs[0]"),
    "events, sources": (watching("add_events", "X", source=None, detail_type=["x"]), "source"),
    "events, types": (
        watching("add_events", "X", source=["x"], detail_type=[None]),
        "detail_type[0]",
    ),
    "watched file system": (watching("watch_file_system", None), "storage"),
    "watched fleet": (watching("watch_fleet", None), "fleet"),
    "watched capacity": (watching("watch_capacity", None), "capacity"),
    "watched function": (watching("watch_function", None, prefix="X"), "function"),
    "watched group": (watching("watch_group", "X", None), "group_name"),
    "watched pool": (watching("watch_login_pool", None), "group_name"),
    "watched stack": (watching("watch_stack", "X", None), "stack_id"),
    "watched gateway": (watching("watch_nat_gateway", None), "nat_gateway_id"),
    "ways of a file system": (
        lambda ground, _: ground.alerts.watch_file_system(ground.storage, directions=Any_),
        "directions",
    ),
    "events of blocks, head": (
        lambda _, scope: fleets.block_events_of(scope, "M", FLEET, cluster_name="c", head=Any_),
        "head",
    ),
    "events of blocks, blocks": (
        lambda ground, scope: fleets.BlockEvents(
            scope, "M", cluster_name="c", block_ids=Any_, head=ground.role, log_retention_days=1
        ),
        "block_ids",
    ),
    "provider, policies": (provider_with(attachable_policy_arns=None), "attachable_policy_arns"),
    "provider, a secret": (provider_with(secret_arns=[None]), "secret_arns[0]"),
    "provider of a bare fleet": (
        lambda _, scope: fleets.SlurmFleetProvider(scope, "Made", place=Any_),
        "place",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_nothing_is_refused_by_its_name(name: str, ground: Ground) -> None:
    call, missing = ROWS[name]
    scope = Construct(cdk.Stack.of(ground.network), name.replace(" ", ""))
    with pytest.raises(ValueError) as refused:
        call(ground, scope)
    be = "are None, and none is made in their place; pass them"
    one = "is None, and none is made in its place; pass one"
    assert str(refused.value) == f"{missing} {be if ' and ' in missing else one}"


def test_rights_for_nobody_are_refused(ground: Ground) -> None:
    scope = cdk.Stack(cdk.App(), "Linked", env=cdk.Environment(region="us-east-1"))
    link = S3Link(path="/datasets", prefix="datasets/", direction="import")
    storage = existing_storage(scope, links={"Datasets": link})
    for grant in (storage.grant_read, storage.grant_read_write):
        with pytest.raises(ValueError, match=r"^grantee is None, and none is made in its place"):
            grant(Any_)


RECORDS: dict[str, tuple[Call, str]] = {
    "network": (lambda _, scope: trainshed.network_of(scope, "Made", Any_), "institution"),
    "storage": (
        lambda ground, scope: trainshed.storage_of(scope, "Made", Any_, network=ground.network),
        "institution",
    ),
    "accounting": (
        lambda ground, scope: trainshed.accounting_of(scope, "Made", Any_, network=ground.network),
        "institution",
    ),
    "alerts": (
        lambda _, scope: trainshed.alerts_of(scope, "Made", Any_, Any_, cluster=Any_),
        "institution",
    ),
    "cluster": (
        lambda _, scope: TrainingCluster.from_institution(scope, "Made", Any_),
        "institution",
    ),
    "blocks": (
        lambda ground, scope: fleets.block_events_of(
            scope, "Made", Any_, cluster_name="c", head=ground.role
        ),
        "fleet",
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_what_is_no_record_is_refused_with_the_record(name: str, ground: Ground) -> None:
    call, argument = RECORDS[name]
    scope = Construct(cdk.Stack.of(ground.network), f"Record{name}")
    with pytest.raises(ValueError) as refused:
        call(ground, scope)
    kind = {"institution": "Institution", "fleet": "Fleet"}[argument]
    assert str(refused.value) == f"{argument} is a NoneType; use trainshed.config.{kind}(...)"


def test_a_record_of_a_database_that_is_none_is_refused(ground: Ground) -> None:
    scope = Construct(cdk.Stack.of(ground.network), "Database")
    made = SlurmAccountingDatabase(
        scope,
        "Made",
        vpc=ground.network.vpc,
        subnets=[ground.network.compute_subnet] * 2,
        database=NewDatabase(),
    )
    given: Any = {"create": {}}
    with pytest.raises(ValueError) as refused:
        made.record(given)
    assert str(refused.value) == "given is a dict; use trainshed.config.AccountingDatabase(**given)"


def test_what_can_be_read_once_is_left_to_the_one_who_needs_it() -> None:
    given = iter(["a", None])
    check_all_present(given=given)
    assert list(given) == ["a", None]
