"""Two versions of an institution file, without a template."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.unit.review.assemblies import CLUSTER, KAIT, kait, kait_text, write
from trainshed.config import ConfigError, Institution
from trainshed.config.load import load
from trainshed.records import OnChange
from trainshed.review import Effect, Review, review, review_many
from trainshed.review.compare import Version, compare
from trainshed.review.institution import key_changes

BLOCK = (
    "capacity: {kind: capacity_block, reservation_id: cr-0123456789abcdef0, "
    "end: 2027-03-01T11:30:00Z}"
)
RESERVED = "capacity: {kind: targeted_reservation, reservation_id: cr-0123456789abcdef0, nodes: 16}"


def files(tmp_path: Path, old: str, new: str, capacity: str = RESERVED) -> Review:
    """Review KAIT's file before and after a piece of its text becomes another."""
    text = kait_text().replace(RESERVED, capacity)
    assert old in text
    before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    before.write_text(text)
    after.write_text(text.replace(old, new))
    return review(before, after)


LUSTRE = "    capacity_gib: 230400"
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
    "nothing": ("name: kait", "name: kait", Effect.UNTOUCHED),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_key_has_its_verdict(name: str, tmp_path: Path) -> None:
    old, new, verdict = CHANGES[name]
    assert files(tmp_path, old, new).verdict == verdict


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
        Effect.LIVE,
    ),
    "disk of the head node": (
        "  login_nodes:",
        "  head_node: {root_volume: {gib: 400}}\n  login_nodes:",
        Effect.LIVE,
    ),
    "more login nodes": ("count: 2", "count: 3", Effect.LIVE),
    "login type": ("instance_type: m7i.xlarge", "instance_type: m7i.2xlarge", Effect.LIVE),
    "metrics": ("  slurm:", "  monitoring: {detailed: true}\n  slurm:", Effect.DRAINS_NODES),
    "setting of Slurm": (
        "slurm: {state_volume_gib: 100}",
        "slurm: {state_volume_gib: 100, extra_slurm_settings: {MaxJobCount: 5000}}",
        Effect.LIVE,
    ),
    "state disk": ("state_volume_gib: 100", "state_volume_gib: 200", Effect.LIVE),
    "queue renamed": ("    train:", "    gpus:", Effect.REPLACES_NODES),
    "nothing": ("name: bare", "name: bare", Effect.UNTOUCHED),
}


@pytest.mark.parametrize("name", BARE_CHANGES)
def test_a_changed_key_of_a_bare_fleet_has_its_verdict(name: str, tmp_path: Path) -> None:
    old, new, verdict = BARE_CHANGES[name]
    text = KAIT.with_name("bare.yaml").read_text().replace("nodes: 4\n  slurm", "nodes: 5\n  slurm")
    assert old in text
    before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    before.write_text(text)
    after.write_text(text.replace(old, new))
    found = review(before, after)
    assert found.verdict == verdict
    assert "ParallelCluster" not in str(found.findings)


def test_another_backend_is_another_cluster() -> None:
    base = load(KAIT)
    head = base.model_copy(update={"fleet": base.fleet.model_copy(update={"backend": "slurm"})})
    before, after = (Version(institution=each, is_file_only=True) for each in (base, head))
    (finding,) = compare("kait", before, after).findings
    assert (finding.place, finding.effect) == ("fleet.backend", Effect.REFUSED)


def test_a_new_end_of_a_block_is_live_and_on_the_timeline(tmp_path: Path) -> None:
    found = files(tmp_path, "2027-03-01", "2027-04-01", BLOCK)
    (finding,) = found.findings
    assert finding.place == "fleet.queues.compute.capacity.end"
    assert (finding.before, finding.after) == ("2027-03-01T11:30:00Z", "2027-04-01T11:30:00Z")
    assert finding.sentence == "Warnings move to the new end."
    (span,), (was,) = found.capacity, found.capacity_before
    assert str(was.drain) == "2027-03-01 10:50:00+00:00"
    assert str(span.drain) == "2027-04-01 10:50:00+00:00"


def test_what_leaves_data_behind_is_stopped(tmp_path: Path) -> None:
    found = files(tmp_path, "efa: true", "efa: false")
    assert [stop.flag for stop in found.stops] == ["--accept 'orphan-data:storage.lustre.efa'"]


