"""The Lustre file system, made here, in a stack that is not ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Annotations, Match, Template

from trainshed.config.storage import Backups, Lustre, RootSquash, S3Link
from trainshed.storage import LustreStorage

KAIT = Lustre(capacity_gib=230_400, throughput_mb_s_per_tib=125, efa=True)
SMALL = Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125)
LINKS = {
    "Datasets": S3Link(path="/datasets", prefix="datasets/", direction="import"),
    "Checkpoints": S3Link(path="/checkpoints", prefix="checkpoints/", direction="export"),
}
KEY_ARN = "arn:aws:kms:us-east-1:111122223333:key/1234"


class Foreign:
    """Somebody else's stack, with a VPC and a group of nodes."""

    def __init__(self) -> None:
        self.app = cdk.App()
        self.stack = cdk.Stack(
            self.app, "Foreign", env=cdk.Environment(account="111122223333", region="us-east-1")
        )
        self.vpc = ec2.Vpc(self.stack, "Vpc", availability_zones=["us-east-1a"])
        self.nodes = ec2.SecurityGroup(self.stack, "Nodes", vpc=self.vpc, allow_all_outbound=False)

    def storage(self, lustre: Lustre = SMALL, **more: Any) -> LustreStorage:
        return LustreStorage(
            self.stack,
            "Storage",
            **{
                "vpc": self.vpc,
                "subnet": self.vpc.private_subnets[0],
                "client_security_group": self.nodes,
                "lustre": lustre,
                **more,
            },
        )

    def template(self) -> Template:
        return Template.from_stack(self.stack)

    def only(self, type: str) -> dict[str, Any]:
        """Return the one resource of a type."""
        (resource,) = self.template().find_resources(type).values()
        return dict(resource)

    def lustre_configuration(self) -> dict[str, Any]:
        return dict(self.only("AWS::FSx::FileSystem")["Properties"]["LustreConfiguration"])


@pytest.fixture
def foreign() -> Foreign:
    return Foreign()


def rules(template: Template) -> set[tuple[str, str, str, str, int | None, int | None]]:
    """Return every standalone rule: direction, group, peer, protocol, ports."""
    found = []
    for direction, peer in (("Ingress", "Source"), ("Egress", "Destination")):
        resources = template.find_resources(f"AWS::EC2::SecurityGroup{direction}")
        for resource in resources.values():
            rule = resource["Properties"]
            found.append(
                (
                    direction,
                    _name(rule["GroupId"]),
                    _name(rule[f"{peer}SecurityGroupId"]),
                    rule["IpProtocol"],
                    rule.get("FromPort"),
                    rule.get("ToPort"),
                )
            )
    assert len(found) == len(set(found)), "a rule is there twice"
    return set(found)


def _name(group: Any) -> str:
    if isinstance(group, str):
        return group
    return "servers" if group["Fn::GetAtt"][0].startswith("Storage") else "nodes"


def test_the_seeds_file_system_comes_out_whole(foreign: Foreign) -> None:
    foreign.storage(KAIT)
    properties = foreign.only("AWS::FSx::FileSystem")["Properties"]
    configuration = properties.pop("LustreConfiguration")
    log = configuration.pop("LogConfiguration")
    assert configuration == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 125,
        "EfaEnabled": True,
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
        "DataCompressionType": "LZ4",
        "AutomaticBackupRetentionDays": 0,
        "WeeklyMaintenanceStartTime": "7:18:00",
    }
    assert log["Level"] == "WARN_ERROR"
    assert properties["FileSystemType"] == "LUSTRE"
    assert properties["FileSystemTypeVersion"] == "2.15"
    assert properties["StorageCapacity"] == 230_400
    assert properties["StorageType"] == "SSD"


