"""What becomes of file systems, networks, buckets, topics and capacity when a template changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import (
    CLUSTER,
    FOUNDATION,
    Stacks,
    changed,
    id_of,
    kait,
    of_type,
    write,
)
from trainshed.review import Action, Effect, MissingSchemasError, review

LUSTRE, BUCKET = "AWS::FSx::FileSystem", "AWS::S3::Bucket"


def lustre(stacks: Stacks) -> Any:
    return of_type(stacks[FOUNDATION], LUSTRE)


def settings(stacks: Stacks) -> Any:
    return lustre(stacks)["Properties"]["LustreConfiguration"]


def bucket(stacks: Stacks) -> Any:
    return of_type(stacks[FOUNDATION], BUCKET)


def topic(stacks: Stacks) -> Any:
    return of_type(stacks[CLUSTER], "AWS::SNS::Topic", "AlertsTopic")


def environment(stacks: Stacks) -> Any:
    function = of_type(stacks[CLUSTER], "AWS::Lambda::Function", "AlertsNotifier")
    return function["Properties"]["Environment"]["Variables"]


def no_alerts(stacks: Stacks) -> None:
    resources = stacks[CLUSTER]["Resources"]
    for id in [id for id in resources if id.startswith("Alerts")]:
        del resources[id]


def add(stack: str, id: str, resource_type: str, **properties: Any) -> Callable[[Stacks], object]:
    resource = {"Type": resource_type, "Properties": properties}
    return lambda s: s[stack]["Resources"].update({id: resource})


def drop(stack: str, resource_type: str, part: str = "") -> Callable[[Stacks], object]:
    return lambda s: s[stack]["Resources"].pop(id_of(s[stack], resource_type, part))


def unprotected(resource: Any) -> None:
    resource.update(DeletionPolicy="Delete", UpdateReplacePolicy="Delete")


CHANGES: dict[str, tuple[Callable[[Stacks], object], Effect]] = {
    # FSx for Lustre
    "lustre grows": (
        lambda s: lustre(s)["Properties"].update(StorageCapacity=460800),
        Effect.LIVE,
    ),
    "lustre shrinks": (
        lambda s: lustre(s)["Properties"].update(StorageCapacity=115200),
        Effect.REFUSED,
    ),
    "lustre throughput": (
        lambda s: settings(s).update(PerUnitStorageThroughput=250),
        Effect.REPLACES_DATA,
    ),
    "lustre without EFA": (lambda s: settings(s).pop("EfaEnabled"), Effect.REPLACES_DATA),
    "lustre of another kind": (
        lambda s: settings(s).update(DeploymentType="SCRATCH_2"),
        Effect.REPLACES_DATA,
    ),
    "lustre with another key": (
        lambda s: lustre(s)["Properties"].update(KmsKeyId="arn:aws:kms:::key/1"),
        Effect.REPLACES_DATA,
    ),
    "lustre compression": (lambda s: settings(s).update(DataCompressionType="NONE"), Effect.LIVE),
    "lustre maintenance": (
        lambda s: settings(s).update(WeeklyMaintenanceStartTime="1:01:00"),
        Effect.LIVE,
    ),
    "lustre backups": (
        lambda s: settings(s).update(AutomaticBackupRetentionDays=7),
        Effect.LIVE,
    ),
    "lustre metadata": (
        lambda s: settings(s).update(
            MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": 24000}
        ),
        Effect.LIVE,
    ),
    "lustre in another subnet": (
        lambda s: lustre(s)["Properties"].update(SubnetIds=["subnet-0"]),
        Effect.REPLACES_DATA,
    ),
    "lustre on other disks": (
        lambda s: lustre(s)["Properties"].update(StorageType="HDD"),
        Effect.REPLACES_DATA,
    ),
    "lustre of another version": (
        lambda s: lustre(s)["Properties"].update(FileSystemTypeVersion="2.12"),
        Effect.REPLACES_DATA,
    ),
    "lustre log level": (
        lambda s: settings(s).update(LogConfiguration={"Level": "DISABLED"}),
        Effect.LIVE,
    ),
    "link comes": (
        add(FOUNDATION, "New", "AWS::FSx::DataRepositoryAssociation", FileSystemPath="/new"),
        Effect.LIVE,
    ),
    "lustre leaves": (drop(FOUNDATION, LUSTRE), Effect.REPLACES_DATA),
    "link direction": (
        lambda s: of_type(s[FOUNDATION], "AWS::FSx::DataRepositoryAssociation", "Datasets")[
            "Properties"
        ].update(S3={"AutoExportPolicy": {"Events": ["NEW"]}}),
        Effect.LIVE,
    ),
    "link elsewhere": (
        lambda s: of_type(s[FOUNDATION], "AWS::FSx::DataRepositoryAssociation", "Datasets")[
            "Properties"
        ].update(FileSystemPath="/other"),
        Effect.LIVE,
    ),
    "link leaves": (
        drop(FOUNDATION, "AWS::FSx::DataRepositoryAssociation", "Datasets"),
        Effect.LIVE,
    ),
    # S3
    "bucket renamed": (
        lambda s: bucket(s)["Properties"].update(BucketName="other"),
        Effect.REPLACES_DATA,
    ),
    "bucket lifecycle": (
        lambda s: bucket(s)["Properties"].pop("LifecycleConfiguration"),
        Effect.LIVE,
    ),
    "bucket leaves": (drop(FOUNDATION, BUCKET), Effect.REPLACES_DATA),
    # Accounting database
    "database leaves": (drop(FOUNDATION, "AWS::RDS::DBCluster"), Effect.REPLACES_DATA),
    "database encrypted otherwise": (
        lambda s: of_type(s[FOUNDATION], "AWS::RDS::DBCluster")["Properties"].update(
            KmsKeyId="arn:aws:kms:::key/1"
        ),
        Effect.REPLACES_DATA,
    ),
    "database of another capacity": (
        lambda s: of_type(s[FOUNDATION], "AWS::RDS::DBCluster")["Properties"].update(
            ServerlessV2ScalingConfiguration={"MinCapacity": 1, "MaxCapacity": 8}
        ),
        Effect.LIVE,
    ),
    "instance of the database leaves": (drop(FOUNDATION, "AWS::RDS::DBInstance"), Effect.LIVE),
    # VPC
    "VPC range": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::VPC")["Properties"].update(
            CidrBlock="10.9.0.0/16"
        ),
        Effect.REPLACES_DATA,
    ),
    "compute subnet range": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::Subnet", "Compute")["Properties"].update(
            CidrBlock="10.0.0.0/18"
        ),
        Effect.REPLACES_DATA,
    ),
    "public subnet range": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::Subnet", "Public")["Properties"].update(
            CidrBlock="10.0.200.0/28"
        ),
        Effect.REFUSED,
    ),
    "flow log kept shorter": (
        lambda s: of_type(s[FOUNDATION], "AWS::Logs::LogGroup", "FlowLogs")["Properties"].update(
            RetentionInDays=30
        ),
        Effect.LIVE,
    ),
    "endpoint leaves": (drop(FOUNDATION, "AWS::EC2::VPCEndpoint"), Effect.LIVE),
    "endpoint comes": (
        add(FOUNDATION, "New", "AWS::EC2::VPCEndpoint", ServiceName="com.amazonaws.x.ecr"),
        Effect.LIVE,
    ),
    "NAT gateway leaves": (drop(FOUNDATION, "AWS::EC2::NatGateway"), Effect.LIVE),
    "NAT gateway in another subnet": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::NatGateway")["Properties"].update(
            SubnetId="subnet-0"
        ),
        Effect.LIVE,
    ),
    "egress rule": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::SecurityGroup", "Egress")["Properties"][
            "SecurityGroupEgress"
        ].pop(),
        Effect.LIVE,
    ),
    "group described anew": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::SecurityGroup", "Egress")["Properties"].update(
            GroupDescription="other"
        ),
        Effect.LIVE,
    ),
    "flow log leaves": (drop(FOUNDATION, "AWS::EC2::FlowLog"), Effect.LIVE),
    "DNS off": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::VPC")["Properties"].update(
            EnableDnsHostnames=False
        ),
        Effect.LIVE,
    ),
    # Alerts
    "topic renamed": (lambda s: topic(s)["Properties"].update(TopicName="other"), Effect.LIVE),
    "topic leaves": (drop(CLUSTER, "AWS::SNS::Topic", "AlertsTopic"), Effect.LIVE),
    "alarm threshold": (
        lambda s: of_type(s[CLUSTER], "AWS::CloudWatch::Alarm", "FsxSpaceLow")["Properties"].update(
            Threshold=1
        ),
        Effect.LIVE,
    ),
    "alarm leaves": (drop(CLUSTER, "AWS::CloudWatch::Alarm", "FsxSpaceLow"), Effect.LIVE),
    "routes": (
        lambda s: environment(s).update(ROUTES='{"channels": {}}'),
        Effect.LIVE,
    ),
    "secret of Slack": (lambda s: environment(s).update(SECRET_ARN="arn:other"), Effect.LIVE),
    "alarm of another metric": (
        lambda s: of_type(s[CLUSTER], "AWS::CloudWatch::Alarm", "HeadNodeStatus")[
            "Properties"
        ].update(MetricName="StatusCheckFailed_System"),
        Effect.LIVE,
    ),
    "events no longer told": (drop(CLUSTER, "AWS::Events::Rule", "ClusterStack"), Effect.LIVE),
    "e-mail of another operator": (
        lambda s: next(
            each["Properties"]
            for each in s[CLUSTER]["Resources"].values()
            if each["Type"] == "AWS::SNS::Subscription"
            and each["Properties"]["Protocol"] == "email"
        ).update(Endpoint="other@example.edu"),
        Effect.LIVE,
    ),
    "queue of alerts leaves": (drop(CLUSTER, "AWS::SQS::Queue", "NotifierQueue"), Effect.LIVE),
    "all alerts leave": (no_alerts, Effect.LIVE),
    "nothing": (lambda s: None, Effect.UNTOUCHED),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_resource_has_its_verdict(name: str, tmp_path: Path) -> None:
    change, verdict = CHANGES[name]
    assert changed(tmp_path, change).verdict == verdict


@pytest.mark.parametrize("name", [name for name in CHANGES if CHANGES[name][1] == "replaces data"])
def test_what_is_left_behind_has_to_be_acknowledged(name: str, tmp_path: Path) -> None:
    found = changed(tmp_path, CHANGES[name][0])
    assert found.is_stopped
    assert {stop.rule for stop in found.stops} == {"orphan-data"}


@pytest.mark.parametrize(
    ("kind", "noun"),
    [
        (LUSTRE, "file system"),
        (BUCKET, "bucket"),
    ],
)
def test_what_is_not_retained_is_lost(kind: str, noun: str, tmp_path: Path) -> None:
    base = {"Stack": {"Resources": {"Data": {"Type": kind, "Properties": {}}}}}
    head = {"Stack": {"Resources": {"Other": {"Type": "AWS::SNS::Topic"}}}}
    found = review(write(tmp_path / "a", base), write(tmp_path / "b", head))
    assert found.verdict == Effect.LOSES_DATA
    (stop,) = found.stops
    assert stop.flag == "--accept 'lose-data:Stack/Data'"
    assert stop.sentence == f"The {noun} is deleted: what it holds is lost."


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("AWS::EC2::CapacityReservation", "AWS may not have these instances again."),
        ("AWS::KMS::Key", "what is encrypted with it can never be read again."),
        ("AWS::EC2::Volume", "what it holds is lost."),
        ("AWS::Logs::LogGroup", "what it holds is lost."),
    ],
)
def test_reservations_keys_volumes_and_logs_count_as_data(
    kind: str, sentence: str, tmp_path: Path
) -> None:
    base = {"Stack": {"Resources": {"Data": {"Type": kind, "Properties": {}}}}}
    head = {"Stack": {"Resources": {"Other": {"Type": "AWS::SNS::Topic"}}}}
    (finding,) = review(write(tmp_path / "a", base), write(tmp_path / "b", head)).findings
    assert finding.effect == Effect.LOSES_DATA
    assert finding.sentence.endswith(sentence)


@pytest.mark.parametrize("kind", ["AWS::EC2::CapacityReservation", "AWS::Logs::LogGroup"])
def test_a_retained_reservation_or_log_is_told_and_stops_nothing(kind: str, tmp_path: Path) -> None:
    resource = {"Type": kind, "Properties": {}, "DeletionPolicy": "Retain"}
    base = {"Stack": {"Resources": {"Data": resource}}}
    head = {"Stack": {"Resources": {"Other": {"Type": "AWS::SNS::Topic"}}}}
    found = review(write(tmp_path / "a", base), write(tmp_path / "b", head))
    assert "It is retained, costs on, and nothing here manages or uses it" in (
        found.findings[0].sentence
    )
    assert not found.stops


def test_a_replacement_is_lost_unless_both_versions_retain(tmp_path: Path) -> None:
    def change(stacks: Stacks) -> None:
        settings(stacks).pop("EfaEnabled")
        unprotected(lustre(stacks))

    found = changed(tmp_path, change)
    assert found.verdict == Effect.LOSES_DATA
    assert any("no longer protected" in finding.sentence for finding in found.findings) is False


def test_a_protection_that_goes_is_told(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda s: unprotected(lustre(s)))
    assert [finding.sentence for finding in found.findings] == [
        "The file system is no longer protected: a later change could delete it."
    ] * 2


def test_a_new_file_system_in_the_foundation_is_refused_by_the_cluster(tmp_path: Path) -> None:
    """The id travels through Parameter Store, which no template shows."""
    found = changed(tmp_path, lambda s: settings(s).pop("EfaEnabled"))
    refused = [each for each in found.findings if each.effect is Effect.REFUSED]
    assert [(each.place, each.after) for each in refused] == [
        ("cluster-config SharedStorage[fsx].FsxLustreSettings.FileSystemId", "${FileSystemId, new}")
    ]


def test_what_points_to_something_new_is_replaced_as_well(tmp_path: Path) -> None:
    change, _ = CHANGES["VPC range"]
    found = changed(tmp_path, change)
    replaced = {each.logical_id for each in found.resources if each.action is Action.REPLACED}
    for part in ("Vpc7", "ComputeSubnet", "Storage07", "LinksDatasets", "EfaSecurityGroup"):
        assert any(part in id for id in replaced), part


def test_the_throughput_can_be_changed_without_cloudformation(tmp_path: Path) -> None:
    found = changed(tmp_path, CHANGES["lustre throughput"][0])
    assert "call aws fsx update-file-system, then deploy" in found.findings[0].sentence


def test_alerts_that_leave_say_what_nobody_hears_and_stop_nothing(tmp_path: Path) -> None:
    found = changed(tmp_path, no_alerts)
    assert not found.stops
    said = {each.sentence for each in found.findings}
    assert {
        "Nobody hears of this any more.",
        "Its subscribers hear nothing more.",
        "Messages that wait in it are lost.",
        "The key goes. Only messages on their way were encrypted with it, nothing that is stored.",
        "The log of a function is deleted.",
    } <= said


def test_alerts_that_come_are_live(tmp_path: Path) -> None:
    base = kait()
    no_alerts(base)
    found = review(write(tmp_path / "a", base), write(tmp_path / "b", kait()))
    assert (found.verdict, found.stops) == (Effect.LIVE, ())


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("AWS::KMS::Key", {"Bucket": "AWS::S3::Bucket"}),
        ("AWS::KMS::Key", {"Written": "AWS::SSM::Parameter"}),
        ("AWS::KMS::Key", {}),
        ("AWS::Logs::LogGroup", {"Flows": "AWS::EC2::FlowLog"}),
        ("AWS::Logs::LogGroup", {}),
    ],
    ids=["bucket", "outside", "nobody", "flows", "nobody-logs"],
)
def test_a_key_or_log_that_may_serve_something_lasting_stops(
    kind: str, more: dict[str, str], tmp_path: Path
) -> None:
    passing = "AWS::SNS::Topic" if kind == "AWS::KMS::Key" else "AWS::Lambda::Function"
    used = {"Passing": passing, **more} if more else {}
    base = {"Kept": {"Type": kind}} | {
        id: {"Type": user, "Properties": {"Uses": {"Ref": "Kept"}}} for id, user in used.items()
    }
    head = {"Other": {"Type": "AWS::SNS::Topic"}}
    found = review(
        write(tmp_path / "a", {"Stack": {"Resources": base}}),
        write(tmp_path / "b", {"Stack": {"Resources": head}}),
    )
    assert "lose-data:Stack/Kept" in {f"{stop.rule}:{stop.place}" for stop in found.stops}


def test_a_key_that_an_output_tells_may_serve_something_lasting(tmp_path: Path) -> None:
    topic = {"Type": "AWS::SNS::Topic", "Properties": {"KmsMasterKeyId": {"Ref": "Kept"}}}
    base = {
        "Resources": {"Kept": {"Type": "AWS::KMS::Key"}, "Topic": topic},
        "Outputs": {"Key": {"Value": {"Fn::GetAtt": ["Kept", "Arn"]}}},
    }
    head = {"Resources": {"Topic": topic}}
    found = review(write(tmp_path / "a", {"Stack": base}), write(tmp_path / "b", {"Stack": head}))
    assert [stop.rule for stop in found.stops] == ["lose-data"]


@pytest.mark.parametrize(
    ("properties", "effect"),
    [({"DBClusterIdentifier": "slurm"}, Effect.LIVE), ({}, Effect.LOSES_DATA)],
    ids=["aurora", "alone"],
)
def test_an_instance_of_aurora_holds_no_data(
    properties: dict[str, str], effect: Effect, tmp_path: Path
) -> None:
    instance = {"Type": "AWS::RDS::DBInstance", "Properties": properties}
    base = {"Stack": {"Resources": {"Data": instance}}}
    head = {"Stack": {"Resources": {"Other": {"Type": "AWS::SNS::Topic"}}}}
    (finding,) = review(write(tmp_path / "a", base), write(tmp_path / "b", head)).findings
    assert finding.effect == effect


def test_a_table_whose_items_expire_holds_no_data(tmp_path: Path) -> None:
    found = changed(tmp_path, drop(CLUSTER, "AWS::DynamoDB::Table"))
    assert not found.stops


def test_a_resource_of_another_type_is_refused(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda s: topic(s).update(Type="AWS::SQS::Queue"))
    assert found.verdict == Effect.REFUSED


def test_a_stack_that_leaves_the_app_stays_deployed(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda s: s.pop(CLUSTER))
    assert [(each.place, each.effect) for each in found.findings] == [(CLUSTER, Effect.UNTOUCHED)]
    assert not found.stops


def test_a_stack_with_data_that_leaves_the_app_is_stopped(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda s: s.update({"new": s.pop(FOUNDATION)}))
    assert [stop.flag for stop in found.stops] == [f"--accept 'orphan-data:{FOUNDATION}'"]
    assert found.findings[0].sentence == (
        "It is no longer in the app, and with it the bucket, database and file system. What is "
        "deployed stays until somebody runs cdk destroy."
    )
    assert any(each.sentence.startswith("A new stack with") for each in found.findings)
    assert {each.stack for each in found.resources if each.action is Action.ADDED} == {"new"}


def test_another_region_is_another_file_system(tmp_path: Path) -> None:
    base, head = write(tmp_path / "a", kait()), write(tmp_path / "b", kait())
    manifest = head / "manifest.json"
    manifest.write_text(manifest.read_text().replace("ap-northeast-2", "us-east-1"))
    found = review(base, head)
    assert [(each.place, each.before, each.after, each.effect) for each in found.findings] == [
        (name, "111122223333/ap-northeast-2", "111122223333/us-east-1", effect)
        for name, effect in ((FOUNDATION, Effect.REPLACES_DATA), (CLUSTER, Effect.REFUSED))
    ]


def test_a_tag_of_a_stack_is_live(tmp_path: Path) -> None:
    base, head = write(tmp_path / "a", kait()), write(tmp_path / "b", kait())
    manifest = head / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"tags": {', '"tags": {"Grant": "4711", '))
    found = review(base, head)
    assert found.verdict == Effect.LIVE
    assert [(each.place, each.after) for each in found.findings] == [
        ("kait-cluster tag Grant", "4711"),
        ("kait-foundation tag Grant", "4711"),
    ]


def test_a_reservation_that_shrinks_is_told(tmp_path: Path) -> None:
    def stacks(count: int) -> Stacks:
        properties = {"InstanceCount": count, "InstanceType": "p5.48xlarge"}
        resource = {"Type": "AWS::EC2::CapacityReservation", "Properties": properties}
        return {"Stack": {"Resources": {"Reservation": resource}}}

    found = review(write(tmp_path / "a", stacks(8)), write(tmp_path / "b", stacks(6)))
    assert [each.sentence for each in found.findings] == [
        "Gives up 2 reserved instances; AWS may not have them again."
    ]


def test_without_cfn_lint_nobody_guesses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainshed.review.replacement import replacing_paths

    replacing_paths.cache_clear()
    monkeypatch.setitem(sys.modules, "cfnlint.schema", None)
    with pytest.raises(MissingSchemasError, match=r"pip install 'trainshed\[review\]'"):
        changed(tmp_path, lambda s: settings(s).pop("EfaEnabled"))
    replacing_paths.cache_clear()
