"""The real ParallelCluster's schema and validators on everything that trainshed renders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests import examples
from tests.peers.pcluster.rig import Case, validate
from trainshed import facts
from trainshed.config import (
    AccountingDatabase,
    CapacityBlock,
    Fleet,
    HeadNode,
    Image,
    Institution,
    LoginPool,
    OnDemand,
    OpenReservation,
    Queue,
    Spot,
    Ssh,
    TargetedReservation,
    load,
)
from trainshed.config.capacity import Capacity
from trainshed.pcluster import (
    NodeActions,
    References,
    Script,
    Surroundings,
    configuration_faults,
    fleet_faults,
    render,
)

pytestmark = pytest.mark.slow

OSES = ("ubuntu2204", "ubuntu2404", "alinux2023", "rhel8", "rhel9")
TYPES = (
    "p4d.24xlarge",
    "p4de.24xlarge",
    "p5.48xlarge",
    "p5e.48xlarge",
    "p5en.48xlarge",
    "p6-b200.48xlarge",
    "p6-b300.48xlarge",
)
RESERVATION, BLOCK = "cr-0123456789abcdef0", "cr-0123456789abcdefb"
GROUP = "sg-0123456789abcdef0"
FILE_SYSTEM = "fs-0123456789abcdef0"
CAPACITIES: dict[str, Capacity] = {
    "reservation": TargetedReservation(reservation_id=RESERVATION),
    "reservation-in-a-placement-group": TargetedReservation(
        reservation_id=RESERVATION, placement_group="near"
    ),
    "block": CapacityBlock(reservation_id=BLOCK, end=datetime(2027, 3, 1, tzinfo=UTC)),
    "open-reservation": OpenReservation(),
    "on-demand": OnDemand(),
    "on-demand-together": OnDemand(placement_group=True),
    "spot": Spot(max_price_usd_per_hour=20.5),
}
VARIANTS = {"reservation-in-a-placement-group", "open-reservation", "on-demand-together"}
# What ParallelCluster warns of and we mean: no key pair (Session Manager), detailed metrics that
# cost, and no placement group where the reservation or EC2 places the nodes. The account of the
# rig does not say in which placement group a reservation was made.
EXPECTED_WARNINGS = {
    "KeyPairValidator",
    "DetailedMonitoringValidator",
    "EfaPlacementGroupValidator",
    "PlacementGroupCapacityReservationValidator",
}


def references(region: str, queues: Mapping[str, Queue], *, isolated: bool = False) -> References:
    ssm = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
    own = "arn:aws:iam::111122223333:policy/parallelcluster/llm/"
    fixed = Script("scripts", "actions.sh", ("/trainshed/llm/head-actions", region))
    changing = Script("scripts", "actions.sh", (*fixed.args, "hash"))
    actions = NodeActions(on_configured=(fixed,), on_updated=(changing,))
    boot = NodeActions(on_start=(Script("scripts", "a.sh"),), on_configured=(fixed,))
    subnet_id = "subnet-0123456789abcdef1"
    return References(
        region=region,
        head_subnet_id=subnet_id,
        compute_subnet_id=subnet_id,
        security_group_ids=(GROUP, "sg-0123456789abcdef1"),
        file_system_id=FILE_SYSTEM,
        mount_dir="/fsx",
        head_policy_arns=(ssm, f"{own}head"),
        compute_policy_arns=(ssm, f"{own}compute"),
        login_policy_arns=(ssm, f"{own}login"),
        head_actions=actions,
        login_actions=actions,
        queue_actions=dict.fromkeys(queues, boot),
        reservation_ids={name: f"cr-{number:017x}" for number, name in enumerate(queues)},
        isolated=isolated,
    )


def case(fleet: Fleet, region: str = "us-east-2", *, isolated: bool = False) -> Case:
    """Render a fleet, find no fault with it, and describe the account that it is for."""
    assert not fleet_faults(fleet, cluster_name="llm", known_types=facts.INSTANCE_TYPES)
    names = references(region, fleet.queues, isolated=isolated)
    config = render(
        fleet, names, known_types=facts.INSTANCE_TYPES, tags={"Project": "llm", "Grafana": "true"}
    )
    blocks = frozenset(dict(reservations(fleet, names, kind="capacity-block")))
    known = Surroundings(
        cluster_name="llm",
        capacity_block_ids=blocks,
        file_system_group_ids=frozenset({GROUP}),
        known_types=facts.INSTANCE_TYPES,
    )
    assert not configuration_faults(config, known)
    world = {
        "region": region,
        "ami_os": fleet.image.os,
        "file_system_groups": {FILE_SYSTEM: [GROUP]},
        "reservations": {
            **dict(reservations(fleet, names, kind="default")),
            **dict(reservations(fleet, names, kind="capacity-block")),
        },
    }
    return Case(config, world)


def reservations(
    fleet: Fleet, names: References, *, kind: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the reservations of a fleet of one kind, as EC2 has them."""
    platform = facts.parallelcluster.OPERATING_SYSTEMS[fleet.image.os].reservation_platform
    for name, queue in fleet.queues.items():
        capacity = queue.capacity
        wanted = CapacityBlock if kind == "capacity-block" else TargetedReservation
        if isinstance(capacity, wanted):
            held = {"type": queue.instance_type, "count": queue.max_nodes, "kind": kind}
            id = capacity.reservation_id or names.reservation_ids[name]
            yield id, {**held, "platform": platform}


