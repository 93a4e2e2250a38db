"""Rights, open doors and public faces: what a reviewer sees, and what stops a pull request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import (
    CLUSTER,
    FOUNDATION,
    Config,
    Stacks,
    changed,
    configured,
    of_type,
    write,
)
from trainshed.review import Kind, Review, review
from trainshed.review.ingress import is_world
from trainshed.review.wording import security_groups

ROLE = "AWS::IAM::Role"
GROUP = "AWS::EC2::SecurityGroup"
ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"


def role(stacks: Stacks) -> Any:
    return of_type(stacks[CLUSTER], ROLE, "OnEventRole")["Properties"]


def group(stacks: Stacks) -> Any:
    return of_type(stacks[FOUNDATION], GROUP, "Egress")["Properties"]


def policy(stacks: Stacks) -> Any:
    return of_type(stacks[CLUSTER], "AWS::IAM::ManagedPolicy", "PoliciesHead")["Properties"]


def ingress(source: str, low: int | None, high: int | None, protocol: str = "tcp") -> Any:
    key = "CidrIpv6" if ":" in source else "CidrIp"
    rule = {key: source, "IpProtocol": protocol, "FromPort": low, "ToPort": high}
    return lambda stacks: group(stacks).update(
        SecurityGroupIngress=[{name: each for name, each in rule.items() if each is not None}]
    )


def allow(action: str | list[str], resource: str = "*", **more: Any) -> Any:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource, **more}
    return lambda stacks: policy(stacks)["PolicyDocument"]["Statement"].append(statement)


SSH_TO_ALL = {"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}

STOPPED: dict[str, tuple[Callable[[Stacks], object], str]] = {
    "port 22": (ingress("0.0.0.0/0", 22, 22), "open-ssh"),
    "port 22 by IPv6": (ingress("::/0", 22, 22), "open-ssh"),
    "a range that holds 22": (ingress("0.0.0.0/0", 0, 1024), "open-ssh"),
    "all TCP": (ingress("0.0.0.0/0", None, None), "open-ssh"),
    "everything": (ingress("0.0.0.0/0", None, None, "-1"), "open-ssh"),
    "half of the internet": (ingress("128.0.0.0/1", 22, 22), "open-ssh"),
    "administrator": (
        lambda s: role(s)["ManagedPolicyArns"].append(ADMINISTRATOR),
        "administrator-access",
    ),
    "administrator of a partition": (
        lambda s: role(s)["ManagedPolicyArns"].append(
            {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ADMINISTRATOR[7:]]]}
        ),
        "administrator-access",
    ),
    "rights over rights": (
        lambda s: role(s)["ManagedPolicyArns"].append("arn:aws:iam::aws:policy/IAMFullAccess"),
        "administrator-access",
    ),
    "every action": (allow("*"), "administrator-access"),
    "every action among others": (allow(["s3:GetObject", "*"]), "administrator-access"),
    "port 22 under a condition": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::SecurityGroup", "Egress")["Properties"].update(
            SecurityGroupIngress={"Fn::If": ["Open", [SSH_TO_ALL], {"Ref": "AWS::NoValue"}]}
        ),
        "open-ssh",
    ),
    "a port that the deployment decides": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::SecurityGroup", "Egress")["Properties"].update(
            SecurityGroupIngress=[{**SSH_TO_ALL, "FromPort": {"Ref": "Port"}}]
        ),
        "open-ssh",
    ),
    "administrator under two conditions": (
        lambda s: role(s)["ManagedPolicyArns"].append(
            {"Fn::If": ["A", {"Fn::If": ["B", "arn:x", ADMINISTRATOR]}, {"Ref": "AWS::NoValue"}]}
        ),
        "administrator-access",
    ),
    "every action but on one thing": (
        lambda s: policy(s)["PolicyDocument"]["Statement"].append(
            {"Effect": "Allow", "Action": "*", "NotResource": "arn:aws:s3:::bucket"}
        ),
        "administrator-access",
    ),
    "every right over rights": (allow("iam:*"), "administrator-access"),
    "a right to give rights": (allow("iam:Put*"), "administrator-access"),
    "all but one action": (
        lambda s: policy(s)["PolicyDocument"]["Statement"].append(
            {"Effect": "Allow", "NotAction": "iam:DeleteUser", "Resource": "*"}
        ),
        "administrator-access",
    ),
    "inline": (
        lambda s: role(s).update(
            Policies=[
                {
                    "PolicyDocument": {
                        "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}
                    }
                }
            ]
        ),
        "administrator-access",
    ),
    "a user's": (
        lambda s: s[CLUSTER]["Resources"].update(
            User={"Type": "AWS::IAM::User", "Properties": {"ManagedPolicyArns": [ADMINISTRATOR]}}
        ),
        "administrator-access",
    ),
}
PASSED: dict[str, Callable[[Stacks], object]] = {
    "port 22 from inside": ingress("10.0.0.0/8", 22, 22),
    "port 443": ingress("0.0.0.0/0", 443, 443),
    "port 22 of UDP": ingress("0.0.0.0/0", 22, 22, "udp"),
    "every action of a service": allow("s3:*"),
    "every action on one thing": allow("*", "arn:aws:s3:::bucket"),
}


@pytest.mark.parametrize("name", STOPPED)
def test_what_nobody_means_is_stopped(name: str, tmp_path: Path) -> None:
    change, rule = STOPPED[name]
    found = changed(tmp_path, change)
    assert found.is_stopped
    assert [stop.rule for stop in found.stops] == [rule]


@pytest.mark.parametrize("name", PASSED)
def test_what_is_ordinary_passes(name: str, tmp_path: Path) -> None:
    found = changed(tmp_path, PASSED[name])
    assert found.gained
    assert not found.stops


def test_what_was_open_before_is_no_news(tmp_path: Path) -> None:
    open_door = ingress("0.0.0.0/0", 22, 22)

    def stacks(change: Callable[[Stacks], object] = lambda s: None) -> Stacks:
        from tests.unit.review.assemblies import kait

        found = kait()
        open_door(found)
        change(found)
        return found

    other = stacks(lambda s: role(s).update(Description="other"))
    assert not review(write(tmp_path / "a", stacks()), write(tmp_path / "b", other)).stops


@pytest.mark.parametrize("accepted", ["open-ssh", "open-ssh:Egress"])
def test_an_acknowledgement_is_recorded(accepted: str, tmp_path: Path) -> None:
    place = "kait-foundation/NetworkEgressSecurityGroupC2F89228"
    rule = accepted.replace("Egress", place)
    found = changed(tmp_path, ingress("0.0.0.0/0", 22, 22), accepted=[rule])
    (stop,) = found.stops
    assert stop.is_accepted and not found.is_stopped


def test_an_acknowledgement_of_another_place_counts_for_nothing(tmp_path: Path) -> None:
    found = changed(tmp_path, ingress("0.0.0.0/0", 22, 22), accepted=["open-ssh:elsewhere"])
    assert found.is_stopped


def node(config: Config, policies: list[str]) -> None:
    iam = config["Scheduling"]["SlurmQueues"][0]["Iam"]
    iam["AdditionalIamPolicies"] = [{"Policy": arn} for arn in policies]


def test_a_node_with_administrator_access_is_stopped(tmp_path: Path) -> None:
    def change(config: Config) -> None:
        queues = config["Scheduling"]["SlurmQueues"]
        queues.append({**queues[0], "Name": "more"})

    found = configured(tmp_path, change)
    assert [(stop.rule, stop.place) for stop in found.stops] == [
        ("administrator-access", "SlurmQueues[more]")
    ]
    assert found.stops[0].sentence == (
        "Whoever is on it could do anything in the account: policy AdministratorAccess."
    )


def test_a_node_that_loses_administrator_access_is_good_news(tmp_path: Path) -> None:
    found = configured(tmp_path, lambda config: node(config, []))
    assert not found.stops
    assert [fact.words for fact in found.lost] == ["policy AdministratorAccess"]


@pytest.mark.parametrize(
    "ssh", [{}, {"KeyName": "k"}, {"AllowedIps": "0.0.0.0/0"}], ids=["none", "no range", "world"]
)
def test_a_head_node_open_to_the_world_is_stopped(ssh: Config, tmp_path: Path) -> None:
    """ParallelCluster opens port 22 to the internet where no range is given."""
    found = configured(tmp_path, lambda config: config["HeadNode"].update(Ssh=ssh))
    assert [(stop.rule, stop.place) for stop in found.stops] == [("open-ssh", "HeadNode")]


def test_a_range_of_the_head_node_that_the_deployment_decides_is_stopped(tmp_path: Path) -> None:
    """``${Range}`` is how a reference of the template stands in a configuration."""
    ssh = {"AllowedIps": "${Range}"}
    (stop,) = configured(tmp_path, lambda config: config["HeadNode"].update(Ssh=ssh)).stops
    assert (stop.rule, stop.place) == ("open-ssh", "HeadNode")
    assert "tcp 22 from whatever the deployment says, ${Range}" in stop.sentence


def test_a_head_node_that_nobody_reaches_opens_nothing(tmp_path: Path) -> None:
    ssh = {"AllowedIps": "255.255.255.255/32"}
    found = configured(tmp_path, lambda config: config["HeadNode"].update(Ssh=ssh))
    assert not found.gained
    assert [fact.words for fact in found.lost] == ["tcp 22 from 10.0.0.0/8"]


def test_login_nodes_have_the_range_of_the_head_node(tmp_path: Path) -> None:
    pool = {"Name": "login", "InstanceType": "m7i.large", "Count": 1}
    found = configured(tmp_path, lambda config: config.update(LoginNodes={"Pools": [pool]}))
    assert [fact.words for fact in found.gained] == ["tcp 22 from 10.0.0.0/8"]
    assert not found.stops


def words(found: Review) -> list[tuple[str, str]]:
    return [(group.title, fact.words) for group in security_groups(found) for fact in group.facts]


EXPOSED: dict[str, tuple[Callable[[Stacks], object], tuple[str, str]]] = {
    "bucket": (
        lambda s: of_type(s[FOUNDATION], "AWS::S3::Bucket")["Properties"][
            "PublicAccessBlockConfiguration"
        ].update(BlockPublicPolicy=False),
        ("Public exposure new", "BlockPublicPolicy is off"),
    ),
    "bucket policy": (
        lambda s: of_type(s[FOUNDATION], "AWS::S3::BucketPolicy")["Properties"]["PolicyDocument"][
            "Statement"
        ].append({"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}),
        ("Public exposure new", "everybody may s3:GetObject"),
    ),
    "encryption": (
        lambda s: of_type(s[FOUNDATION], "AWS::S3::Bucket")["Properties"].pop("BucketEncryption"),
        ("Protection gone", "encryption"),
    ),
    "subnet": (
        lambda s: of_type(s[FOUNDATION], "AWS::EC2::Subnet", "Compute")["Properties"].update(
            MapPublicIpOnLaunch=True
        ),
        ("Public exposure new", "gives instances public addresses"),
    ),
    "function": (
        lambda s: s[CLUSTER]["Resources"].update(
            Open={
                "Type": "AWS::Lambda::Permission",
                "Properties": {"Action": "lambda:InvokeFunction", "Principal": "*"},
            }
        ),
        ("Public exposure new", "everybody may lambda:InvokeFunction"),
    ),
    "wildcard": (
        allow("s3:*", "arn:aws:s3:::bucket"),
        ("Rights gained", "s3:* on arn:aws:s3:::bucket"),
    ),
    "trust": (
        lambda s: role(s)["AssumeRolePolicyDocument"]["Statement"].append(
            {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "111122223333"}}
        ),
        ("Rights gained", 'may be taken on by {"AWS": "111122223333"}'),
    ),
}


@pytest.mark.parametrize("name", EXPOSED)
def test_what_opens_is_told(name: str, tmp_path: Path) -> None:
    change, expected = EXPOSED[name]
    assert expected in words(changed(tmp_path, change))


def test_a_wildcard_is_marked(tmp_path: Path) -> None:
    found = changed(tmp_path, allow(["s3:*", "s3:GetObject"], "arn:aws:s3:::bucket"))
    assert {fact.words: fact.is_alarming for fact in found.gained} == {
        "s3:* on arn:aws:s3:::bucket": True,
        "s3:GetObject on arn:aws:s3:::bucket": False,
    }


def test_rights_under_other_conditions_are_one_line(tmp_path: Path) -> None:
    def stacks(address: str) -> Stacks:
        from tests.unit.review.assemblies import kait

        found = kait()
        condition = {"StringEquals": {"aws:SourceVpc": address}}
        allow("s3:GetObject", "*", Condition=condition)(found)
        return found

    found = review(write(tmp_path / "a", stacks("vpc-1")), write(tmp_path / "b", stacks("vpc-2")))
    assert words(found) == [("Rights under other conditions", "s3:GetObject on *: +vpc-2, -vpc-1")]


def test_termination_protection_that_goes_is_told(tmp_path: Path) -> None:
    from tests.unit.review.assemblies import kait

    found = review(write(tmp_path / "a", kait()), write(tmp_path / "b", kait(), protected=False))
    assert [(fact.kind, fact.words) for fact in found.lost] == [
        (Kind.PROTECTION, "termination protection")
    ] * 2


def test_a_new_hash_of_a_script_is_no_new_right(tmp_path: Path) -> None:
    from tests.unit.review.assemblies import kait

    def stacks(digit: str) -> Stacks:
        found = kait()
        allow("s3:GetObject", f"arn:aws:s3:::assets/{digit * 64}.sh")(found)
        return found

    found = review(write(tmp_path / "a", stacks("a")), write(tmp_path / "b", stacks("b")))
    assert not found.gained and not found.lost


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("0.0.0.0/0", True),
        ("::/0", True),
        ("64.0.0.0/2", True),
        ("10.0.0.0/8", False),
        ("2001:db8::/32", False),
        ("pl-0123456789abcdef0", False),
        ("sg-0123456789abcdef0", False),
    ],
)
def test_the_internet_is_known_when_seen(source: str, answer: bool) -> None:
    assert is_world(source) is answer