@pytest.mark.parametrize(
    ("lustre", "expected", "absent"),
    [
        pytest.param(
            Lustre(capacity_gib=2400, throughput_mb_s_per_tib=250, metadata_iops=6000),
            {"MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000}},
            ["EfaEnabled", "DriveCacheType"],
            id="provisioned metadata",
        ),
        pytest.param(
            Lustre(
                capacity_gib=6000,
                deployment_type="persistent_1",
                storage_type="hdd",
                throughput_mb_s_per_tib=12,
                hdd_read_cache=True,
                compression="none",
            ),
            {"DriveCacheType": "READ", "DataCompressionType": "NONE"},
            ["MetadataConfiguration"],
            id="hdd with a read cache",
        ),
        pytest.param(
            Lustre(
                capacity_gib=1800,
                deployment_type="persistent_1",
                storage_type="hdd",
                throughput_mb_s_per_tib=40,
            ),
            {"DriveCacheType": "NONE"},
            ["MetadataConfiguration"],
            id="hdd without one",
        ),
        pytest.param(
            Lustre(capacity_gib=1200, deployment_type="scratch_2"),
            {"DeploymentType": "SCRATCH_2"},
            ["AutomaticBackupRetentionDays", "MetadataConfiguration", "PerUnitStorageThroughput"],
            id="scratch",
        ),
        pytest.param(
            Lustre(
                capacity_gib=1200,
                throughput_mb_s_per_tib=125,
                backups=Backups(retention_days=30, start_time="03:00"),
            ),
            {
                "AutomaticBackupRetentionDays": 30,
                "DailyAutomaticBackupStartTime": "03:00",
                "CopyTagsToBackups": True,
            },
            [],
            id="backups with tags",
        ),
        pytest.param(
            Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125, log_level="disabled"),
            {"LogConfiguration": {"Level": "DISABLED"}},
            [],
            id="no log",
        ),
    ],
)
def test_each_kind_has_its_properties_and_no_others(
    foreign: Foreign, lustre: Lustre, expected: dict[str, Any], absent: list[str]
) -> None:
    foreign.storage(lustre)
    configuration = foreign.lustre_configuration()
    assert configuration.items() >= expected.items()
    assert not set(absent) & set(configuration)


def test_a_log_that_is_not_wanted_is_not_made(foreign: Foreign) -> None:
    storage = foreign.storage(
        Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125, log_level="disabled")
    )
    assert storage.log_group is None
    foreign.template().resource_count_is("AWS::Logs::LogGroup", 0)


@pytest.mark.parametrize(
    ("level", "written"), [("warn", "WARN_ONLY"), ("error", "ERROR_ONLY")], ids=["warn", "error"]
)
def test_log_levels_are_written_as_fsx_writes_them(
    foreign: Foreign, level: Any, written: str
) -> None:
    foreign.storage(Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125, log_level=level))
    log = foreign.lustre_configuration()["LogConfiguration"]
    assert log["Level"] == written
    # FSx takes the ARN of the group without ":*", and only of groups below /aws/fsx.
    *_, destination = log["Destination"]["Fn::Join"][1]
    assert destination.keys() == {"Ref"}
    name = foreign.only("AWS::Logs::LogGroup")["Properties"]["LogGroupName"]
    assert name["Fn::Join"][1][0].startswith("/aws/fsx/")


@pytest.mark.parametrize(
    ("lustre", "ports"),
    [
        pytest.param(SMALL, [("tcp", 988, 988), ("tcp", 1018, 1023)], id="Lustre's ports"),
        pytest.param(KAIT, [("-1", None, None)], id="all traffic with EFA"),
    ],
)
def test_servers_and_nodes_may_talk_both_ways(
    foreign: Foreign, lustre: Lustre, ports: list[tuple[str, int | None, int | None]]
) -> None:
    foreign.storage(lustre)
    pairs = [("servers", "servers"), ("servers", "nodes"), ("nodes", "servers")]
    assert rules(foreign.template()) == {
        (direction, group, peer, *port)
        for direction in ("Ingress", "Egress")
        for group, peer in pairs
        for port in ports
    }


def test_the_file_system_waits_for_every_rule(foreign: Foreign) -> None:
    storage = foreign.storage()
    storage.add_client("Login", ec2.SecurityGroup(foreign.stack, "Login", vpc=foreign.vpc))
    template = foreign.template()
    every = {
        id
        for direction in ("Ingress", "Egress")
        for id in template.find_resources(f"AWS::EC2::SecurityGroup{direction}")
    }
    assert len(every) == 20
    assert set(foreign.only("AWS::FSx::FileSystem")["DependsOn"]) == every


def test_rules_are_made_once_when_nodes_and_servers_share_a_group(foreign: Foreign) -> None:
    foreign.storage(security_group=foreign.nodes)
    assert rules(foreign.template()) == {
        (direction, "nodes", "nodes", "tcp", first, last)
        for direction in ("Ingress", "Egress")
        for first, last in ((988, 988), (1018, 1023))
    }


def test_a_client_that_is_added_twice_gets_its_rules_once(foreign: Foreign) -> None:
    foreign.storage().add_client("Again", foreign.nodes)
    rules(foreign.template())


def test_other_constructs_can_connect_to_it(foreign: Foreign) -> None:
    storage = foreign.storage(KAIT)
    other = ec2.SecurityGroup(foreign.stack, "Other", vpc=foreign.vpc, allow_all_outbound=False)
    other.connections.allow_to_default_port(storage)
    foreign.template().has_resource_properties(
        "AWS::EC2::SecurityGroupEgress",
        {"GroupId": {"Fn::GetAtt": [Match.string_like_regexp("^Other"), "GroupId"]}},
    )