def fleet_of(os: str, instance_type: str, capacity: Capacity, **more: Any) -> Fleet:
    queue = Queue(instance_type=instance_type, capacity=capacity, max_nodes=4)
    return Fleet(
        queues={"train": queue},
        image=Image.model_validate({"os": os}),
        login_nodes={"login": LoginPool()} if os == "ubuntu2404" else {},
        **more,
    )


def refused(cases: Mapping[str, Case]) -> dict[str, list[str]]:
    """Return what ParallelCluster refuses, and what it warns of unexpectedly."""
    wrong = {}
    for name, verdict in zip(cases, validate(list(cases.values())), strict=True):
        unexpected = [
            str(finding)
            for finding in verdict.findings
            if finding.level == "WARNING" and finding.type not in EXPECTED_WARNINGS
        ]
        if verdict.errors or unexpected:
            wrong[name] = [*verdict.errors, *unexpected]
    return wrong


@pytest.mark.parametrize("kind", CAPACITIES)
def test_parallelcluster_accepts_every_system_and_type(kind: str) -> None:
    systems = ("ubuntu2404",) if kind in VARIANTS else OSES
    cases = {
        f"{os} {instance_type}": case(fleet_of(os, instance_type, CAPACITIES[kind]))
        for os, instance_type in product(systems, TYPES)
    }
    assert refused(cases) == {}


@pytest.mark.parametrize("path", examples.PATHS, ids=lambda path: path.stem)
def test_parallelcluster_accepts_every_example(path: Path) -> None:
    institution = load(path)
    fleet = institution.fleet
    # An example's instance type of tomorrow is unknown to the AWS of today.
    queues = {
        name: queue
        for name, queue in fleet.queues.items()
        if queue.instance_type not in institution.instance_types
    }
    known = fleet.model_copy(update={"queues": queues, "accounting": database_of(institution)})
    assert refused({path.stem: case(known, institution.region)}) == {}


def database_of(institution: Institution) -> AccountingDatabase | None:
    """Return the accounting database of an institution as it is once it is made."""
    given = institution.fleet.accounting
    if given is None or given.create is None:
        return given
    region, account = institution.region, institution.account
    return given.made(
        host="db.example.edu",
        password_secret_arn=f"arn:aws:secretsmanager:{region}:{account}:secret:db-AbCdEf",
        client_security_group_id=GROUP,
    )


def test_parallelcluster_accepts_accounting_ssh_and_an_isolated_network() -> None:
    fleet = fleet_of(
        "ubuntu2404",
        "p5en.48xlarge",
        CAPACITIES["reservation"],
        head_node=HeadNode(ssh=Ssh(key_name="ed25519", allowed_cidr="10.0.0.0/16")),
        accounting=AccountingDatabase(
            host="db.example.edu:3306",
            user="slurm",
            password_secret_arn="arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
        ),
    )
    assert refused({"isolated": case(fleet, isolated=True)}) == {}


def test_parallelcluster_refuses_what_our_rules_refuse() -> None:
    """The rig would not see a mistake otherwise."""
    fleet = fleet_of("ubuntu2404", "p5en.48xlarge", CAPACITIES["reservation"])
    good = case(fleet)
    world = {**good.world, "reservations": {RESERVATION: {"type": "p5.48xlarge", "count": 4}}}
    (verdict,) = validate([Case(good.config, world)])
    assert [error.split(":")[0] for error in verdict.errors] == [
        "ERROR CapacityReservationValidator"
    ]
