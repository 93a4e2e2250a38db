"""Files that are right load; wrong ones are refused with every fault at its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from trainshed.config import ConfigError, Spot, load

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

CREATE = "{kind: targeted_reservation, create: {nodes: 4}"
GROUP = "arn:aws:resource-groups:us-east-1:111122223333:group/p5"
SECRET = "arn:aws:secretsmanager:us-east-1:111122223333:secret:x-AbCdEf"
ALERTS = f"""\
alerts:
  slack_secret_arn: {SECRET}
  routes: {{critical: C0ONCALL00, warning: C0OPS00000, info: C0OPS00000}}
  operators: [hpc@example.edu]"""
ROUTES = "info: C0OPS00000}"
ULTRASERVER = [
    ("p5.48xlarge", "p6e-gb200.36xlarge"),
    ("fleet:\n", "fleet:\n  head_node: {instance_type: m7g.2xlarge}\n"),
]


def top(text: str) -> tuple[str, str]:
    return "region: us-east-1", f"region: us-east-1\n{text}"


def fleet(text: str) -> tuple[str, str]:
    return "fleet:\n", f"fleet:\n  {text}\n"


def queue(text: str) -> tuple[str, str]:
    return "max_nodes: 4", f"max_nodes: 4\n      {text}"


def capacity(text: str) -> tuple[str, str]:
    return "{kind: on_demand}", text


def two_queues(
    one: str, other: str, name: str = "two", kind: str = "p5.48xlarge"
) -> tuple[str, str]:
    second = f"{name}:\n      instance_type: {kind}\n      max_nodes: 4\n      capacity: {other}"
    return capacity(f"{one}\n    {second}")


def group(text: str = "", arn: str = GROUP) -> str:
    return f"{{kind: targeted_reservation, resource_group_arn: '{arn}'{text}}}"


def described(text: str = "", name: str = "p9.48xlarge", vcpus: int = 192) -> tuple[str, str]:
    facts = f"vcpus: {vcpus}, memory_mib: 2097152, sockets: 2{text}"
    return "fleet:\n", f"instance_types:\n  {name}: {{{facts}}}\nfleet:\n"


def vpc(text: str) -> tuple[str, str]:
    return "vpc: {}", f"vpc: {{{text}}}"


def existing_vpc(text: str = "", cidr: str = "10.0.0.0/16") -> tuple[str, str]:
    ids = "vpc_id: vpc-0123456789abcdef0, compute_subnet_id: subnet-0123456789abcdef0"
    return "vpc: {}", f"existing: {{{ids}, cidr: {cidr}{text}}}"


def existing_lustre(dns_name: str) -> tuple[str, str]:
    ids = "file_system_id: fs-0123456789abcdef0, security_group_id: sg-0123456789abcdef0"
    made = "lustre: {capacity_gib: 1200, throughput_mb_s_per_tib: 125}"
    return made, f"existing: {{{ids}, mount_name: fsx, dns_name: '{dns_name}'}}"


def policies(*arns: str) -> tuple[str, str]:
    return fleet(f"head_node: {{policies: [{', '.join(arns)}]}}")


def alerts(old: str = "", new: str = "") -> tuple[str, str]:
    return top(ALERTS.replace(old, new) if old else ALERTS)


def database(user: str = "u", host: str = "h", secret: str = SECRET) -> tuple[str, str]:
    return fleet(f"accounting: {{host: '{host}', user: '{user}', password_secret_arn: '{secret}'}}")


def pcluster(text: str) -> tuple[str, str]:
    return fleet(f"parallelcluster: {{{text}}}")


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
        "instance_type, kind, next_queue, nodes, reservation_id, start, zone",
        id="C22 placement group with a block",
    ),
    pytest.param(
        [("{kind: on_demand}", BLOCK + "}"), ("max_nodes: 4", "max_nodes: 4\n      min_nodes: 0")],
        "14: fleet.queues.train.min_nodes: 0 is not max_nodes, 4; a Capacity Block is paid "
        "for as a whole, so every node of it always runs: leave min_nodes out",
        id="C27 block with fewer at least than at most",
    ),
    pytest.param(
        [("{kind: on_demand}", BLOCK + ", nodes: 2}")],
        "13: fleet.queues.train.max_nodes: 4 nodes of train are above the 2 of the reservation "
        "cr-0123456789abcdef0; lower max_nodes, or reserve more",
        id="C27 more nodes than the block holds",
    ),
    pytest.param(
        [capacity(BLOCK + ", next_queue: train}")],
        "14: fleet.queues.train.capacity.next_queue: is 'train', and the fleet has no other queue; "
        "leave it out",
        id="jobs that go on nowhere",
    ),
    pytest.param(
        [two_queues(BLOCK + ", next_queue: tow}", "{kind: on_demand}")],
        "14: fleet.queues.train.capacity.next_queue: is 'tow'; use another queue of the fleet: two",
        id="jobs that go on in a queue that is not there",
    ),
    pytest.param(
        [
            two_queues(BLOCK + ", next_queue: two}", "{kind: on_demand}"),
            fleet(
                "accounting: {host: db.example, user: slurm, database: slurm, password_secret_arn: "
                f"'{SECRET}'}}\n  policy: {{partitions: {{long: {{queues: [train]}}}}}}"
            ),
        ],
        "16: fleet.queues.train.capacity.next_queue: is two, and partition long has train without "
        "it, so its jobs would wait; add two to the queues of the partition, or leave this out",
        id="jobs whose partition has not the next queue",
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
        "the ARN of a policy that a node may have; AdministratorAccess, PowerUserAccess, "
        "IAMFullAccess and the policies of job functions are refused, since every job on a node "
        "can use the node's rights",
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
        "and 81 are needed; use a cidr of /24, or fewer nodes, or efa_interface: efa-only",
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
    pytest.param(
        [top("? [a, b]\n: c")],
        "4: ?: a key is text, and not a list or keys itself",
        id="a key that is a list",
    ),
    pytest.param(
        [
            ("    train:\n", "    train: &t\n"),
            capacity("{kind: on_demand}\n    two:\n      <<: *t"),
        ],
        "16: fleet.queues.two.<<: merges are not supported; write the keys out",
        id="a merge",
    ),
    pytest.param(
        [("max_nodes: 4", "max_nodes: !!int four")],
        "13: fleet.queues.train.max_nodes: has the tag '!!int' and is 'four'; write the "
        "plain value",
        id="a tag with another value",
    ),
    pytest.param(
        [capacity("{kind: spot, max_price_usd_per_hour: !!float abc}")],
        "14: fleet.queues.train.capacity.max_price_usd_per_hour: has the tag '!!float' "
        "and is 'abc'; write the plain value",
        id="a fraction's tag with another value",
    ),
    pytest.param(
        [("name: uni", "name: !!binary dW5p")],
        "1: name: has the tag 'tag:yaml.org,2002:binary'; write the plain value",
        id="a tag of no plain value",
    ),
    pytest.param(
        [("max_nodes: 4", f"max_nodes: {'9' * 5000}")],
        "13: fleet.queues.train.max_nodes: 999999… has 5000 characters; a number here has "
        "30 at most",
        id="a number of 5,000 digits",
    ),
    pytest.param(
        [capacity("{kind: spot, max_price_usd_per_hour: 1e400}")],
        "14: fleet.queues.train.capacity.max_price_usd_per_hour: 1e400 is too large for a "
        "number; write a smaller one",
        id="a price without end",
    ),
    pytest.param(
        [alerts("example.edu]", "example.edu]\n  budget_usd_per_month: 1e999")],
        "8: alerts.budget_usd_per_month: 1e999 is too large for a number; write a smaller one",
        id="a budget without end",
    ),
    pytest.param(
        [pcluster("extra_slurm_settings: {MaxJobCount: true}")],
        "10: fleet.parallelcluster.extra_slurm_settings.MaxJobCount: must be text or a "
        "whole number, got true",
        id="a setting that is true",
    ),
    pytest.param(
        [pcluster("extra_slurm_settings: {MaxJobCount: {a: 1}}")],
        "10: fleet.parallelcluster.extra_slurm_settings.MaxJobCount: must be text or a "
        "whole number, got keys",
        id="a setting with keys",
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
        [pcluster('layer_bucket: mirror, layer_key: "a\\nb"')],
        "10: fleet.parallelcluster.layer_key: 'a\\nb' is not a key of S3 without blanks, such as "
        "a/layer.zip",
        id="a layer's key of two lines",
    ),
    pytest.param(
        [('"111122223333"', '"١١١١٢٢٢٢٣٣٣٣"')],
        "2: account: '١١١١٢٢٢٢٣٣٣٣' is not an account id, twelve digits in quotes",
        id="account in digits of another script",
    ),
    pytest.param(
        [("region: us-east-1", "region: us-esat-1"), ("us-east-1a", "us-esat-1a")],
        "3: region: 'us-esat-1' is no Region of AWS; did you mean us-west-1 or us-east-1?",
        id="a Region that does not exist",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: data, region: moon}\n  lustre: {")],
        "8: storage.bucket.region: 'moon' is not a Region, such as us-east-1",
        id="a bucket in no Region",
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
    pytest.param(
        [fleet("head_node: {ssh: {allowed_cidr: pl-0123456789abcdef0}}")],
        "10: fleet.head_node.ssh.allowed_cidr: 'pl-0123456789abcdef0' is not an address "
        "range: Expected 4 octets in 'pl-0123456789abcdef0'; write 10.0.0.0/16",
        id="SSH range that is none",
    ),
    pytest.param(
        [fleet("head_node: {ssh: {key_name: '', allowed_cidr: 10.0.0.0/24}}")],
        "10: fleet.head_node.ssh.key_name: '' is not the name of an EC2 key pair",
        id="key pair without a name",
    ),
    pytest.param(
        [described(vcpus=191)],
        "10: instance_types.p9.48xlarge.vcpus: 191 is no multiple of sockets (2) x "
        "threads_per_core (2); use 188 or 192",
        id="vCPUs that the sockets do not share",
    ),
    pytest.param(
        [described(vcpus=1)],
        "10: instance_types.p9.48xlarge.vcpus: 1 is no multiple of sockets (2) x "
        "threads_per_core (2); use 4",
        id="fewer vCPUs than threads",
    ),
    pytest.param(
        [described(", efa_cards: [9]")],
        "10: instance_types.p9.48xlarge.efa_cards: efa_cards names [9]; the network cards "
        "are 0 to 0",
        id="EFA on a card that is not there",
    ),
    pytest.param(
        [described(", efa_cards: [0, 0]")],
        "10: instance_types.p9.48xlarge.efa_cards: efa_cards is not in rising order, each "
        "card once",
        id="EFA twice on a card",
    ),
    pytest.param(
        [described(", efa_cards: [-1]")],
        "10: instance_types.p9.48xlarge.efa_cards: efa_cards names [-1]; the network "
        "cards are 0 to 0",
        id="EFA on a card below the first",
    ),
    pytest.param(
        [described(", gpus: 8")],
        "10: instance_types.p9.48xlarge.gpus: gpus, gpu_name and gpu_memory_mib go "
        "together: give all three or none",
        id="GPUs without a name",
    ),
    pytest.param(
        [described(", nvlink: true")],
        "10: instance_types.p9.48xlarge.nvlink: nvlink joins GPUs, and there are 0: leave it out",
        id="NVLink without GPUs",
    ),
    pytest.param(
        [described(", gpus: 8, gpu_memory_mib: 1, gpu_name: 'H200 x=1'")],
        "10: instance_types.p9.48xlarge.gpu_name: 'H200 x=1' is not a Slurm type: a "
        "lower-case letter, then up to 31 lower-case letters, digits, _ and -",
        id="a GPU name that Slurm cannot take",
    ),
    pytest.param(
        [described(", network_cards: 1000000000")],
        "10: instance_types.p9.48xlarge.network_cards: 1000000000 is above 128, the most allowed",
        id="more cards than any type has",
    ),
    pytest.param(
        [described(name="junk")],
        "10: instance_types.junk: 'junk' is not an instance type: family, dot and size in "
        "lower case, such as p5en.48xlarge",
        id="a type without a dot",
    ),
    pytest.param(
        [described(name="p5.48xlarge", vcpus=4)],
        "10: instance_types.p5.48xlarge: trainshed's own table has p5.48xlarge with vcpus "
        "192, not 4; leave the description out",
        id="a type that the table has otherwise",
    ),
    pytest.param(
        ULTRASERVER,
        "15: fleet.queues.train.capacity.kind: p6e-gb200.36xlarge is sold only as part of "
        "an UltraServer, in Capacity Blocks; take capacity_block",
        id="an UltraServer on demand",
    ),
    pytest.param(
        [*ULTRASERVER, capacity("{kind: spot}")],
        "15: fleet.queues.train.capacity.kind: p6e-gb200.36xlarge is sold only as part of "
        "an UltraServer, in Capacity Blocks; take capacity_block",
        id="an UltraServer as Spot",
    ),
    pytest.param(
        [*ULTRASERVER, capacity(CREATE + "}")],
        "15: fleet.queues.train.capacity.kind: p6e-gb200.36xlarge is sold only as part of "
        "an UltraServer, in Capacity Blocks; take capacity_block",
        id="an UltraServer reserved here",
    ),
    pytest.param(
        [*ULTRASERVER, capacity(BLOCK + "}")],
        "14: fleet.queues.train.max_nodes: 4 nodes of cr-0123456789abcdef0, an "
        "UltraServer's Capacity Block, which has 9 or 18 of p6e-gb200 and is used as a "
        "whole; use 9 or 18",
        id="a part of an UltraServer's block",
    ),
    pytest.param(
        [*ULTRASERVER, ("max_nodes: 4", "max_nodes: 9"), capacity(BLOCK + ", nodes: 10}")],
        "15: fleet.queues.train.capacity.nodes: 10 nodes of cr-0123456789abcdef0, an "
        "UltraServer's Capacity Block, which has 9 or 18 of p6e-gb200 and is used as a "
        "whole; use 9 or 18",
        id="an UltraServer's block of 10",
    ),
    pytest.param(
        [two_queues(RESERVED + "}", RESERVED + "}", kind="p4d.24xlarge")],
        "16: fleet.queues.two.instance_type: p4d.24xlarge and, in queue train, "
        "p5.48xlarge are to run in cr-0123456789abcdef0; a reservation has one instance "
        "type: take another reservation",
        id="one reservation for two types",
    ),
    pytest.param(
        [two_queues(RESERVED + ", nodes: 8}", RESERVED + ", nodes: 9}")],
        "18: fleet.queues.two.capacity.nodes: 9 here and 8 in queue train, of one "
        "reservation, cr-0123456789abcdef0; write the same in both, or in one of them "
        "alone",
        id="one reservation of two sizes",
    ),
    pytest.param(
        [two_queues(RESERVED + ", zone: us-east-1a}", RESERVED + ", zone: use1-az2}")],
        "18: fleet.queues.two.capacity.zone: use1-az2 here and us-east-1a in queue train, "
        "of one reservation, cr-0123456789abcdef0; write the same in both, or in one of "
        "them alone",
        id="one reservation in two zones",
    ),
    pytest.param(
        [two_queues(BLOCK + "}", BLOCK.replace("2027", "2028") + "}")],
        "18: fleet.queues.two.capacity.end: 2028-03-01T00:00:00Z here and "
        "2027-03-01T00:00:00Z in queue train, of one reservation, cr-0123456789abcdef0; "
        "write the same in both, or in one of them alone",
        id="one block with two ends",
    ),
    pytest.param(
        [two_queues(group(", nodes: 6"), group())],
        "17: fleet.queues.two.max_nodes: 8 nodes of train, two are above the 6 of the "
        "reservation arn:aws:resource-groups:us-east-1:111122223333:group/p5; lower "
        "max_nodes, or reserve more",
        id="more nodes than a resource group holds",
    ),
    pytest.param(
        [("    train:", "    a-b:"), two_queues(CREATE + "}", CREATE + "}", "a--b")],
        "15: fleet.queues.a--b: differs from queue a-b in its hyphens alone, and both "
        "have a reservation, which is named after its queue; take another name",
        id="two queues with one construct id",
    ),
    pytest.param(
        [capacity(CREATE + ", nodes: 9}")],
        "14: fleet.queues.train.capacity.nodes: is for an existing reservation, and "
        "create makes one of the queue's type in the network's zone, with its own nodes; "
        "leave it out",
        id="size of a reservation that is still to be made",
    ),
    pytest.param(
        [capacity(RESERVED + ", zone: usw2-az1}")],
        "14: fleet.queues.train.capacity.zone: the reservation is in usw2-az1 and the "
        "network in us-east-1a; a cluster stands in the zone of its capacity",
        id="C28 zone id of a reservation in another Region",
    ),
    pytest.param(
        [capacity(RESERVED + ", zone: narnia}")],
        "14: fleet.queues.train.capacity.zone: 'narnia' is no Availability Zone; use its "
        "name, us-east-1a, or id, use1-az4",
        id="C28 a reservation in no zone",
    ),
    pytest.param(
        [capacity(BLOCK.replace("2027", "0001") + "}")],
        "14: fleet.queues.train.capacity.end: 0001-03-01T00:00:00Z is in the year 1; use "
        "one from 2018 to 2099, as in 2027-03-01T11:30:00Z",
        id="C26 a block of the year 1",
    ),
    pytest.param(
        [
            (
                "mb_s_per_tib: 125",
                "mb_s_per_tib: 125, kms_key_arn: 'arn:aws:kms:eu-west-1:111122223333:key/a'",
            )
        ],
        "8: storage.lustre.kms_key_arn: arn:aws:kms:eu-west-1:111122223333:key/a is of "
        "the Region eu-west-1, and the institution is of us-east-1; use one of us-east-1",
        id="key of another Region",
    ),
    pytest.param(
        [alerts("secretsmanager:us-east-1", "secretsmanager:eu-west-1")],
        "5: alerts.slack_secret_arn: "
        "arn:aws:secretsmanager:eu-west-1:111122223333:secret:x-AbCdEf is of the Region "
        "eu-west-1, and the institution is of us-east-1; use one of us-east-1",
        id="secret of another Region",
    ),
    pytest.param(
        [alerts("111122223333", "999999999999")],
        "5: alerts.slack_secret_arn: "
        "arn:aws:secretsmanager:us-east-1:999999999999:secret:x-AbCdEf is of the account "
        "999999999999, and the institution is of 111122223333; use one of 111122223333",
        id="secret of another account",
    ),
    pytest.param(
        [database(secret=SECRET.replace("us-east-1", "eu-west-1"))],
        "10: fleet.accounting.password_secret_arn: "
        "arn:aws:secretsmanager:eu-west-1:111122223333:secret:x-AbCdEf is of the Region "
        "eu-west-1, and the institution is of us-east-1; use one of us-east-1",
        id="database secret of another Region",
    ),
    pytest.param(
        [database(secret=SECRET.replace("x-AbCdEf", "*"))],
        "10: fleet.accounting.password_secret_arn: "
        "'arn:aws:secretsmanager:us-east-1:111122223333:secret:*' is not the ARN of a "
        "secret, arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME",
        id="a secret that is any",
    ),
    pytest.param(
        [capacity(group(arn=GROUP.replace("111122223333", "999999999999")))],
        "14: fleet.queues.train.capacity.resource_group_arn: "
        "arn:aws:resource-groups:us-east-1:999999999999:group/p5 is of the account "
        "999999999999, and the institution is of 111122223333; use one of 111122223333",
        id="resource group of another account",
    ),
    pytest.param(
        [pcluster("permissions_boundary_arn: 'arn:aws:iam::999999999999:policy/b'")],
        "10: fleet.parallelcluster.permissions_boundary_arn: "
        "arn:aws:iam::999999999999:policy/b is of the account 999999999999, and the "
        "institution is of 111122223333; use one of 111122223333",
        id="boundary of another account",
    ),
    pytest.param(
        [policies("'arn:aws-us-gov:iam::aws:policy/AmazonS3ReadOnlyAccess'")],
        "10: fleet.head_node.policies[0]: "
        "arn:aws-us-gov:iam::aws:policy/AmazonS3ReadOnlyAccess is of the partition "
        "aws-us-gov, and the institution is of aws; use one of aws",
        id="policy of another partition",
    ),
    pytest.param(
        [policies("'arn:aws:iam::aws:policy/x/AdministratorAccess'")],
        "10: fleet.head_node.policies[0]: 'arn:aws:iam::aws:policy/x/AdministratorAccess' "
        "is not the ARN of a policy that a node may have; AdministratorAccess, "
        "PowerUserAccess, IAMFullAccess and the policies of job functions are refused, "
        "since every job on a node can use the node's rights",
        id="T13 AdministratorAccess under a path",
    ),
    pytest.param(
        [policies("'arn:aws:iam::aws:policy/job-function/SystemAdministrator'")],
        "10: fleet.head_node.policies[0]: "
        "'arn:aws:iam::aws:policy/job-function/SystemAdministrator' is not the ARN of a "
        "policy that a node may have; AdministratorAccess, PowerUserAccess, "
        "IAMFullAccess and the policies of job functions are refused, since every job on "
        "a node can use the node's rights",
        id="T13 policy of a job function",
    ),
    pytest.param(
        [policies("'arn:aws:iam::aws:policy/A'", "'arn:aws:iam::aws:policy/A'")],
        "10: fleet.head_node.policies[1]: arn:aws:iam::aws:policy/A is listed twice; leave one out",
        id="a policy listed twice",
    ),
    pytest.param(
        [fleet("login_nodes: {web: {policies: ['arn:aws:iam::999999999999:policy/A']}}")],
        "10: fleet.login_nodes.web.policies[0]: arn:aws:iam::999999999999:policy/A is of the "
        "account 999999999999, and the institution is of 111122223333; use one of 111122223333",
        id="a login pool's policy of another account",
    ),
    pytest.param(
        [policies(*(f"'arn:aws:iam::111122223333:policy/p{n}'" for n in range(30)))],
        "10: fleet.head_node.policies: 30 policies; a role takes 22 beside those that "
        "every node has: join some into one policy",
        id="more policies than a role takes",
    ),
    pytest.param(
        [top("tags: {'': x}")],
        "4: tags.: the key has 0 characters; write one of 1 to 128",
        id="a tag without a key",
    ),
    pytest.param(
        [top("tags: {'Own<er>': x}")],
        "4: tags.Own<er>: the key holds '<'; use letters, digits, spaces and _.:/=+-@ alone",
        id="a tag with brackets",
    ),
    pytest.param(
        [top('tags: {a: "x\\ny"}')],
        "4: tags.a: the value holds '\\n'; use letters, digits, spaces and _.:/=+-@ alone",
        id="a tag of two lines",
    ),
    pytest.param(
        [top("tags: {Owner: a, owner: b}")],
        "4: tags.owner: differs from 'Owner' in case alone, and IAM has one tag of a "
        "name; leave one out",
        id="two tags of one name",
    ),
    pytest.param(
        [top(f"tags: {{a: {'x' * 300}}}")],
        "4: tags.a: the value has 300 characters; write one of 0 to 256",
        id="a tag of 300 characters",
    ),
    pytest.param(
        [fleet("cluster_name: uni-cluster")],
        "10: fleet.cluster_name: 'uni-cluster' is the name of one of the institution's "
        "own stacks, uni-foundation and uni-cluster, and ParallelCluster makes a stack "
        "of the cluster's name; take another",
        id="cluster named like a stack",
    ),
    pytest.param(
        [fleet("cluster_name: Uni-Foundation")],
        "10: fleet.cluster_name: 'Uni-Foundation' is the name of one of the institution's "
        "own stacks, uni-foundation and uni-cluster, and ParallelCluster makes a stack "
        "of the cluster's name; take another",
        id="cluster named like the foundation",
    ),
    pytest.param(
        [queue("nvme_dir: /etc")],
        "14: fleet.queues.train.nvme_dir: /etc belongs to the system; use another, such "
        "as /opt/dlami/nvme",
        id="I115 scratch over the system",
    ),
    pytest.param(
        [queue("nvme_dir: /home")],
        "14: fleet.queues.train.nvme_dir: /home would hide the users' homes; use another, "
        "such as /opt/dlami/nvme",
        id="I115 scratch over the homes",
    ),
    pytest.param(
        [queue("nvme_dir: /opt/slurm")],
        "14: fleet.queues.train.nvme_dir: /opt/slurm belongs to the system; use another, "
        "such as /opt/dlami/nvme",
        id="I115 scratch over Slurm",
    ),
    pytest.param(
        [queue("nvme_dir: /opt/aws/bin")],
        "14: fleet.queues.train.nvme_dir: /opt/aws/bin belongs to the system, as all of "
        "/opt/aws does; use another, such as /opt/dlami/nvme",
        id="I115 scratch over ParallelCluster's tools",
    ),
    pytest.param(
        [queue("nvme_dir: /tmp/x")],
        "14: fleet.queues.train.nvme_dir: /tmp/x lies below /tmp, which is emptied at "
        "each boot; use another, such as /opt/dlami/nvme",
        id="I115 scratch that is emptied at boot",
    ),
    pytest.param(
        [queue("nvme_dir: /opt/../etc")],
        "14: fleet.queues.train.nvme_dir: /opt/../etc has '.' or '..' in it; write it out",
        id="I115 scratch around a reserved directory",
    ),
    pytest.param(
        [existing_lustre("fs-0123456789abcdef0.fsx.eu-west-1.amazonaws.com")],
        "8: storage.existing.dns_name: fs-0123456789abcdef0.fsx.eu-west-1.amazonaws.com "
        "is not in us-east-1; write fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        id="D57 name of a file system in another Region",
    ),
    pytest.param(
        [existing_lustre("fs-0123456789abcdef0.fsx.; rm -rf /")],
        "8: storage.existing.dns_name: 'fs-0123456789abcdef0.fsx.; rm -rf /' is not the "
        "DNS name of a file system, such as "
        "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        id="D57 name of a file system with a command",
    ),
    pytest.param(
        [
            (
                "  lustre: {",
                "  bucket: {existing: data, region: us-west-2}\n"
                "  links: {In: {path: /in, prefix: in/, direction: import, bucket: data}}\n"
                "  lustre: {",
            )
        ],
        "9: storage.links.In.direction: 'import' needs a bucket in us-east-1, and "
        "storage.bucket is in us-west-2; use direction export, or copy the bucket",
        id="D48 the bucket by its name",
    ),
    pytest.param(
        [alerts(ROUTES, "info: C0OPS00000, institutions: {nobody: {critical: C0FULL0000}}}")],
        "6: alerts.routes.institutions.nobody: 'nobody' is not this institution, and only "
        "its alerts come here; write uni, or leave it out",
        id="routes of another institution",
    ),
    pytest.param(
        [
            alerts(
                ROUTES,
                "info: C0OPS00000, quiet_hours: {start: '22:00', end: '22:00', timezone: UTC, "
                "channel: C0QUIET000}}",
            )
        ],
        "6: alerts.routes.quiet_hours.end: is 22:00, as start is, so there are no quiet "
        "hours; use another time",
        id="quiet hours of no length",
    ),
    pytest.param(
        [alerts("[hpc@example.edu]", "[a@b.co, A@b.co]")],
        "7: alerts.operators[1]: A@b.co is listed twice; leave one out",
        id="F13 an operator listed twice",
    ),
    pytest.param(
        [alerts("example.edu]", "example.edu]\n  runbook_url: 'javascript:alert(1)'")],
        "8: alerts.runbook_url: 'javascript:alert(1)' is not the address of a page, such "
        "as https://hpc.example.edu/runbooks",
        id="runbooks that are a script",
    ),
    pytest.param(
        [database(user="a b;c")],
        "10: fleet.accounting.user: 'a b;c' is not a database user: up to 32 letters, "
        "digits, _ . $ @ -",
        id="a database user with a blank",
    ),
    pytest.param(
        [database(host="h:99999")],
        "10: fleet.accounting.host: 'h:99999' is not a host, with its port (1 to 65535) "
        "where that is not 3306, without scheme: db.example.edu:3306",
        id="a port above all ports",
    ),
    pytest.param(
        [pcluster("suppress_validators: [junk]")],
        "10: fleet.parallelcluster.suppress_validators[0]: 'junk' is not ALL or a "
        "validator, such as type:AmiOsCompatibleValidator",
        id="a validator that is none",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: a..b}\n  lustre: {")],
        "8: storage.bucket.existing: 'a..b' is not a bucket name: 3 to 63 lower-case "
        "letters, digits, dots and hyphens, no dot beside another dot or a hyphen, no IP "
        "address, and none of S3's reserved beginnings and ends",
        id="bucket with two dots",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: 192.168.1.1}\n  lustre: {")],
        "8: storage.bucket.existing: '192.168.1.1' is not a bucket name: 3 to 63 "
        "lower-case letters, digits, dots and hyphens, no dot beside another dot or a "
        "hyphen, no IP address, and none of S3's reserved beginnings and ends",
        id="bucket like an address",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: a.-b}\n  lustre: {")],
        "8: storage.bucket.existing: 'a.-b' is not a bucket name: 3 to 63 lower-case "
        "letters, digits, dots and hyphens, no dot beside another dot or a hyphen, no IP "
        "address, and none of S3's reserved beginnings and ends",
        id="bucket with a dot beside a hyphen",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: foo-s3alias}\n  lustre: {")],
        "8: storage.bucket.existing: 'foo-s3alias' is not a bucket name: 3 to 63 "
        "lower-case letters, digits, dots and hyphens, no dot beside another dot or a "
        "hyphen, no IP address, and none of S3's reserved beginnings and ends",
        id="bucket that is an alias",
    ),
]


@pytest.mark.parametrize(("edits", "expected"), REFUSED)
def test_wrong_input_is_refused_with_its_line_key_and_mend(
    tmp_path: Path, edits: list[tuple[str, str]], expected: str
) -> None:
    found = faults(tmp_path, edited(*edits))
    assert expected in found, "\n".join(found)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(vpc("cidr: 100.64.0.0/16"), id="shared address space"),
        pytest.param(existing_vpc(cidr="52.0.0.0/16"), id="existing VPC with a public range"),
        pytest.param(
            existing_vpc(", compute_subnet_cidr: 10.0.64.0/18"), id="subnet inside its VPC"
        ),
        pytest.param(vpc("cidr: 10.0.0.0/26, internet: isolated"), id="room for the endpoints"),
        pytest.param(described(vcpus=188), id="a type of its own"),
        pytest.param(
            top(
                "instance_types:\n  m7i.2xlarge: {vcpus: 8, memory_mib: 32768, "
                "interfaces_per_card: 4}"
            ),
            id="a type as the table has it",
        ),
        pytest.param(two_queues(RESERVED + ", nodes: 8}", RESERVED + "}"), id="one reservation"),
        pytest.param(queue("nvme_dir: /mnt/scratch"), id="scratch below a reserved directory"),
        pytest.param(alerts(ROUTES, "info: C0OPS00000, institutions: {uni: {}}}"), id="own routes"),
        pytest.param(alerts("runbook", "runbook"), id="alerts"),
        pytest.param(top("tags: {Kostenstelle Müller: '4711 / a.b:c=d+e-f@g_h'}"), id="a tag"),
    ],
)
def test_this_file_is_right(tmp_path: Path, edit: tuple[str, str]) -> None:
    path = tmp_path / "uni.yaml"
    path.write_text(edited(edit))
    load(path)


def test_a_price_from_python_is_finite() -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Spot(max_price_usd_per_hour=float("inf"))


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
