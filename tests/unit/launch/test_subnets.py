from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.subnets import check_addresses, subnet_plan, vpc_prefix_length_for

vpcs = st.builds(
    lambda length, number: str(IPv4Network((0x0A000000 | number << (32 - length), length))),
    st.integers(16, 28),
    st.integers(0, 255),
)


@given(vpcs)
def test_subnets_lie_apart_inside_the_vpc(cidr: str) -> None:
    plan = subnet_plan(cidr)
    subnets = [plan.compute, *([plan.public] if plan.public else []), *plan.databases]
    assert all(subnet.subnet_of(IPv4Network(cidr)) for subnet in subnets)
    assert all(16 <= subnet.prefixlen <= 28 for subnet in subnets)
    assert not any(a.overlaps(b) for i, a in enumerate(subnets) for b in subnets[i + 1 :])


@pytest.mark.parametrize(
    ("cidr", "compute", "public", "databases"),
    [
        ("10.0.0.0/16", "10.0.0.0/17", "10.0.255.240/28", ["10.0.255.208/28", "10.0.255.224/28"]),
        ("10.9.0.0/25", "10.9.0.0/26", "10.9.0.112/28", ["10.9.0.80/28", "10.9.0.96/28"]),
        ("10.9.0.0/26", "10.9.0.0/27", "10.9.0.48/28", []),
        ("10.9.0.0/27", "10.9.0.0/28", "10.9.0.16/28", []),
        ("10.9.0.0/28", "10.9.0.0/28", None, []),
    ],
)
def test_the_plan_follows_from_the_range(
    cidr: str, compute: str, public: str | None, databases: list[str]
) -> None:
    plan = subnet_plan(cidr)
    assert str(plan.compute) == compute
    assert plan.public == (IPv4Network(public) if public else None)
    assert [str(network) for network in plan.databases] == databases


@pytest.mark.parametrize(
    ("cidr", "message"),
    [
        (
            "${Token[Cidr.1]}",
            "cidr is known only at deploy time and subnets are cut at synth; "
            "write the range itself",
        ),
        ("10.0.0.0/8", "cidr is 10.0.0.0/8, a /8; a VPC takes /16 to /28"),
        ("10.0.0.0/29", "cidr is 10.0.0.0/29, a /29; a VPC takes /16 to /28"),
        ("10.0.0.1/16", "cidr is '10.0.0.1/16': 10.0.0.1/16 has host bits set; write 10.0.0.0/16"),
    ],
)
def test_a_range_that_cannot_be_cut_is_refused(cidr: str, message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        subnet_plan(cidr)
    assert str(refusal.value) == message


def test_a_subnet_without_enough_addresses_is_refused() -> None:
    check_addresses("10.0.0.0/24", 251, fix="grow")
    with pytest.raises(ValueError) as refusal:
        check_addresses("10.0.0.0/24", 256, fix="grow")
    assert str(refusal.value) == (
        "the compute subnet 10.0.0.0/24 has 251 addresses (5 more are AWS's) and 256 are needed; "
        "grow"
    )


def test_a_token_is_not_counted() -> None:
    check_addresses("${Token[Cidr.1]}", 10**6, fix="grow")


@given(st.integers(0, 40_000))
def test_the_advised_vpc_is_the_smallest_that_holds_the_addresses(addresses: int) -> None:
    length = vpc_prefix_length_for(addresses)
    if length is None:
        assert addresses > 2**15 - 5
        return
    assert subnet_plan(f"10.0.0.0/{length}").compute.num_addresses - 5 >= addresses
    if length < 27:
        assert subnet_plan(f"10.0.0.0/{length + 1}").compute.num_addresses - 5 < addresses
