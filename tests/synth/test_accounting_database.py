"""The database of Slurm's accounting: who reaches it, what is kept, and what a fleet gets of it."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match, Template

from trainshed import SlurmAccountingDatabase, TrainingNetwork, facts
from trainshed.accounting_database import DatabaseSubnets
from trainshed.config import AccountingDatabase, NewDatabase

ENV = cdk.Environment(account="111122223333", region="us-east-2")


def database(stack: cdk.Stack, *, subnets: int = 2, **keywords: Any) -> SlurmAccountingDatabase:
    network = TrainingNetwork(stack, "Network", zone=facts.ZoneName("us-east-2a"))
    places = [
        ec2.Subnet.from_subnet_id(stack, f"Subnet{number}", f"subnet-0123456789abcdef{number}")
        for number in range(subnets)
    ]
    return SlurmAccountingDatabase(stack, "Accounting", vpc=network.vpc, subnets=places, **keywords)


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Foreign", env=ENV)


@pytest.fixture
def template(stack: cdk.Stack) -> Template:
    database(stack)
    return Template.from_stack(stack)


def test_it_is_encrypted_backed_up_and_protected(template: Template) -> None:
    template.has_resource_properties(
        "AWS::RDS::DBCluster",
        {
            "Engine": "aurora-mysql",
            "EngineVersion": "8.0.mysql_aurora.3.10.3",
            "StorageEncrypted": True,
            "BackupRetentionPeriod": 35,
            "DeletionProtection": True,
            "ServerlessV2ScalingConfiguration": {"MinCapacity": 0.5, "MaxCapacity": 4},
        },
    )
    template.has_resource_properties(
        "AWS::RDS::DBInstance",
        {"DBInstanceClass": "db.serverless", "PubliclyAccessible": False},
    )


def test_connections_are_encrypted_and_slurms_long_waits_are_allowed(template: Template) -> None:
    template.has_resource_properties(
        "AWS::RDS::DBClusterParameterGroup",
        {"Parameters": {"require_secure_transport": "ON", "innodb_lock_wait_timeout": "900"}},
    )


def test_the_password_is_plain_text_without_what_slurm_cannot_quote(template: Template) -> None:
    template.has_resource_properties(
        "AWS::SecretsManager::Secret",
        {"GenerateSecretString": {"ExcludePunctuation": True, "PasswordLength": 40}},
    )


def test_only_its_client_group_reaches_it(template: Template) -> None:
    rules = [
        rule["Properties"]
        for rule in template.find_resources("AWS::EC2::SecurityGroupIngress").values()
        if rule["Properties"].get("FromPort") == 3306
    ]
    (rule,) = rules
    assert "ClientSecurityGroup" in str(rule["SourceSecurityGroupId"])
    assert "CidrIp" not in rule


def test_all_of_it_is_kept_under_pinned_ids(template: Template) -> None:
    kept = {
        id: resource["DeletionPolicy"]
        for id, resource in template.to_json()["Resources"].items()
        if id.startswith("Accounting")
    }
    assert kept == {
        "Accounting34814706": "Retain",
        "AccountingClientSecurityGroup01B93441": "Retain",
        "AccountingClientSecurityGroupToDatabaseA596726B": "Retain",
        "AccountingParameters30610A0B": "Retain",
        "AccountingPasswordB9D718BE": "Retain",
        "AccountingSecurityGroupBEC88DBC": "Retain",
        "AccountingSecurityGroupFromClients5C9B9361": "Retain",
        "AccountingSubnets96EB2A02": "Retain",
        "AccountingWriterD058AC7F": "Retain",
    }


def test_a_database_for_a_try_goes_with_its_stack(stack: cdk.Stack) -> None:
    database(stack, removal_policy=cdk.RemovalPolicy.DESTROY)
    template = Template.from_stack(stack)
    template.has_resource("AWS::RDS::DBCluster", {"DeletionPolicy": "Delete"})
    template.has_resource_properties("AWS::RDS::DBCluster", {"DeletionProtection": False})


def test_a_fleet_gets_host_user_secret_and_group(stack: cdk.Stack) -> None:
    made = database(stack)
    given = AccountingDatabase(create=NewDatabase(), database="jobs")
    record = made.record(given)
    assert record.create is None
    assert (record.user, record.database) == ("slurm", "jobs")
    assert stack.resolve(record.host) == {"Fn::GetAtt": ["Accounting34814706", "Endpoint.Address"]}
    assert stack.resolve(record.password_secret_arn) == {"Ref": "AccountingPasswordB9D718BE"}
    assert "ClientSecurityGroup" in str(stack.resolve(record.client_security_group_id))


def test_others_can_be_let_in(stack: cdk.Stack) -> None:
    made = database(stack)
    made.connections.allow_default_port_from(ec2.Peer.ipv4("10.1.0.0/16"), "reports")
    Template.from_stack(stack).has_resource_properties(
        "AWS::EC2::SecurityGroup",
        {"SecurityGroupIngress": [Match.object_like({"CidrIp": "10.1.0.0/16", "ToPort": 3306})]},
    )


def test_one_subnet_is_refused(stack: cdk.Stack) -> None:
    with pytest.raises(
        ValueError, match=r"^subnets has 1; RDS takes subnets in two zones or more: give another$"
    ):
        database(stack, subnets=1)


@pytest.mark.parametrize(
    ("zones", "key"),
    [
        ((facts.ZoneName("us-east-2a"), facts.ZoneName("us-east-2b")), "AvailabilityZone"),
        ((facts.ZoneId("use2-az1"), facts.ZoneId("use2-az2")), "AvailabilityZoneId"),
    ],
    ids=["names", "ids"],
)
def test_the_subnets_of_a_new_vpc_stand_in_two_zones(
    stack: cdk.Stack, zones: tuple[facts.Zone, ...], key: str
) -> None:
    DatabaseSubnets(stack, "Subnets", vpc_id="vpc-1", cidr="10.0.0.0/16", zones=zones)
    subnets = Template.from_stack(stack).find_resources("AWS::EC2::Subnet").values()
    placed = {subnet["Properties"][key]: subnet["Properties"]["CidrBlock"] for subnet in subnets}
    ranges = ("10.0.255.208/28", "10.0.255.224/28")
    assert placed == {zone.value: place for zone, place in zip(zones, ranges, strict=True)}


def test_cdk_nag_finds_nothing_that_is_not_acknowledged() -> None:
    app = cdk.App()
    cdk.Validations.of(app).add_plugins(
        cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
    )
    stack = cdk.Stack(app, "Foreign", env=ENV)
    database(stack)
    app.synth()
    found = Annotations.from_stack(stack).find_error("*", Match.any_value())
    assert [str(each.entry.data) for each in found] == []
