"""A changed key of an institution file and its verdict, for both backends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import KAIT, kait_text
from trainshed.review import Effect, Review, markdown, review
from trainshed.review.bare import verdict

BLOCK = (
    "capacity: {kind: capacity_block, reservation_id: cr-0123456789abcdef0, "
    "end: 2027-03-01T11:30:00Z}"
)
RESERVED = "capacity: {kind: targeted_reservation, reservation_id: cr-0123456789abcdef0, nodes: 16}"


# The block has room for one node more.
BARE = KAIT.with_name("bare.yaml").read_text().replace("        nodes: 4\n", "        nodes: 5\n")
LOGIN = BARE[BARE.index("  login_nodes:") : BARE.index("  queues:")]


def files(
    tmp_path: Path, old: str, new: str, capacity: str = RESERVED, text: str | None = None
) -> Review:
    """Review a file before and after a piece of its text becomes another. Default: KAIT's."""
    text = text or kait_text().replace(RESERVED, capacity)
    assert old in text
    before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    before.write_text(text)
    after.write_text(text.replace(old, new))
    return review(before, after)


LUSTRE = "    capacity_gib: 230400"
OWN_LUSTRE = f"  lustre:\n{LUSTRE}\n    throughput_mb_s_per_tib: 125\n    efa: true\n"
OTHER_LUSTRE = """  existing:
    file_system_id: fs-0123456789abcdef0
    dns_name: fs-0123456789abcdef0.fsx.ap-northeast-2.amazonaws.com
    mount_name: ab3tzbev
    security_group_id: sg-0123456789abcdef2
    efa: true
    capacity_gib: 38400
    throughput_mb_s_per_tib: 500
"""
VPC = "vpc: {cidr: 10.0.0.0/16}"
ALERTS = kait_text()[kait_text().index("alerts:\n") :]

CHANGES = {
    "tag": ('Grafana: "true"', 'Grafana: "false"', Effect.LIVE),
    "zone": ("zone: ap-northeast-2a", "zone: ap-northeast-2b", Effect.REFUSED),
    "network": ("cidr: 10.0.0.0/16", "cidr: 10.1.0.0/16", Effect.REFUSED),
    "larger storage": ("capacity_gib: 230400", "capacity_gib: 268800", Effect.LIVE),
    "smaller storage": ("capacity_gib: 230400", "capacity_gib: 115200", Effect.REFUSED),
    "no EFA on storage": ("efa: true", "efa: false", Effect.REPLACES_DATA),
    "link direction": ("direction: import", "direction: both", Effect.LIVE),
    "head node": ("instance_type: m7i.8xlarge", "instance_type: m7i.4xlarge", Effect.REFUSED),
    "system": ("os: ubuntu2204", "os: ubuntu2404", Effect.REFUSED),
    "shrink": ("max_nodes: 16", "max_nodes: 8", Effect.STOPS_FLEET),
    "queue renamed": ("    compute:", "    train:", Effect.STOPS_FLEET),
    "reservation": ("cr-0123456789abcdef0", "cr-0123456789abcdef1", Effect.DRAINS_NODES),
    "root volume": ("root_volume: {gib: 500}", "root_volume: {gib: 600}", Effect.DRAINS_NODES),
    "memory": ("memory_scheduling: true", "memory_scheduling: false", Effect.STOPS_FLEET),
    "metrics": ("detailed: true", "detailed: false", Effect.STOPS_FLEET),
    "dashboard": ("dashboard: true", "dashboard: false", Effect.LIVE),
    "strategy": ("strategy: DRAIN", "strategy: TERMINATE", Effect.LIVE),
    "gate on": (
        "    memory_scheduling: true",
        "    memory_scheduling: true\n    gate: {all_reduce_perf: /fsx/all_reduce_perf}",
        Effect.LIVE,
    ),
    "boot time": ("timeout_minutes: 50", "timeout_minutes: 40", Effect.REFUSED),
    # FSx for Lustre
    "storage throughput": (
        "throughput_mb_s_per_tib: 125\n    efa: true",
        "throughput_mb_s_per_tib: 250\n    efa: true",
        Effect.REPLACES_DATA,
    ),
    "metadata operations": (LUSTRE, f"{LUSTRE}\n    metadata_iops: 120000", Effect.LIVE),
    "compression": (LUSTRE, f"{LUSTRE}\n    compression: none", Effect.LIVE),
    "maintenance": (LUSTRE, f'{LUSTRE}\n    maintenance: "1:01:00"', Effect.LIVE),
    "root squash": (LUSTRE, f"{LUSTRE}\n    root_squash: {{uid: 65534}}", Effect.LIVE),
    "key of storage": (
        LUSTRE,
        f"{LUSTRE}\n    kms_key_arn: arn:aws:kms:ap-northeast-2:111122223333:key/"
        "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
        Effect.REPLACES_DATA,
    ),
    "link comes": (
        "  links:\n",
        "  links:\n    New: {path: /new, prefix: new/, direction: import}\n",
        Effect.LIVE,
    ),
    "link elsewhere": ("path: /datasets", "path: /data", Effect.REFUSED),
    "link leaves": (
        "    Datasets: {path: /datasets, prefix: datasets/, direction: import}\n",
        "",
        Effect.LIVE,
    ),
    "mounted elsewhere": ("mount_dir: /fsx", "mount_dir: /shared", Effect.REFUSED),
    # VPC
    "no way to the internet": (VPC, "vpc: {cidr: 10.0.0.0/16, internet: isolated}", Effect.REFUSED),
    "flow logs": (VPC, "vpc: {cidr: 10.0.0.0/16, flow_log_retention_days: 90}", Effect.LIVE),
    # Alerts
    "alerts leave": (ALERTS, "", Effect.LIVE),
    "channel": ("critical: C0ONCALL00", "critical: C0OTHER000", Effect.LIVE),
    "secret of Slack": ("slack-AbCdEf", "slack-GhIjKl", Effect.LIVE),
    "operators": ("[hpc@example.edu]", "[ops@example.edu]", Effect.LIVE),
    "budget": (
        "[hpc@example.edu]",
        "[hpc@example.edu]\n  budget_usd_per_month: 1000",
        Effect.LIVE,
    ),
    # What moves or leaves with its data
    "region": ("ap-northeast-2", "us-east-1", Effect.REPLACES_DATA),
    "file system of others": (OWN_LUSTRE, OTHER_LUSTRE, Effect.REPLACES_DATA),
    "bucket of others": (
        "\nfleet:",
        "  bucket: {existing: other-bucket}\nfleet:",
        Effect.REPLACES_DATA,
    ),
    "nothing": ("name: kait", "name: kait", Effect.UNTOUCHED),
}


