"""Networks that could not carry a cluster."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest

from trainshed import facts
from trainshed.launch import addresses_per_node
from trainshed.network import TrainingNetwork

P5 = facts.instance_type("p5.48xlarge")

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "A7 an address for every EFA interface": (
        {"cidr": "10.0.0.0/23", "compute_addresses": 8 * addresses_per_node(P5, style="efa")},
        "the compute subnet 10.0.0.0/24 has 251 addresses (5 more are AWS's) and 256 are needed; "
        "use a cidr of /22, or EFA interfaces of type efa-only, or fewer nodes",
    ),
    "A7 more than any VPC has": (
        {"compute_addresses": 40_000},
        "the compute subnet 10.0.0.0/17 has 32763 addresses (5 more are AWS's) and 40000 are "
        "needed; EFA interfaces of type efa-only, or fewer nodes",
    ),
    "A7 endpoints take addresses too": (
        {"cidr": "10.0.0.0/27", "internet": "isolated"},
        "the compute subnet 10.0.0.0/28 has 11 addresses (5 more are AWS's) and 15 are needed; "
        "use a cidr of /26, or EFA interfaces of type efa-only, or fewer nodes",
    ),
    "A6 no room for the public subnet": (
        {"cidr": "10.0.0.0/28"},
        "cidr is 10.0.0.0/28 and a NAT gateway needs a public subnet beside the compute subnet; "
        "use a /27 or larger, or internet 'isolated'",
    ),
    "a range that no VPC has": (
        {"cidr": "10.0.0.0/8"},
        "cidr is 10.0.0.0/8, a /8; a VPC takes /16 to /28",
    ),
    "F76 a range that is known only at deploy time": (
        {"cidr": cdk.Fn.import_value("Cidr")},
        "cidr is known only at deploy time and subnets are cut at synth; write the range itself",
    ),
    "C28 a zone of another Region": (
        {"zone": facts.ZoneName("us-west-2a")},
        "zone 'us-west-2a' is in us-west-2, not in us-east-1",
    ),
    "C28 a zone id of another Region": (
        {"zone": facts.ZoneId("usw2-az1")},
        "zone 'usw2-az1' is not in us-east-1, whose zone ids begin with use1-",
    ),
    "a statement about a group that is not given": (
        {"efa_group_allows_itself": True},
        "efa_group_allows_itself is True without efa_security_group; leave it out, "
        "the group that is made here has both rules",
    ),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=list(REFUSED))
def test_a_network_that_cannot_work_is_refused(
    stack: cdk.Stack, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        TrainingNetwork(stack, "Network", **{"zone": facts.ZoneName("us-east-1a"), **change})
    assert str(refusal.value) == message


def test_the_zone_is_never_left_to_cdk(stack: cdk.Stack) -> None:
    with pytest.raises(TypeError, match="zone"):
        TrainingNetwork(stack, "Network")  # type: ignore[call-arg]


def test_a_zone_id_is_not_taken_for_a_name() -> None:
    with pytest.raises(ValueError) as refusal:
        facts.ZoneName("use1-az4")
    assert str(refusal.value) == (
        "'use1-az4' is a zone id, not a zone name; "
        'write ZoneId("use1-az4") (zone_id in the institution file)'
    )
