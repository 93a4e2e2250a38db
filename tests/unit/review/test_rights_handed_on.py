"""Rights that are handed on, and what opens or protects a machine, a role or a database."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import (
    CLUSTER,
    FOUNDATION,
    Stacks,
    changed,
    cluster_stack,
    configuration,
    configured,
    kait,
    of_type,
    write,
)
from tests.unit.review.test_dangers_in_other_words import (
    ADMINISTRATOR,
    EVERYTHING,
    Change,
    attach,
    both,
    resource,
)
from tests.unit.review.test_security_changes import role
from trainshed.review import Review, review


def after(tmp_path: Path, base: Change, head: Change) -> Review:
    """Review a change on top of another that is deployed already."""
    stacks = kait()
    base(stacks)
    deployed = write(tmp_path / "a", stacks)
    stacks = copy.deepcopy(stacks)
    head(stacks)
    return review(deployed, write(tmp_path / "b", stacks))


def properties(stacks: Stacks, id: str) -> Any:
    return stacks[CLUSTER]["Resources"][id]["Properties"]


OWN = resource(
    CLUSTER, "Own", "AWS::IAM::ManagedPolicy", PolicyDocument=EVERYTHING, Roles=["operator"]
)
POWERFUL = resource(CLUSTER, "Powerful", "AWS::IAM::Role", ManagedPolicyArns=[ADMINISTRATOR])
PROFILE = resource(CLUSTER, "Profile", "AWS::IAM::InstanceProfile", Roles=["node"])
HANDED: dict[str, tuple[Change, Change, str]] = {
    "by the policy": (
        OWN,
        lambda s: properties(s, "Own")["Roles"].append("node"),
        "is given to role node",
    ),
    "by the role": (OWN, attach({"Ref": "Own"}), "policy Own"),
    "by the profile": (
        both(POWERFUL, PROFILE),
        lambda s: properties(s, "Profile").update(Roles=[{"Ref": "Powerful"}]),
        "instances have the role Powerful",
    ),
}


@pytest.mark.parametrize("name", HANDED)
def test_rights_that_stand_already_are_not_handed_on(name: str, tmp_path: Path) -> None:
    base, head, words = HANDED[name]
    found = after(tmp_path, base, head)
    assert [stop.rule for stop in found.stops] == ["administrator-access"]
    assert words in found.stops[0].sentence


@pytest.mark.parametrize(
    ("iam", "words"),
    [
        ({"AdditionalIamPolicies": [{"Policy": "OWN"}]}, "policy ${Own}"),
        ({"InstanceRole": "OWN"}, "has the role ${Own}"),
    ],
    ids=["policy", "role"],
)
def test_rights_that_stand_already_are_not_handed_to_a_queue(
    iam: dict[str, Any], words: str, tmp_path: Path
) -> None:
    reference: list[Any] = [{"Ref": "Own"}]

    def stack(more: dict[str, Any]) -> Stacks:
        config = configuration()
        config["Scheduling"]["SlurmQueues"][0]["Iam"] = more
        template = cluster_stack(config)
        cluster = template["Resources"]["Cluster"]["Properties"]
        before, found, after = cluster["ClusterConfiguration"].partition("OWN")
        if found:
            parts = [before, *reference, after]
            cluster["ClusterConfiguration"] = {"Fn::Join": ["", parts]}
        stacks = {CLUSTER: template}
        OWN(stacks)
        return stacks

    found = review(write(tmp_path / "a", stack({})), write(tmp_path / "b", stack(iam)))
    assert [(stop.rule, stop.place) for stop in found.stops] == [
        ("administrator-access", "SlurmQueues[compute]")
    ]
    assert words in found.stops[0].sentence


GUARDED_CONFIGURATION: dict[str, tuple[dict[str, Any], str]] = {
    "IMDSv1": ({"Imds": {"ImdsSupport": "v1.0"}}, "instance metadata by IMDSv2 alone"),
    "no boundary": ({"Iam": {}}, "permissions boundary arn:b"),
}


@pytest.mark.parametrize("name", GUARDED_CONFIGURATION)
def test_protection_that_a_cluster_loses_is_told(name: str, tmp_path: Path) -> None:
    more, words = GUARDED_CONFIGURATION[name]
    guarded = {"Imds": {"ImdsSupport": "v2.0"}, "Iam": {"PermissionsBoundary": "arn:b"}}
    before = {**configuration(), **guarded}
    found = review(
        write(tmp_path / "a", {CLUSTER: cluster_stack(before)}),
        write(tmp_path / "b", {CLUSTER: cluster_stack({**before, **more})}),
    )
    assert [fact.words for fact in found.lost] == [words]


def test_a_head_node_whose_rights_everybody_reaches_is_told(tmp_path: Path) -> None:
    found = configured(tmp_path, lambda c: c["HeadNode"].update(Imds={"Secured": False}))
    assert [fact.words for fact in found.gained] == [
        "its rights, to every user on it (Imds.Secured is off)"
    ]


def test_a_new_policy_and_whom_it_is_given_to_are_one_stop(tmp_path: Path) -> None:
    (stop,) = changed(tmp_path, OWN).stops
    assert stop.sentence.endswith("in the account: * on *.")


EMPTY = resource(CLUSTER, "Nodes", "AWS::EC2::LaunchTemplate", LaunchTemplateData={})
GUARDED = resource(
    CLUSTER,
    "Nodes",
    "AWS::EC2::LaunchTemplate",
    LaunchTemplateData={"MetadataOptions": {"HttpTokens": "required"}},
)
MACHINE = resource(CLUSTER, "Head", "AWS::EC2::Instance", ImageId="ami-1")
PUBLIC = [{"DeviceIndex": "0", "AssociatePublicIpAddress": True}]
BOUNDARY = "arn:aws:iam::111122223333:policy/boundary"
TOLD: dict[str, tuple[Change, Change, str]] = {
    "public address of nodes": (
        EMPTY,
        lambda s: properties(s, "Nodes")["LaunchTemplateData"].update(NetworkInterfaces=PUBLIC),
        "gets a public address",
    ),
    "public address of an instance": (
        MACHINE,
        lambda s: properties(s, "Head").update(NetworkInterfaces=PUBLIC),
        "gets a public address",
    ),
    "lasting public address": (
        MACHINE,
        resource(CLUSTER, "Address", "AWS::EC2::EIP", InstanceId={"Ref": "Head"}),
        "a public address for Head",
    ),
    "IMDSv1": (
        GUARDED,
        lambda s: properties(s, "Nodes")["LaunchTemplateData"].pop("MetadataOptions"),
        "instance metadata by IMDSv2 alone",
    ),
    "another profile": (
        EMPTY,
        lambda s: properties(s, "Nodes")["LaunchTemplateData"].update(
            IamInstanceProfile={"Name": "other"}
        ),
        "has the instance profile other",
    ),
    "no boundary": (
        lambda s: role(s).update(PermissionsBoundary=BOUNDARY),
        lambda s: role(s).pop("PermissionsBoundary"),
        f"permissions boundary {BOUNDARY}",
    ),
    "trust in everybody": (
        EMPTY,
        lambda s: role(s)["AssumeRolePolicyDocument"]["Statement"].append(
            {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": ["*"]}}
        ),
        "may be taken on by everybody",
    ),
    "group of users": (
        EMPTY,
        resource(
            CLUSTER, "Join", "AWS::IAM::UserToGroupAddition", GroupName="admins", Users=["eve"]
        ),
        "eve join the group admins",
    ),
    "lasting key": (
        EMPTY,
        resource(CLUSTER, "Key", "AWS::IAM::AccessKey", UserName="eve"),
        "a lasting key of the user eve",
    ),
    "public list of access": (
        EMPTY,
        lambda s: of_type(s[FOUNDATION], "AWS::S3::Bucket")["Properties"].update(
            AccessControl="PublicRead"
        ),
        "access PublicRead for everybody",
    ),
    "public database": (
        EMPTY,
        lambda s: of_type(s[FOUNDATION], "AWS::RDS::DBInstance")["Properties"].update(
            PubliclyAccessible="true"
        ),
        "a database with a public address",
    ),
    "key for everybody": (
        EMPTY,
        resource(
            CLUSTER,
            "Key",
            "AWS::KMS::Key",
            KeyPolicy=json.dumps(
                {"Statement": [{"Effect": "Allow", "Action": "kms:*", "Principal": {"AWS": ["*"]}}]}
            ),
        ),
        "everybody may kms:*",
    ),
    "repository for everybody": (
        EMPTY,
        resource(
            CLUSTER,
            "Images",
            "AWS::ECR::Repository",
            RepositoryPolicyText={
                "Statement": [{"Effect": "Allow", "Action": "ecr:*", "Principal": "*"}]
            },
        ),
        "everybody may ecr:*",
    ),
    "table for everybody": (
        EMPTY,
        resource(
            CLUSTER,
            "Table",
            "AWS::DynamoDB::Table",
            ResourcePolicy={
                "PolicyDocument": {
                    "Statement": [{"Effect": "Allow", "Action": "dynamodb:*", "Principal": "*"}]
                }
            },
        ),
        "everybody may dynamodb:*",
    ),
    "layer for everybody": (
        EMPTY,
        resource(
            CLUSTER,
            "Layer",
            "AWS::Lambda::LayerVersionPermission",
            Action="lambda:GetLayerVersion",
            Principal="*",
        ),
        "everybody may lambda:GetLayerVersion",
    ),
    "everybody but one": (
        EMPTY,
        resource(
            CLUSTER,
            "Secret",
            "AWS::SecretsManager::ResourcePolicy",
            ResourcePolicy={
                "Statement": {"Effect": "Allow", "NotPrincipal": "a", "NotAction": "b:C"}
            },
        ),
        "everybody may everything but b:C",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_opens_a_machine_or_a_role_is_told(name: str, tmp_path: Path) -> None:
    base, head, words = TOLD[name]
    found = after(tmp_path, base, head)
    told = {fact.words for fact in (*found.gained, *found.lost)}
    assert words in told


def test_a_public_face_is_marked(tmp_path: Path) -> None:
    found = after(tmp_path, *TOLD["public database"][:2])
    assert all(fact.is_alarming for fact in found.gained)