def test_what_holds_data_is_retained_and_keeps_its_logical_id(
    foreign: Foreign, golden: Callable[[str, object], None]
) -> None:
    foreign.storage(KAIT, links=LINKS)
    resources = foreign.template().to_json()["Resources"]
    retained = {
        id: resource["Type"]
        for id, resource in resources.items()
        if (resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy"))
        == ("RetainExceptOnCreate", "Retain")
    }
    golden("storage/stateful_ids.json", retained)


def test_what_is_retained_can_be_given_up(foreign: Foreign) -> None:
    foreign.storage(links=LINKS, removal_policy=cdk.RemovalPolicy.DESTROY)
    template = foreign.template()
    for type in (
        "AWS::FSx::FileSystem",
        "AWS::S3::Bucket",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SecurityGroupIngress",
    ):
        for id, resource in template.find_resources(type).items():
            assert id.startswith("Nodes") or resource["DeletionPolicy"] == "Delete"


def test_every_rule_of_a_kept_file_system_is_kept(foreign: Foreign) -> None:
    foreign.storage().add_client(
        "Login", ec2.SecurityGroup(foreign.stack, "Login", vpc=foreign.vpc)
    )
    template = foreign.template()
    for direction in ("Ingress", "Egress"):
        rules = template.find_resources(f"AWS::EC2::SecurityGroup{direction}").values()
        assert {r["DeletionPolicy"] for r in rules} == {"RetainExceptOnCreate"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            {"lustre": {"capacity_gib": 1200}},
            "lustre is a dict; use trainshed.config.Lustre(**lustre)",
            id="file system",
        ),
        pytest.param(
            {"links": {"Data": {"path": "/data"}}},
            "links['Data'] is a dict; use trainshed.config.S3Link(...)",
            id="link",
        ),
    ],
)
def test_a_mapping_in_the_place_of_a_record_is_refused(
    foreign: Foreign, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        foreign.storage(**change)
    assert str(refused.value) == message


@pytest.mark.parametrize("missing", ["vpc", "subnet", "client_security_group"])
def test_a_file_system_without_its_ground_is_refused(foreign: Foreign, missing: str) -> None:
    given: dict[str, Any] = {missing: None}
    with pytest.raises(ValueError) as refused:
        foreign.storage(**given)
    assert str(refused.value) == f"{missing} is None, and none is made in its place; pass one"


@pytest.mark.parametrize("by", ["object", "arn"])
def test_an_own_key_encrypts_the_file_system(foreign: Foreign, by: str) -> None:
    if by == "object":
        foreign.storage(encryption_key=kms.Key.from_key_arn(foreign.stack, "Key", KEY_ARN))
    else:
        foreign.storage(Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125, kms_key_arn=KEY_ARN))
    assert foreign.only("AWS::FSx::FileSystem")["Properties"]["KmsKeyId"] == KEY_ARN


def test_root_squash_is_set_by_a_call_after_the_links(foreign: Foreign) -> None:
    squash = RootSquash(no_squash_nids=("10.0.1.4@tcp",))
    foreign.storage(
        Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125, root_squash=squash), links=LINKS
    )
    resource = foreign.only("Custom::LustreRootSquash")
    create = "".join(
        part if isinstance(part, str) else "FS"
        for part in resource["Properties"]["Create"]["Fn::Join"][1]
    )
    assert (
        '"parameters":{"FileSystemId":"FS","LustreConfiguration":{"RootSquashConfiguration":'
        '{"RootSquash":"65534:65534","NoSquashNids":["10.0.1.4@tcp"]}}}' in create
    )
    assert resource["Properties"]["Update"] == resource["Properties"]["Create"]
    assert "Delete" not in resource["Properties"]
    links = foreign.template().find_resources("AWS::FSx::DataRepositoryAssociation")
    assert set(links) < set(resource["DependsOn"])
    foreign.template().has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": [
                    {
                        "Action": "fsx:UpdateFileSystem",
                        "Effect": "Allow",
                        "Resource": {"Fn::GetAtt": [Match.any_value(), "ResourceARN"]},
                    }
                ]
            }
        },
    )


def test_the_log_of_root_squash_goes_with_it(foreign: Foreign) -> None:
    squashed = Lustre(
        capacity_gib=1200,
        throughput_mb_s_per_tib=125,
        log_level="disabled",
        root_squash=RootSquash(),
    )
    one, two = (
        LustreStorage(
            foreign.stack,
            id,
            vpc=foreign.vpc,
            subnet=foreign.vpc.private_subnets[0],
            client_security_group=foreign.nodes,
            lustre=squashed,
        )
        for id in ("One", "Two")
    )
    # Templates with a cycle are refused by the assertion.
    one.node.add_dependency(two)
    # The function is one for all calls of a stack, and so is its log.
    (name,) = foreign.template().find_resources("AWS::Logs::LogGroup")
    log = foreign.only("AWS::Logs::LogGroup")
    assert (log["DeletionPolicy"], log["UpdateReplacePolicy"]) == ("Delete", "Delete")
    assert log["Properties"] == {"RetentionInDays": 365}
    function = foreign.only("AWS::Lambda::Function")["Properties"]
    assert function["LoggingConfig"] == {"LogGroup": {"Ref": name}}


