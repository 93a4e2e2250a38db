"""Two versions of an institution file, without a template."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.unit.review.assemblies import CLUSTER, KAIT, kait, kait_text, write
from tests.unit.review.test_key_changes import BLOCK, RESERVED, files
from trainshed.config import ConfigError, Institution
from trainshed.config.load import load
from trainshed.records import OnChange
from trainshed.review import Effect, review, review_many
from trainshed.review.bare import verdict
from trainshed.review.compare import Version, compare
from trainshed.review.institution import key_changes


def test_a_placement_group_of_a_bare_fleet_comes_with_the_next_node() -> None:
    told = verdict(("fleet", "queues", "train", "capacity", "placement_group"), False, True)
    assert told is not None
    assert told[0] is Effect.DRAINS_NODES


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


DATABASE = "  accounting:\n    create: {second_zone: ap-northeast-2c}\n"
ELSEWHERE = """  accounting:
    host: db.example.edu
    user: slurm
    password_secret_arn: arn:aws:secretsmanager:ap-northeast-2:111122223333:secret:db-AbCdEf
"""


def test_a_database_that_is_left_behind_is_stopped(tmp_path: Path) -> None:
    text = kait_text().replace("  monitoring:", f"{DATABASE}  monitoring:")
    found = files(tmp_path, DATABASE, ELSEWHERE, text=text)
    assert [stop.flag for stop in found.stops] == ["--accept 'orphan-data:fleet.accounting.create'"]
    assert "retained with users, limits and history" in found.stops[0].sentence


def test_another_region_is_empty(tmp_path: Path) -> None:
    found = files(tmp_path, "ap-northeast-2", "us-east-1")
    assert [(stop.rule, stop.place) for stop in found.stops] == [("orphan-data", "region")]
    assert [each.place for each in found.findings].count("region") == 1


SAID = {
    "termination_protection": (
        "name: kait\n",
        "name: kait\ntermination_protection: false\n",
        "The stacks may be deleted from now on.",
    ),
    "export_deletions": (
        "direction: export}",
        "direction: export, export_deletions: true}",
        "A file that is deleted takes its object with it.",
    ),
    "noncurrent_days": (
        "\nfleet:",
        "  bucket: {noncurrent_days: 1}\nfleet:",
        "What is older than 1 day is deleted: versions of objects that were overwritten or "
        "deleted.",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_a_live_key_says_what_cannot_be_had_again(name: str, tmp_path: Path) -> None:
    old, new, sentence = SAID[name]
    (finding,) = files(tmp_path, old, new).findings
    assert (finding.effect, finding.sentence) == (Effect.LIVE, sentence)
    assert finding.place.endswith(name)


def test_a_longer_time_is_no_loss(tmp_path: Path) -> None:
    (finding,) = files(tmp_path, "\nfleet:", "  bucket: {noncurrent_days: 365}\nfleet:").findings
    assert finding.sentence == "Applied while jobs run."


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


def test_an_institution_that_goes_or_is_renamed_leaves_its_data(tmp_path: Path) -> None:
    renamed = {name.replace("kait", "other"): each for name, each in kait().items()}
    first = write(tmp_path / "a", kait())
    new, gone = review_many(first, write(tmp_path / "b", renamed, institution="other"))
    assert (new.is_new, new.stops, gone.is_gone) == (True, (), True)
    (stop,) = gone.stops
    assert stop.flag == "--accept 'orphan-data:kait'"
    assert stop.sentence == (
        "It is no longer in the app, and with it the bucket, database and file system. "
        "What is deployed stays until somebody runs cdk destroy."
    )


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
