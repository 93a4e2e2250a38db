from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainshed import facts
from trainshed.cli.checked import load_checked
from trainshed.config import Institution
from trainshed.cost import monthly_cost
from trainshed.network.endpoints import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS
from trainshed.quotas import Need, quota_needs, quota_table, vcpu_class
from trainshed.quotas.needs import ISOLATED_GATEWAY_ENDPOINTS, ISOLATED_INTERFACE_ENDPOINTS

ROOT = Path(__file__).parents[3]


def _read(name: str) -> Institution:
    return load_checked(ROOT / "institutions" / f"{name}.yaml")


def _with(queues: str, **sections: Any) -> Institution:
    data = yaml.safe_load((ROOT / "institutions" / "minimal.yaml").read_text())
    data["fleet"]["queues"] = yaml.safe_load(queues)
    data.update(sections)
    return Institution.model_validate_json(json.dumps(data))


def _needed(institution: Institution) -> dict[str, int]:
    return {need.quota.name: need.needed for need in quota_needs(institution)}


@pytest.mark.parametrize("name", ["kait", "minimal", "full"])
def test_quotas_of_the_examples(name: str, golden: Callable[[str, object], None]) -> None:
    institution = _read(name)
    golden(f"quotas/{name}.md", quota_table(quota_needs(institution), institution.region))


def test_kait_needs_its_gpus_and_its_file_system() -> None:
    needed = _needed(_read("kait"))
    assert needed["Running On-Demand P instances"] == 16 * 192
    assert needed["Lustre Persistent_2 storage capacity"] == 230_400


@pytest.mark.parametrize("name", ["kait", "minimal", "full", "bare"])
def test_the_disks_are_those_that_cost_something(name: str) -> None:
    institution = _read(name)
    disks = sum(
        item.quantity.high
        for item in monthly_cost(institution).items
        if item.what.lower().split(",")[0].startswith(("root disks", "disk of"))
        if "IOPS" not in item.what and "throughput" not in item.what
    )
    (note,) = [need.note for need in quota_needs(institution) if need.quota.code == "L-7A658B76"]
    assert note.endswith(f", {disks:,.0f} GiB")


def test_an_isolated_network_needs_the_endpoints_that_are_made() -> None:
    assert len(INTERFACE_ENDPOINTS) == ISOLATED_INTERFACE_ENDPOINTS
    assert len(GATEWAY_ENDPOINTS) == ISOLATED_GATEWAY_ENDPOINTS


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("p5en", "P"),
        ("p6-b200", "P"),
        ("g6e", "G"),
        ("g4dn", "G"),
        ("vt1", "G"),
        ("trn2", "Trn"),
        ("inf2", "Inf"),
        ("t3", "Standard"),
        ("m7i", "Standard"),
    ],
)
def test_families_share_quotas_as_ec2_says(family: str, name: str) -> None:
    assert vcpu_class(family) == name


def test_every_family_of_the_table_has_a_quota() -> None:
    classes = {vcpu_class(kind.family) for kind in facts.INSTANCE_TYPES.values()}
    assert classes == {"P", "G", "Trn", "Standard"}


def test_a_reservation_counts_with_what_it_holds_and_once() -> None:
    needed = _needed(
        _with(
            """
            a: {instance_type: p5.48xlarge, max_nodes: 1, capacity: &r
                {kind: targeted_reservation, reservation_id: cr-0123456789abcdef0, nodes: 8}}
            b: {instance_type: p5.48xlarge, max_nodes: 2, capacity: *r}
            """
        )
    )
    assert needed["Running On-Demand P instances"] == 8 * 192


def test_blocks_have_limits_of_their_own() -> None:
    block = "{kind: capacity_block, end: '2027-03-01T11:30:00Z', reservation_id: "
    needed = _needed(
        _with(
            f"""
            a: {{instance_type: p5.48xlarge, max_nodes: 4,
                 capacity: {block} cr-0123456789abcdef0}}}}
            b: {{instance_type: p5.48xlarge, max_nodes: 2,
                 capacity: {block} cr-0123456789abcdef0}}}}
            c: {{instance_type: p5.48xlarge, max_nodes: 64,
                 capacity: {block} cr-0123456789abcdef1, nodes: 65}}}}
            """
        )
    )
    assert "Running On-Demand P instances" not in needed
    assert needed["Instances in one Capacity Block"] == 65
    assert needed["Instances in all Capacity Blocks"] == 71


def test_a_limit_that_cannot_be_raised_has_no_command() -> None:
    institution = _with(
        "a: {instance_type: p5.48xlarge, max_nodes: 65, capacity: {kind: capacity_block, "
        "end: '2027-03-01T11:30:00Z', reservation_id: cr-0123456789abcdef0}}"
    )
    text = quota_table(quota_needs(institution), institution.region)
    assert "| Instances in one Capacity Block | fixed | 64 | **65** |" in text
    assert "L-417A185B" not in text


def test_spot_counts_against_its_own_quota() -> None:
    needed = _needed(_with("a: {instance_type: g6.12xlarge, max_nodes: 3, capacity: {kind: spot}}"))
    assert needed["All G and VT Spot Instance Requests"] == 3 * 48
    assert "Running On-Demand G and VT instances" not in needed


def test_a_subnet_of_unknown_size_is_said_to_be_unknown() -> None:
    network = {
        "zone": "us-east-1a",
        "existing": {
            "vpc_id": "vpc-0123456789abcdef0",
            "cidr": "10.0.0.0/16",
            "compute_subnet_id": "subnet-0123456789abcdef0",
        },
    }
    institution = _with(
        "a: {instance_type: g6.12xlarge, max_nodes: 1, capacity: {kind: on_demand}}",
        network=network,
    )
    text = quota_table(quota_needs(institution), institution.region)
    assert "| Addresses in the compute subnet | fixed | not known | 2 |" in text
    assert "Elastic IP" not in text


def test_enough_is_said_in_one_line() -> None:
    needs = [need for need in quota_needs(_read("minimal")) if not need.above_default]
    assert quota_table(needs, "us-east-1").endswith("A new account has enough of each.\n")


def test_the_command_asks_for_what_is_needed() -> None:
    text = quota_table(quota_needs(_read("kait")), "ap-northeast-2")
    assert (
        "aws service-quotas request-service-quota-increase --region ap-northeast-2 "
        "--service-code fsx --quota-code L-8F1B9C74 --desired-value 230400\n" in text
    )


def test_no_quota_is_named_twice() -> None:
    for name in ("kait", "minimal", "full"):
        needs: tuple[Need, ...] = quota_needs(_read(name))
        assert len({need.quota.name for need in needs}) == len(needs)


@pytest.mark.parametrize(("reserved", "needed"), [(True, [101]), (False, [])])
def test_a_notifier_that_reserves_concurrency_needs_what_lambda_keeps_for_others(
    reserved: bool, needed: list[int]
) -> None:
    institution = _read("kait")
    assert institution.alerts is not None
    alerts = institution.alerts.model_copy(update={"reserve_concurrency": reserved})
    needs = quota_needs(institution.model_copy(update={"alerts": alerts}))
    assert [each.needed for each in needs if each.quota.service == "lambda"] == needed