def test_nodes_learn_what_to_mount(foreign: Foreign) -> None:
    storage = foreign.storage(mount_dir="/shared")
    resolved = foreign.stack.resolve(storage.mount_source)
    id = next(iter(foreign.template().find_resources("AWS::FSx::FileSystem")))
    assert resolved == {
        "Fn::Join": [
            "",
            [
                {"Fn::GetAtt": [id, "DNSName"]},
                "@tcp:/",
                {"Fn::GetAtt": [id, "LustreMountName"]},
            ],
        ]
    }
    assert (storage.mount_dir, storage.efa, storage.capacity_gib) == ("/shared", False, 1200)


@pytest.mark.parametrize(
    ("write", "statements"),
    [
        pytest.param(
            False,
            [
                (["s3:GetObject", "s3:GetObjectVersion"], "datasets/*", None),
                ("s3:ListBucket", None, "datasets/*"),
            ],
            id="read",
        ),
        pytest.param(
            True,
            [
                (
                    [
                        "s3:GetObject",
                        "s3:GetObjectVersion",
                        "s3:AbortMultipartUpload",
                        "s3:DeleteObject",
                        "s3:ListMultipartUploadParts",
                        "s3:PutObject",
                    ],
                    "datasets/*",
                    None,
                ),
                ("s3:ListBucket", None, "datasets/*"),
                ("s3:ListBucketMultipartUploads", None, None),
            ],
            id="read and write",
        ),
    ],
)
def test_grants_name_each_action_and_one_prefix(
    foreign: Foreign, write: bool, statements: list[tuple[Any, str | None, str | None]]
) -> None:
    storage = foreign.storage(links=LINKS)
    role = iam.Role(foreign.stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    grant = storage.grant_read_write if write else storage.grant_read
    grant(role, "datasets/").assert_success()
    arn = {"Fn::GetAtt": [Match.any_value(), "Arn"]}
    foreign.template().has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": [
                    {
                        "Action": actions,
                        "Effect": "Allow",
                        "Resource": {"Fn::Join": ["", [arn, f"/{objects}"]]} if objects else arn,
                        **({"Condition": {"StringLike": {"s3:prefix": prefix}}} if prefix else {}),
                    }
                    for actions, objects, prefix in statements
                ]
            }
        },
    )


def test_what_deserves_a_word_is_a_warning(foreign: Foreign) -> None:
    exporting = LINKS["Checkpoints"].model_copy(update={"export_deletions": True})
    foreign.storage(KAIT, links={"Out": exporting})
    warnings = Annotations.from_stack(foreign.stack)
    warnings.has_warning("/Foreign/Storage", Match.string_like_regexp("default quota"))
    warnings.has_warning("/Foreign/Storage", Match.string_like_regexp("exports deletions"))


def test_faults_of_links_and_mount_directory_are_told_at_once(foreign: Foreign) -> None:
    clashing = LINKS["Datasets"].model_copy(update={"prefix": "other/"})
    with pytest.raises(ValueError) as refused:
        foreign.storage(mount_dir="/tmp", links={"A": LINKS["Datasets"], "B": clashing})
    assert str(refused.value).splitlines() == [
        "mount_dir: /tmp belongs to the system; use another, such as /fsx",
        "links.B.path: /datasets overlaps /datasets of link A; "
        "link folders that lie beside each other",
    ]


def test_two_keys_are_refused(foreign: Foreign) -> None:
    key = kms.Key.from_key_arn(foreign.stack, "Key", KEY_ARN)
    with pytest.raises(ValueError) as refused:
        foreign.storage(
            Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125, kms_key_arn=KEY_ARN),
            encryption_key=key,
        )
    assert str(refused.value) == (
        "encryption_key and lustre.kms_key_arn are both given; leave one of them out"
    )


def test_a_vpc_without_dns_is_refused(foreign: Foreign) -> None:
    mute = ec2.Vpc(foreign.stack, "Mute", enable_dns_hostnames=False, max_azs=1)
    with pytest.raises(ValueError) as refused:
        foreign.storage(vpc=mute)
    assert str(refused.value) == (
        "vpc Foreign/Mute has DNS support or DNS hostnames off, and nodes find the file system "
        "by its name; set enable_dns_support and enable_dns_hostnames"
    )


def test_a_grant_without_a_bucket_is_refused(foreign: Foreign) -> None:
    with pytest.raises(ValueError) as refused:
        foreign.storage().grant_read(iam.AccountRootPrincipal())
    assert str(refused.value) == "the storage has no bucket; pass bucket, or add a link"