BARE_CHANGES = {
    "more nodes": (
        "max_nodes: 4",
        "max_nodes: 5",
        Effect.LIVE,
    ),
    "fewer nodes": ("max_nodes: 4", "max_nodes: 3", Effect.DRAINS_NODES),
    "another type": (
        "instance_type: p5en.48xlarge",
        "instance_type: p5.48xlarge",
        Effect.DRAINS_NODES,
    ),
    "another block": ("cr-0123456789abcdef0", "cr-0123456789abcdef1", Effect.DRAINS_NODES),
    "block ends later": ("end: 2027-03-15", "end: 2027-03-16", Effect.LIVE),
    "image": ("ami-0123456789abcdef0", "ami-0123456789abcdef1", Effect.DRAINS_NODES),
    "scratch": ("max_nodes: 4", "max_nodes: 4\n      nvme_dir: /scratch", Effect.DRAINS_NODES),
    "root disk": (
        "max_nodes: 4",
        "max_nodes: 4\n      root_volume: {gib: 300}",
        Effect.DRAINS_NODES,
    ),
    "head node": (
        "  login_nodes:",
        "  head_node: {instance_type: m7i.4xlarge}\n  login_nodes:",
        Effect.PAUSES_NEW_JOBS,
    ),
    "disk of the head node": (
        "  login_nodes:",
        "  head_node: {root_volume: {gib: 400}}\n  login_nodes:",
        Effect.PAUSES_NEW_JOBS,
    ),
    "SSH to the head node": (
        "  login_nodes:",
        "  head_node: {ssh: {allowed_cidr: 10.0.0.0/16}}\n  login_nodes:",
        Effect.LIVE,
    ),
    "SSH by a key": (
        "  login_nodes:",
        "  head_node: {ssh: {allowed_cidr: 10.0.0.0/16, key_name: ops}}\n  login_nodes:",
        Effect.PAUSES_NEW_JOBS,
    ),
    "name of the image": ("20261006", "20261013", Effect.LIVE),
    "driver of the image": ("595.91.07", "595.92.01", Effect.LIVE),
    "more login nodes": ("count: 2", "count: 3", Effect.LIVE),
    "fewer login nodes": ("count: 2", "count: 1", Effect.ENDS_SESSIONS),
    "login type": ("instance_type: m7i.xlarge", "instance_type: m7i.2xlarge", Effect.LIVE),
    "metrics": ("  slurm:", "  monitoring: {detailed: true}\n  slurm:", Effect.DRAINS_NODES),
    "setting of Slurm": (
        "    state_volume_gib: 100",
        "    state_volume_gib: 100\n    extra_slurm_settings: {MaxJobCount: 5000}",
        Effect.LIVE,
    ),
    "state disk": ("state_volume_gib: 100", "state_volume_gib: 200", Effect.LIVE),
    "smaller state disk": ("state_volume_gib: 100", "state_volume_gib: 50", Effect.REFUSED),
    "gate off": ("gate: {minutes: 25}", "gate: {enabled: false}", Effect.LIVE),
    "gate's time": ("gate: {minutes: 25}", "gate: {minutes: 20}", Effect.LIVE),
    "login nodes leave": (LOGIN, "", Effect.ENDS_SESSIONS),
    "login nodes come": (
        "  queues:",
        "    other: {instance_type: m7i.xlarge}\n  queues:",
        Effect.LIVE,
    ),
    "region": ("us-east-1", "us-west-2", Effect.REPLACES_DATA),
    "queue renamed": ("    train:", "    gpus:", Effect.NEEDS_IDLE_NODES),
    "nothing": ("name: bare", "name: bare", Effect.UNTOUCHED),
}


