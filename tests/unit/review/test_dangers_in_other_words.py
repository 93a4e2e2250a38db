"""Dangers that a template spells in another way: each stops as the plain one does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import (
    CLUSTER,
    FOUNDATION,
    TEMPLATES,
    Stacks,
    changed,
    write,
)
from tests.unit.review.test_security_changes import allow, group, policy, role
from trainshed.review import Kind, review_many

WORLD, INSIDE = "0.0.0.0/0", "10.0.0.0/8"
ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"
EVERYTHING = {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}

Change = Callable[[Stacks], object]


def lets_in(**rule: Any) -> Change:
    rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, **rule}
    return lambda stacks: group(stacks).update(SecurityGroupIngress=[rule])


def attach(value: Any) -> Change:
    return lambda stacks: role(stacks)["ManagedPolicyArns"].append(value)


def part(stack: str, section: str, **more: Any) -> Change:
    """Add to a section of a template, such as its parameters."""
    return lambda stacks: stacks[stack].setdefault(section, {}).update(more)


def resource(stack: str, id: str, resource_type: str, **properties: Any) -> Change:
    return part(stack, "Resources", **{id: {"Type": resource_type, "Properties": properties}})


def both(*changes: Change) -> Change:
    return lambda stacks: [change(stacks) for change in changes]


def either(name: str, yes: Any, no: Any) -> Any:
    return {"Fn::If": [name, yes, no]}


OPEN: dict[str, Change] = {
    "protocol in capitals": lets_in(CidrIp=WORLD, IpProtocol="TCP"),
    "protocol as a number": lets_in(CidrIp=WORLD, IpProtocol=6),
    "every protocol as a number": lets_in(CidrIp=WORLD, IpProtocol=-1),
    "every protocol by EC2's word": lets_in(CidrIp=WORLD, IpProtocol="all"),
    "a protocol that the deployment decides": lets_in(CidrIp=WORLD, IpProtocol={"Ref": "P"}),
    "ports as text": lets_in(CidrIp=WORLD, FromPort="0", ToPort="65535"),
    "a last port that the deployment decides": lets_in(
        CidrIp=WORLD, FromPort=0, ToPort={"Ref": "P"}
    ),
    "a range by a parameter": both(
        part(FOUNDATION, "Parameters", Range={"Type": "String", "Default": WORLD}),
        lets_in(CidrIp={"Ref": "Range"}),
    ),
    "a range that the deployment decides": both(
        part(FOUNDATION, "Parameters", Range={"Type": "String"}),
        lets_in(CidrIp={"Ref": "Range"}),
    ),
    "a range in pieces": lets_in(CidrIp={"Fn::Sub": ["${Net}/0", {"Net": "0.0.0.0"}]}),
    "a range of a mapping": both(
        part(FOUNDATION, "Mappings", Ranges={"all": {"of": WORLD}}),
        lets_in(CidrIp={"Fn::FindInMap": ["Ranges", "all", "of"]}),
    ),
    "a range of a list": lets_in(CidrIp={"Fn::Select": ["0", [WORLD]]}),
    "a long IPv6": lets_in(CidrIpv6="0000:0000:0000:0000:0000:0000:0000:0000/0"),
    "IPv6 beside a range": lets_in(CidrIp="10.0.0.0/8", CidrIpv6="::/0"),
    "a prefix list": both(
        resource(FOUNDATION, "List", "AWS::EC2::PrefixList", Entries=[{"Cidr": WORLD}]),
        lets_in(SourcePrefixListId={"Fn::GetAtt": ["List", "PrefixListId"]}),
    ),
    "a rule that stands alone": resource(
        FOUNDATION,
        "Rule",
        "AWS::EC2::SecurityGroupIngress",
        GroupId="sg-0123456789abcdef0",
        CidrIp=WORLD,
        IpProtocol="-1",
    ),
    "under three conditions": lets_in(
        CidrIp=either("A", either("B", either("C", INSIDE, WORLD), INSIDE), INSIDE)
    ),
    "under two conditions side by side": lets_in(
        CidrIp=either("A", WORLD, INSIDE),
        FromPort=either("B", 443, 22),
        ToPort=either("B", 443, 22),
    ),
    "by a macro": lambda s: group(s).update(SecurityGroupIngress={"Fn::Transform": {"Name": "M"}}),
}
RIGHTS: dict[str, Change] = {
    "another partition": attach("arn:aws-cn:iam::aws:policy/AdministratorAccess"),
    "Fn::Sub": attach({"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AdministratorAccess"}),
    "Fn::Sub with a variable": attach(
        {"Fn::Sub": ["arn:aws:iam::aws:policy/${N}", {"N": "AdministratorAccess"}]}
    ),
    "a name in halves": attach({"Fn::Join": ["", [ADMINISTRATOR[:30], ADMINISTRATOR[30:]]]}),
    "a parameter": both(
        part(CLUSTER, "Parameters", Policy={"Type": "String", "Default": ADMINISTRATOR}),
        attach({"Ref": "Policy"}),
    ),
    "a parameter that the deployment decides": both(
        part(CLUSTER, "Parameters", Policy={"Type": "String"}), attach({"Ref": "Policy"})
    ),
    "a list of a parameter": both(
        part(CLUSTER, "Parameters", List={"Type": "CommaDelimitedList", "Default": ADMINISTRATOR}),
        lambda s: role(s).update(ManagedPolicyArns={"Ref": "List"}),
    ),
    "Fn::Select": attach({"Fn::Select": [0, [ADMINISTRATOR]]}),
    "Fn::Split": lambda s: role(s).update(
        ManagedPolicyArns={"Fn::Split": [",", f"{ADMINISTRATOR},arn:x"]}
    ),
    "two wildcards": allow("**", "*", Condition={"Bool": {"aws:SecureTransport": "true"}}),
    "everything in an ARN": allow("*", "arn:aws:*"),
    "everything in every part of an ARN": allow("*", "arn:*:*:*:*:*"),
    "all but one action in an ARN": lambda s: policy(s)["PolicyDocument"]["Statement"].append(
        {"Effect": "Allow", "NotAction": "s3:DeleteBucket", "Resource": "arn:aws:*"}
    ),
    "rights over every role": allow("iam:*", "arn:aws:iam::111122223333:role/*"),
    "a condition that is no limit": allow(
        "iam:PutRolePolicy", "*", Condition={"StringLike": {"aws:PrincipalArn": "*"}}
    ),
    "every role to a machine": allow("iam:PassRole"),
    "who may take a role on": allow("iam:UpdateAssumeRolePolicy"),
    "every role of others": allow("sts:AssumeRole"),
    "keys of every user": allow("iam:CreateAccessKey"),
    "a document as text": lambda s: policy(s).update(PolicyDocument=json.dumps(EVERYTHING)),
    "action and resource under conditions": allow(
        either("A", "*", "s3:GetObject"), either("B", "arn:aws:s3:::bucket", "*")
    ),
    "people who sign on": resource(
        CLUSTER, "Set", "AWS::SSO::PermissionSet", ManagedPolicies=[ADMINISTRATOR]
    ),
}
ORDINARY: dict[str, Change] = {
    "the range of the VPC": lets_in(CidrIp={"Fn::GetAtt": ["Vpc", "CidrBlock"]}),
    "a range that the foundation tells": both(
        part(FOUNDATION, "Parameters", R={"Type": "AWS::SSM::Parameter::Value<String>"}),
        lets_in(CidrIp={"Ref": "R"}),
    ),
    "a group of the stack": lets_in(SourceSecurityGroupId={"Ref": "Group"}),
    "ICMP": lets_in(CidrIp=WORLD, IpProtocol="icmp", FromPort=-1, ToPort=-1),
    "roles below a path": allow("iam:PassRole", "arn:aws:iam::111122223333:role/fleet/*"),
    "roles to one service": allow(
        "iam:PassRole",
        "*",
        Condition={"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
    ),
    "a policy of the stack": attach({"Ref": "Other"}),
}


@pytest.mark.parametrize("name", OPEN)
def test_port_22_is_seen_however_it_is_opened(name: str, tmp_path: Path) -> None:
    assert {stop.rule for stop in changed(tmp_path, OPEN[name]).stops} == (
        {"open-ssh", "unread"} if name == "by a macro" else {"open-ssh"}
    )


@pytest.mark.parametrize("name", RIGHTS)
def test_an_administrator_is_seen_however_it_is_made(name: str, tmp_path: Path) -> None:
    found = changed(tmp_path, RIGHTS[name])
    assert [stop.rule for stop in found.stops] == ["administrator-access"]


@pytest.mark.parametrize("name", ORDINARY)
def test_what_only_looks_like_it_passes(name: str, tmp_path: Path) -> None:
    found = changed(tmp_path, ORDINARY[name])
    assert found.gained and not found.stops


@pytest.mark.parametrize("name", ["kait", "bare", "full", "minimal"])
def test_what_the_library_makes_trips_no_guard(name: str, tmp_path: Path) -> None:
    stacks = {
        f"{name}-{part}": json.loads((TEMPLATES / f"{name}-{part}.json").read_text())
        for part in ("foundation", "cluster")
    }
    nothing = write(tmp_path / "a", {})
    (found,) = review_many(nothing, write(tmp_path / "b", stacks, institution=name))
    assert len(found.gained) > 50
    assert found.stops == ()
    assert [fact.words for fact in found.gained if fact.kind is Kind.EXPOSURE] == []
