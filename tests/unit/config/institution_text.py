"""A right institution file, and edits that make it wrong."""

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