TABLES = {"parallelcluster": CHANGES, "bare": BARE_CHANGES}
ROWS = [(table, name) for table, rows in TABLES.items() for name in rows]


@pytest.mark.parametrize(("table", "name"), ROWS)
def test_a_changed_key_has_its_verdict(table: str, name: str, tmp_path: Path) -> None:
    old, new, verdict = TABLES[table][name]
    found = files(tmp_path, old, new, text=BARE if table == "bare" else None)
    assert found.verdict == verdict
    assert table != "bare" or "ParallelCluster" not in str(found.findings)


def test_another_image_of_a_bare_fleet_replaces_its_head_node_as_well(tmp_path: Path) -> None:
    found = files(tmp_path, "ami-0123456789abcdef0", "ami-0123456789abcdef1", text=BARE)
    assert [each.effect for each in found.findings] == [Effect.DRAINS_NODES, Effect.PAUSES_NEW_JOBS]
    assert found.findings[1].sentence == (
        "The head node is replaced on the same state volume: running jobs go on, and none starts "
        "for some minutes."
    )
    assert (
        "\nNodes are replaced as they finish their jobs; no job is lost. The head node is away "
        in (markdown(found))
    )


def test_a_queue_that_goes_has_one_text_in_title_and_row(tmp_path: Path) -> None:
    found = files(tmp_path, "    train:", "    gpus:", text=BARE)
    title, row = markdown(found).splitlines()[2], found.findings[0].sentence
    assert title == "Nodes go; while one of them has jobs, the deployment is refused."
    assert "While one has jobs the deployment is refused, and nothing is changed" in row
    assert "terminated" not in title + row


@pytest.mark.parametrize(
    ("key", "after", "told"),
    [
        ("enabled", False, "Users get in within seconds, also where checks or all-reduce have"),
        ("enabled", True, "What is in use stays so; nodes that join are held until their checks"),
        ("tolerance", 0.9, "It counts from the next all-reduce on; nothing that is open closes."),
    ],
    ids=["off", "on", "threshold"],
)
def test_a_change_of_the_gate_says_what_becomes_of_users(key: str, after: Any, told: str) -> None:
    found = verdict(("fleet", "slurm", "gate", key), None, after)
    assert found is not None
    assert found[0] is Effect.LIVE and found[1].startswith(told)


@pytest.mark.parametrize(
    ("turned_on", "told"),
    [
        (True, "A queue in use stays open; one whose instances are all new is closed until its"),
        (False, "Users get in within seconds, also where the all-reduce has failed."),
    ],
    ids=["on", "off"],
)
def test_a_gate_of_parallelcluster_says_what_becomes_of_users(
    tmp_path: Path, turned_on: bool, told: str
) -> None:
    off, on = CHANGES["gate on"][:2]
    old, new = (off, on) if turned_on else (on, off)
    found = files(tmp_path, old, new, text=kait_text().replace(off, old))
    (finding,) = (each for each in found.findings if each.place == "fleet.parallelcluster.gate")
    assert finding.effect is Effect.LIVE and finding.sentence.startswith(told)