def test_the_cluster_configuration_is_a_diff(tmp_path: Path) -> None:
    found = files(tmp_path, "max_nodes: 16", "max_nodes: 8")
    diffs = {file.name: file.diff for file in found.files}
    assert "-      MaxCount: 16\n" in diffs["cluster-config.yaml"]
    assert "+      MaxCount: 8\n" in diffs["cluster-config.yaml"]


def test_what_files_cannot_show_is_said(tmp_path: Path) -> None:
    found = files(tmp_path, "max_nodes: 16", "max_nodes: 8")
    assert found.left_out == (
        "Two institution files were compared: resources, rights and cdk-nag are in the "
        "templates, so review two synthesised assemblies for those.",
    )


def test_two_institutions_are_not_two_versions(tmp_path: Path) -> None:
    other = KAIT.with_name("minimal.yaml")
    with pytest.raises(ValueError, match=r"compare two versions of the same institution"):
        review(KAIT, other)


def test_a_file_and_an_assembly_do_not_compare(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give two of a kind"):
        review(KAIT, write(tmp_path, kait()))


def test_a_folder_without_a_manifest_is_no_assembly(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no assembly and no institution file; run cdk synth"):
        review(tmp_path, tmp_path)


def test_a_wrong_file_tells_its_faults(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="capacity_gib"):
        files(tmp_path, "capacity_gib: 230400", "capacity_gib: 1300")


def test_the_file_beside_an_assembly_gives_the_timeline_and_keys_that_no_template_has(
    tmp_path: Path,
) -> None:
    text = KAIT.read_text().replace(RESERVED, BLOCK)
    later = text.replace("2027-03-01", "2027-04-01")
    found = review(
        write(tmp_path / "a", kait(), rendered={"institution.yaml": text}),
        write(tmp_path / "b", kait(), rendered={"institution.yaml": later}),
    )
    assert [finding.place for finding in found.findings] == ["fleet.queues.compute.capacity.end"]
    assert found.capacity != found.capacity_before
    assert not found.files, "its diff is in the pull request already"


def test_a_file_of_another_time_is_left_out(tmp_path: Path) -> None:
    """The base may have been written for an earlier version of this library."""
    found = review(
        write(tmp_path / "a", kait(), rendered={"institution.yaml": "name: kait\nold_key: 1\n"}),
        write(tmp_path / "b", kait(), rendered={"institution.yaml": KAIT.read_text()}),
    )
    assert not found.findings
    assert found.left_out == (
        "The institution file of the base is not one that this version reads, so it was not "
        "compared.",
    )


def test_a_new_institution_is_new_and_a_lost_one_is_gone(tmp_path: Path) -> None:
    first = write(tmp_path / "a", {CLUSTER: kait()[CLUSTER]}, institution="one")
    second = write(tmp_path / "b", {"two-cluster": kait()[CLUSTER]}, institution="two")
    new, gone = review_many(first, second)
    assert (new.name, new.is_new, new.verdict) == ("two", True, Effect.LIVE)
    assert (gone.name, gone.is_gone, gone.verdict) == ("one", True, Effect.UNTOUCHED)


def test_every_key_of_the_records_says_what_its_change_does() -> None:
    institution = load(KAIT.with_name("full.yaml"))

    def other(path: str) -> Institution:
        return load(KAIT.with_name(path))

    found = list(key_changes(institution, other("kait.yaml")))
    assert len(found) > 20
    assert {type(change.on_change) for change in found} == {OnChange}


def test_what_comes_new_disturbs_nobody() -> None:
    data = yaml.safe_load(KAIT.read_text())
    queue = dict(data["fleet"]["queues"]["compute"])
    queue["capacity"] = {"kind": "on_demand"}
    base = load(KAIT)
    more = {**base.fleet.queues, "more": next(iter(base.fleet.queues.values()))}
    head = base.model_copy(update={"fleet": base.fleet.model_copy(update={"queues": more})})
    assert [(c.place, c.on_change) for c in key_changes(base, head)] == [
        ("fleet.queues.more", OnChange.LIVE)
    ]
    assert [(c.place, c.on_change) for c in key_changes(head, base)] == [
        ("fleet.queues.more", OnChange.STOPS_FLEET)
    ]
