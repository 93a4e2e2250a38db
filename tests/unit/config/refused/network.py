"""Networks that are refused: the edits and the message of each."""

from __future__ import annotations

import pytest

from tests.unit.config.institution_text import existing_vpc, vpc

REFUSED = [
    pytest.param(
        [("zone: us-east-1a", "zone: us-west-2a")],
        "5: network.zone: zone 'us-west-2a' is in us-west-2, not in us-east-1; "
        "change it, or region",
        id="C28 zone of another Region",
    ),
    pytest.param(
        [("zone: us-east-1a", "zone_id: apne2-az1")],
        "5: network.zone_id: zone 'apne2-az1' is not in us-east-1, whose zone ids begin with "
        "use1-; change it, or region",
        id="C29 zone id of another Region",
    ),
    pytest.param(
        [("zone: us-east-1a", "zone: use1-az4")],
        "5: network.zone: 'use1-az4' is a zone id, not a zone name; write "
        'ZoneId("use1-az4") (zone_id in the institution file)',
        id="C29 zone id for a zone name",
    ),
    pytest.param(
        [("  zone: us-east-1a\n", "")],
        "4: network: needs exactly one of zone (us-east-1a) and zone_id (use1-az4): "
        "the zone where the capacity is",
        id="C30 no zone",
    ),
    pytest.param(
        [("vpc: {}", "vpc: {cidr: 8.0.0.0/16}")],
        "6: network.vpc.cidr: 8.0.0.0/16 is public; take a range of 10.0.0.0/8, 172.16.0.0/12, "
        "192.168.0.0/16, 100.64.0.0/10 or 198.18.0.0/15",
        id="public VPC range",
    ),
    pytest.param(
        [("vpc: {}", "vpc: {cidr: 10.0.0.5/16}")],
        "6: network.vpc.cidr: '10.0.0.5/16' is not an address range: 10.0.0.5/16 has host bits "
        "set; write 10.0.0.0/16",
        id="VPC range with host bits",
    ),
    pytest.param(
        [("vpc: {}", "vpc: {public_ip: true}")],
        "6: network.vpc.public_ip: unknown key; the keys here are cidr, "
        "flow_log_retention_days, internet",
        id="A6 public addresses do not exist",
    ),
    pytest.param(
        [
            (
                "vpc: {}",
                "existing:\n    vpc_id: vpc-0123456789abcdef0\n    cidr: 10.0.0.0/16\n"
                "    compute_subnet_id: subnet-0123456789abcdef0\n"
                "    compute_subnet_cidr: 10.0.1.0/24",
            ),
            ("max_nodes: 4", "max_nodes: 8\n      efa_interface: efa"),
        ],
        "10: network.existing.compute_subnet_cidr: the compute subnet 10.0.1.0/24 has 251 "
        "addresses (5 more are AWS's) and 257 are needed; take a larger subnet, fewer nodes, "
        "or efa_interface: efa-only",
        id="A7 existing subnet runs out of addresses",
    ),
    pytest.param(
        [("vpc: {}", "vpc: {cidr: 10.0.0.0/25}"), ("max_nodes: 4", "max_nodes: 80")],
        "6: network.vpc.cidr: the compute subnet 10.0.0.0/26 has 59 addresses (5 more are AWS's) "
        "and 81 are needed; use a cidr of /24, or fewer nodes, or efa_interface: efa-only",
        id="A7 new subnet runs out of addresses",
    ),
    pytest.param(
        [("vpc: {}", "vpc: {}\n  existing: {vpc_id: vpc-1}")],
        "7: network.existing.vpc_id: 'vpc-1' is not a VPC id, vpc- and 8 or 17 hexadecimal digits",
        id="malformed id",
    ),
    pytest.param(
        [vpc("flow_log_retention_days: 45")],
        "6: network.vpc.flow_log_retention_days: 45 is not one of 1, 3, 5, 7, 14, 30, 60, "
        "90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, "
        "3653; use 30 or 60",
        id="days between two that are allowed",
    ),
    pytest.param(
        [vpc("flow_log_retention_days: true")],
        "6: network.vpc.flow_log_retention_days: must be a whole number, got true",
        id="true for one",
    ),
    pytest.param(
        [("zone: us-east-1a", "zone_id: us-east-1a")],
        "5: network.zone_id: 'us-east-1a' is a zone name, not a zone id; write "
        'ZoneName("us-east-1a") (zone in the institution file)',
        id="C29 zone name for a zone id",
    ),
    pytest.param(
        [vpc("cidr: 10.0.0.0/255.255.0.0")],
        "6: network.vpc.cidr: '10.0.0.0/255.255.0.0' is not an address range: AWS takes a "
        "prefix length alone; write 10.0.0.0/16",
        id="VPC range with a netmask",
    ),
    pytest.param(
        [vpc("cidr: 10.0.0.0")],
        "6: network.vpc.cidr: '10.0.0.0' is not an address range: it has no prefix "
        "length; write 10.0.0.0/16",
        id="VPC range without a length",
    ),
    pytest.param(
        [vpc("cidr: 10.64.3.7")],
        "6: network.vpc.cidr: '10.64.3.7' is not an address range: it has no prefix length; write "
        "10.64.0.0/16",
        id="VPC range without a length, within it",
    ),
    pytest.param(
        [vpc("cidr: 127.0.0.0/16")],
        "6: network.vpc.cidr: 127.0.0.0/16 is in 127.0.0.0/8, which no VPC can have; take "
        "a range of 10.0.0.0/8",
        id="VPC range of loopback",
    ),
    pytest.param(
        [vpc("cidr: 169.254.0.0/16")],
        "6: network.vpc.cidr: 169.254.0.0/16 is in 169.254.0.0/16, which no VPC can have; "
        "take a range of 10.0.0.0/8",
        id="VPC range of link-local addresses",
    ),
    pytest.param(
        [vpc("cidr: 0.0.0.0/16")],
        "6: network.vpc.cidr: 0.0.0.0/16 is in 0.0.0.0/8, which no VPC can have; take a "
        "range of 10.0.0.0/8",
        id="VPC range of this network",
    ),
    pytest.param(
        [vpc("cidr: 240.0.0.0/16")],
        "6: network.vpc.cidr: 240.0.0.0/16 is in 240.0.0.0/4, which no VPC can have; take "
        "a range of 10.0.0.0/8",
        id="VPC range of class E",
    ),
    pytest.param(
        [existing_vpc(cidr="127.0.0.0/16")],
        "6: network.existing.cidr: 127.0.0.0/16 is in 127.0.0.0/8, which no VPC can have; "
        "take a range of 10.0.0.0/8",
        id="existing VPC with a reserved range",
    ),
    pytest.param(
        [existing_vpc(", compute_subnet_cidr: 192.168.0.0/24")],
        "6: network.existing.compute_subnet_cidr: 192.168.0.0/24 is not in cidr, "
        "10.0.0.0/16; correct one of them, and of a VPC with several ranges give the one "
        "that holds the subnet",
        id="subnet outside its VPC",
    ),
    pytest.param(
        [existing_vpc(", compute_subnet_cidr: junk")],
        "6: network.existing.compute_subnet_cidr: 'junk' is not an address range: "
        "Expected 4 octets in 'junk'; write 10.0.0.0/16",
        id="subnet range that is none",
    ),
    pytest.param(
        [
            existing_vpc(
                ", efa_security_group_id: sg-0123456789abcdef0, "
                "efa_group_allows_itself: true, "
                "egress_security_group_id: sg-0123456789abcdef0"
            )
        ],
        "6: network.existing.egress_security_group_id: is also efa_security_group_id, and "
        "a node takes a group once; leave it out and one is made",
        id="one group for both",
    ),
    pytest.param(
        [vpc("cidr: 10.0.0.0/28")],
        "6: network.vpc.cidr: cidr is 10.0.0.0/28 and a NAT gateway needs a public subnet "
        "beside the compute subnet; use a /27 or larger, or internet 'isolated'",
        id="F13 no room for a NAT gateway",
    ),
    pytest.param(
        [vpc("cidr: 10.0.0.0/28, internet: isolated")],
        "6: network.vpc.cidr: the compute subnet 10.0.0.0/28 has 11 addresses (5 more are "
        "AWS's) and 20 are needed; use a cidr of /26, or fewer nodes, or efa_interface: "
        "efa-only",
        id="F13 no room for the endpoints",
    ),
]
