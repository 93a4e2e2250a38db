"""Files that are right load; wrong ones are refused with every fault at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainshed.config import ConfigError, load

GOOD = """\
name: uni
account: "111122223333"
region: us-east-1
network:
  zone: us-east-1a
  vpc: {}
storage:
  lustre: {capacity_gib: 1200, throughput_mb_s_per_tib: 125}
fleet:
  queues:
    train:
      instance_type: p5.48xlarge
      max_nodes: 4
      capacity: {kind: on_demand}
"""


def faults(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "uni.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]


def edited(*edits: tuple[str, str]) -> str:
    text = GOOD
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} does not stand once in the file"
        text = text.replace(old, new)
    return text


def test_the_smallest_file_loads(tmp_path: Path) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(GOOD)
    institution = load(path)
    assert institution.cluster_name == "uni"
    assert institution.fleet.queues["train"].least_nodes == 0


BLOCK = "{kind: capacity_block, reservation_id: cr-0123456789abcdef0, end: 2027-03-01T00:00:00Z"
RESERVED = "{kind: targeted_reservation, reservation_id: cr-0123456789abcdef0"

REFUSED = [
    pytest.param(
        [("name: uni", "name: Uni_1")],
        "1: name: 'Uni_1' is not a name: it starts with a lower-case letter and has up to 30 "
        "lower-case letters, digits and hyphens",
        id="name with capitals",
    ),
    pytest.param(
        [('"111122223333"', "111122223333")],
        '2: account: must be text, got 111122223333; write "111122223333" in quotes',
        id="account without quotes",
    ),
    pytest.param(
        [("region: us-east-1", "region: us-east-1a")],
        "3: region: 'us-east-1a' is not a Region, such as us-east-1; that is a zone; "
        "its Region is us-east-1",
        id="zone for a Region",
    ),
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
        "6: network.vpc.cidr: 8.0.0.0/16 is public; take a range of 10.0.0.0/8, 172.16.0.0/12 "
        "or 192.168.0.0/16",
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
        [("p5.48xlarge", "p5.48xlrge")],
        "12: fleet.queues.train.instance_type: 'p5.48xlrge' is not in the table of instance "
        "types; did you mean 'p5.48xlarge' or 'p5.4xlarge' or 'p5e.48xlarge'? "
        "a new type can be described under instance_types",
        id="misspelt instance type",
    ),
    pytest.param(
        [("    train:", "    default:")],
        "11: fleet.queues.default: 'default' is not a queue name: it starts with a lower-case "
        "letter, has up to 25 lower-case letters, digits and hyphens, and is not 'default'",
        id="H105 queue named default",
    ),
    pytest.param(
        [("p5.48xlarge", "g5.xlarge\n      efa: true")],
        "13: fleet.queues.train.efa: g5.xlarge has no Elastic Fabric Adapter; take "
        "g5.12xlarge or g5.16xlarge or g5.24xlarge or g5.48xlarge or g5.8xlarge, "
        "or write efa: false",
        id="A12 EFA on a type without it",
    ),
    pytest.param(
        [("p5.48xlarge", "m7i.xlarge\n      nvme_dir: /scratch")],
        "13: fleet.queues.train.nvme_dir: m7i.xlarge has no local NVMe disks, so /scratch would "
        "silently be the root disk; leave the key out",
        id="T26 scratch without NVMe",
    ),
    pytest.param(
        [("{kind: on_demand}", BLOCK + ", placement_group: true}")],
        "14: fleet.queues.train.capacity.placement_group: unknown key; the keys here are end, "
        "instance_type, kind, nodes, reservation_id, start, zone",
        id="C22 placement group with a block",
    ),
    pytest.param(
        [("{kind: on_demand}", BLOCK + "}"), ("max_nodes: 4", "max_nodes: 4\n      min_nodes: 0")],
        "14: fleet.queues.train.min_nodes: 0 is not max_nodes, 4; a Capacity Block is paid "
        "for as a whole and ParallelCluster takes only equal numbers: leave min_nodes out",
        id="C27 block with fewer at least than at most",
    ),
    pytest.param(
        [("{kind: on_demand}", BLOCK + ", nodes: 2}")],
        "13: fleet.queues.train.max_nodes: 4 nodes of train are above the 2 of the reservation "
        "cr-0123456789abcdef0; lower max_nodes, or reserve more",
        id="C27 more nodes than the block holds",
    ),
    pytest.param(
        [("{kind: on_demand}", RESERVED + ", zone: us-east-1b}")],
        "14: fleet.queues.train.capacity.zone: the reservation is in us-east-1b and the network "
        "in us-east-1a; a cluster stands in the zone of its capacity",
        id="C28 reservation in another zone",
    ),
    pytest.param(
        [("{kind: on_demand}", RESERVED + ", instance_type: p5en.48xlarge}")],
        "14: fleet.queues.train.capacity.instance_type: the reservation is for p5en.48xlarge "
        "and the queue for p5.48xlarge; they have to be the same",
        id="C28 reservation of another type",
    ),
    pytest.param(
        [("p5.48xlarge", "g6.12xlarge"), ("{kind: on_demand}", BLOCK + "}")],
        "14: fleet.queues.train.capacity.kind: g6.12xlarge is not sold as Capacity Blocks; "
        "take targeted_reservation, on_demand or spot",
        id="C23 block of a type without blocks",
    ),
    pytest.param(
        [("{kind: on_demand}", "{kind: capacity_block, reservation_id: cr-0123456789abcdef0}")],
        "14: fleet.queues.train.capacity.end: required, but not given",
        id="C25 block without an end",
    ),
    pytest.param(
        [
            (
                "{kind: on_demand}",
                BLOCK + ", start: 2027-04-01T00:00:00Z}",
            )
        ],
        "14: fleet.queues.train.capacity: end is 2027-03-01T00:00:00Z, not after start, "
        "2027-04-01T00:00:00Z; copy both from the Capacity Block's page",
        id="C26 block that ends before it starts",
    ),
    pytest.param(
        [("{kind: on_demand}", "{kind: targeted_reservation}")],
        "14: fleet.queues.train.capacity: needs exactly one of reservation_id, "
        "resource_group_arn and create, got none",
        id="C24 reservation without a target",
    ),
    pytest.param(
        [("{kind: on_demand}", RESERVED + ", create: {nodes: 4}}")],
        "14: fleet.queues.train.capacity: needs exactly one of reservation_id, "
        "resource_group_arn and create, got reservation_id and create",
        id="C24 reservation with two targets",
    ),
    pytest.param(
        [
            (
                "{kind: on_demand}",
                "{kind: targeted_reservation, reservation_id: i-0123456789abcdef0}",
            )
        ],
        "14: fleet.queues.train.capacity.reservation_id: 'i-0123456789abcdef0' is not a Capacity "
        "Reservation id, cr- and 8 or 17 hexadecimal digits",
        id="C23 an id of another kind",
    ),
    pytest.param(
        [("{kind: on_demand}", "{kind: capacity_blok}")],
        "14: fleet.queues.train.capacity: kind 'capacity_blok' is not one of capacity_block, "
        "targeted_reservation, open_reservation, on_demand, spot; did you mean 'capacity_block'?",
        id="misspelt kind of capacity",
    ),
    pytest.param(
        [("fleet:\n", "fleet:\n  head_node: {instance_type: m7g.2xlarge}\n")],
        "13: fleet.queues.train.instance_type: p5.48xlarge is x86_64 and the head node, "
        "m7g.2xlarge, is arm64; take a head node of the same architecture",
        id="C37 two architectures",
    ),
    pytest.param(
        [("fleet:\n", "fleet:\n  head_node: {ssh: {allowed_cidr: 0.0.0.0/0}}\n")],
        "10: fleet.head_node.ssh.allowed_cidr: 0.0.0.0/0 opens SSH to 4,294,967,296 addresses; a "
        "/16 at most: give your institution's own range, or leave ssh out and use Session Manager",
        id="T14 SSH open to the world",
    ),
    pytest.param(
        [
            (
                "fleet:\n",
                "fleet:\n  head_node:\n"
                "    policies: ['arn:aws:iam::aws:policy/AdministratorAccess']\n",
            )
        ],
        "11: fleet.head_node.policies[0]: 'arn:aws:iam::aws:policy/AdministratorAccess' is not "
        "the ARN of a policy that a node may have; AdministratorAccess, PowerUserAccess and "
        "IAMFullAccess are refused, since every job on a node can use the node's rights",
        id="T13 AdministratorAccess",
    ),
    pytest.param(
        [
            (
                "fleet:\n",
                "fleet:\n  head_node: {root_volume: {iops: 3000, throughput_mib_s: 1000}}\n",
            )
        ],
        "10: fleet.head_node.root_volume.throughput_mib_s: 1000 needs 4000 iops or more, got "
        "3000; use throughput_mib_s up to 750",
        id="volume throughput above its operations",
    ),
    pytest.param(
        [("fleet:\n", "fleet:\n  parallelcluster: {head_bootstrap_timeout_minutes: 60}\n")],
        "10: fleet.parallelcluster.head_bootstrap_timeout_minutes: 60 is above 50, "
        "the most allowed",
        id="E65 longer than CloudFormation waits",
    ),
    pytest.param(
        [("      max_nodes: 4\n", "      max_nodes: 4\n      max_nodes: 8\n")],
        "13: fleet.queues.train.max_nodes: given twice, in lines 13 and 14; keep one",
        id="key given twice",
    ),
    pytest.param(
        [("max_nodes: 4", "max_node: 4")],
        "13: fleet.queues.train.max_node: unknown key; did you mean 'max_nodes'?",
        id="misspelt key",
    ),
    pytest.param(
        [("max_nodes: 4", "max_nodes: ${INSTANCES_NUM}")],
        "13: fleet.queues.train.max_nodes: '${INSTANCES_NUM}' holds '${'; this file has no "
        "substitution: write the value itself",
        id="a shell variable",
    ),
    pytest.param(
        [("max_nodes: 4", "max_nodes: 4\n      whole_node: yes")],
        "14: fleet.queues.train.whole_node: must be true or false, got 'yes'",
        id="yes for true",
    ),
    pytest.param(
        [("max_nodes: 4", "max_nodes: 4\n      nvme_dir: /fsx/scratch")],
        "14: fleet.queues.train.nvme_dir: /fsx/scratch and storage.mount_dir, /fsx, overlap; "
        "mount them apart, such as /opt/dlami/nvme and /fsx",
        id="H115 nested mounts",
    ),
    pytest.param(
        [("region: us-east-1", 'region: us-east-1\ntags: {"aws:cost": x}')],
        "4: tags.aws:cost: the prefix 'aws:' is reserved; rename the tag",
        id="reserved tag",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {region: us-west-2}\n  lustre: {")],
        "8: storage.bucket.region: is for an existing bucket; a new one is made in the "
        "institution's region",
        id="Region of a new bucket",
    ),
    pytest.param(
        [
            (
                "  lustre: {",
                "  bucket: {existing: data, region: us-west-2}\n"
                "  links: {In: {path: /in, prefix: in/, direction: import}}\n  lustre: {",
            )
        ],
        "9: storage.links.In.direction: 'import' needs a bucket in us-east-1, and storage.bucket "
        "is in us-west-2; use direction export, or copy the bucket",
        id="D48 import from another Region",
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
        "and 81 are needed; take a larger cidr, fewer nodes, or efa_interface: efa-only",
        id="A7 new subnet runs out of addresses",
    ),
    pytest.param(
        [
            (
                "{kind: on_demand}",
                BLOCK + "}\n    other:\n      instance_type: p5.48xlarge\n      max_nodes: 1\n"
                "      capacity: " + RESERVED + "}",
            )
        ],
        "18: fleet.queues.other.capacity.kind: cr-0123456789abcdef0 is a targeted_reservation here "
        "and a capacity_block in train; it is one of them: its page in the EC2 console says which",
        id="C23 one id as two kinds",
    ),
    pytest.param(
        [("vpc: {}", "vpc: {}\n  existing: {vpc_id: vpc-1}")],
        "7: network.existing.vpc_id: 'vpc-1' is not a VPC id, vpc- and 8 or 17 hexadecimal digits",
        id="malformed id",
    ),
    pytest.param(
        [("name: uni", "name: !!python/name:os.system uni")],
        "1: name: has the tag 'tag:yaml.org,2002:python/name:os.system'; write the plain value",
        id="YAML tag",
    ),
]


@pytest.mark.parametrize(("edits", "expected"), REFUSED)
def test_wrong_input_is_refused_with_its_line_key_and_mend(
    tmp_path: Path, edits: list[tuple[str, str]], expected: str
) -> None:
    found = faults(tmp_path, edited(*edits))
    assert expected in found, "\n".join(found)


def test_all_faults_are_told_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = edited(
        ("name: uni", "name: UNI"),
        ("zone: us-east-1a", "zone: eu-west-1a"),
        ("capacity_gib: 1200", "capacity_gib: 1300"),
        ("p5.48xlarge", "p5.48xlrge"),
        ("max_nodes: 4", "max_nodes: 4\n      efaa: true"),
    )
    lines = [int(fault.split(":")[0]) for fault in faults(tmp_path, text)]
    assert lines == [1, 5, 8, 12, 14]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1: the file holds no keys; start with 'name: my-institution'"),
        ("- a\n", "1: the file holds no keys; start with 'name: my-institution'"),
        (
            "name: a\n\tb: 1\n",
            "2: not YAML: found a tab character that violates indentation; "
            "mind the indentation and put special characters in quotes",
        ),
        (
            "a: &x\n  b: *x\n",
            "1: nested deeper than 32 keys, or more than 20000 of them; "
            "an alias that holds itself does this",
        ),
    ],
    ids=["empty", "a list", "a tab", "an endless alias"],
)
def test_what_is_no_institution_is_refused_in_one_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    assert faults(tmp_path, text) == [expected]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.yaml")


def test_yaml_is_read_without_hidden_conversions(tmp_path: Path) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(
        edited(("region: us-east-1", "region: us-east-1\ntags: {a: on, b: 12:30, c: 010}"))
    )
    assert load(path).tags == {"a": "on", "b": "12:30", "c": "010"}
