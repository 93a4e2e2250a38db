"""A network that is made here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from trainshed import facts
from trainshed.network import INTERFACE_ENDPOINTS, TrainingNetwork

Made = Callable[[str], Template]
Of = Callable[[Template, str], list[dict[str, Any]]]


@pytest.mark.parametrize("internet", ["nat", "isolated"])
def test_names_resolve_in_the_vpc(made: Made, internet: str) -> None:
    made(internet).has_resource_properties(
        "AWS::EC2::VPC",
        {"CidrBlock": "10.0.0.0/16", "EnableDnsSupport": True, "EnableDnsHostnames": True},
    )


def test_every_subnet_is_in_the_zone_and_gives_no_public_address(made: Made, resources: Of) -> None:
    subnets = resources(made("nat"), "AWS::EC2::Subnet")
    assert {s["CidrBlock"] for s in subnets} == {"10.0.0.0/17", "10.0.255.240/28"}
    assert {s["AvailabilityZone"] for s in subnets} == {"us-east-1b"}
    assert [s["MapPublicIpOnLaunch"] for s in subnets] == [False, False]


def test_nodes_go_out_through_the_nat_gateway(made: Made) -> None:
    template = made("nat")
    [nat] = template.find_resources("AWS::EC2::NatGateway")
    [table] = [t for t in template.find_resources("AWS::EC2::RouteTable") if "Compute" in t]
    template.has_resource_properties(
        "AWS::EC2::Route",
        {
            "RouteTableId": {"Ref": table},
            "DestinationCidrBlock": "0.0.0.0/0",
            "NatGatewayId": {"Ref": nat},
        },
    )


def test_the_nat_gateway_lives_no_longer_than_its_way_out(made: Made) -> None:
    template = made("nat")
    [attachment] = template.find_resources("AWS::EC2::VPCGatewayAttachment")
    [nat] = template.find_resources("AWS::EC2::NatGateway").values()
    [out] = nat["DependsOn"]
    assert template.to_json()["Resources"][out]["DependsOn"] == [attachment]


@pytest.mark.parametrize(
    "kind",
    ["AWS::EC2::NatGateway", "AWS::EC2::InternetGateway", "AWS::EC2::Route", "AWS::EC2::EIP"],
)
def test_an_isolated_network_has_no_way_out(made: Made, kind: str) -> None:
    made("isolated").resource_count_is(kind, 0)


def test_a_network_with_nat_has_an_s3_endpoint_and_no_other(made: Made, resources: Of) -> None:
    [endpoint] = resources(made("nat"), "AWS::EC2::VPCEndpoint")
    assert endpoint["VpcEndpointType"] == "Gateway"
    assert endpoint["ServiceName"]["Fn::Join"][1][-1] == ".s3"
    assert len(endpoint["RouteTableIds"]) == 1


def test_an_isolated_network_reaches_what_a_cluster_calls(made: Made, resources: Of) -> None:
    endpoints = resources(made("isolated"), "AWS::EC2::VPCEndpoint")
    names = {
        (e["VpcEndpointType"], _service(e["ServiceName"]), e.get("PrivateDnsEnabled"))
        for e in endpoints
    }
    assert names == {
        ("Gateway", "s3", None),
        ("Gateway", "dynamodb", None),
        *(("Interface", service, True) for service in INTERFACE_ENDPOINTS.values()),
    }


def _service(name: Any) -> str:
    text = name if isinstance(name, str) else "".join(map(str, name["Fn::Join"][1]))
    return text.partition("us-east-1.")[2] or text.rpartition("}.")[2]


def test_endpoints_listen_to_the_vpc_on_443_alone(made: Made, resources: Of) -> None:
    template = made("isolated")
    group_id, group = _group(template, "Endpoint")
    [rule] = group["SecurityGroupIngress"]
    assert (rule["CidrIp"], rule["FromPort"], rule["ToPort"]) == ("10.0.0.0/16", 443, 443)
    groups = [e.get("SecurityGroupIds") for e in resources(template, "AWS::EC2::VPCEndpoint")]
    used = [g for g in groups if g]
    assert used == [[{"Fn::GetAtt": [group_id, "GroupId"]}]] * len(INTERFACE_ENDPOINTS)


@pytest.mark.parametrize("internet", ["nat", "isolated"])
def test_the_efa_group_is_open_to_itself_both_ways_and_to_nothing_else(
    made: Made, resources: Of, internet: str
) -> None:
    template = made(internet)
    group_id, group = _group(template, "Efa")
    itself = {"Fn::GetAtt": [group_id, "GroupId"]}
    [ingress] = resources(template, "AWS::EC2::SecurityGroupIngress")
    [egress] = resources(template, "AWS::EC2::SecurityGroupEgress")
    both = {"GroupId": itself, "IpProtocol": "-1"}
    assert ingress.items() >= {**both, "SourceSecurityGroupId": itself}.items()
    assert egress.items() >= {**both, "DestinationSecurityGroupId": itself}.items()
    assert "SecurityGroupIngress" not in group
    assert [rule["CidrIp"] for rule in group["SecurityGroupEgress"]] == ["255.255.255.255/32"]


@pytest.mark.parametrize(
    ("internet", "ways"),
    [
        ("nat", [("0.0.0.0/0", 443), ("0.0.0.0/0", 80), ("10.0.0.0/16", None)]),
        ("isolated", [("0.0.0.0/0", 443), ("10.0.0.0/16", None)]),
    ],
)
def test_the_egress_group_lets_nodes_out_and_nobody_in(
    made: Made, internet: str, ways: list[tuple[str, int | None]]
) -> None:
    _, group = _group(made(internet), "Egress")
    assert [(r["CidrIp"], r.get("ToPort")) for r in group["SecurityGroupEgress"]] == ways
    assert "SecurityGroupIngress" not in group


@pytest.mark.parametrize("internet", ["nat", "isolated"])
def test_nothing_is_open_to_the_internet(made: Made, internet: str) -> None:
    for resource in made(internet).to_json()["Resources"].values():
        rules = resource["Properties"].get("SecurityGroupIngress", [])
        assert not [rule for rule in rules if rule["CidrIp"] == "0.0.0.0/0"]


def test_every_connection_is_logged_for_a_year(made: Made) -> None:
    template = made("nat")
    template.has_resource_properties("AWS::EC2::FlowLog", {"TrafficType": "ALL"})
    template.has_resource(
        "AWS::Logs::LogGroup",
        {
            "Properties": {"RetentionInDays": 365},
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
        },
    )


def test_the_flow_log_may_write_to_its_log_group_and_nothing_else(
    made: Made, resources: Of
) -> None:
    template = made("nat")
    [log_group] = template.find_resources("AWS::Logs::LogGroup")
    [policy] = resources(template, "AWS::IAM::ManagedPolicy")
    [statement] = policy["PolicyDocument"]["Statement"]
    assert statement == {
        "Effect": "Allow",
        "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        "Resource": {"Fn::GetAtt": [log_group, "Arn"]},
    }


def test_a_zone_id_is_written_as_one(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network", zone=facts.ZoneId("use1-az4"))
    cdk.CfnOutput(stack, "Zone", value=network.compute_subnet.availability_zone)
    template = Template.from_stack(stack)
    subnets = template.find_resources("AWS::EC2::Subnet")
    places = [(s["Properties"]["AvailabilityZoneId"], *s["Properties"]) for s in subnets.values()]
    assert {place[0] for place in places} == {"use1-az4"}
    assert not [place for place in places if "AvailabilityZone" in place]
    [compute] = [key for key in subnets if "Compute" in key]
    template.has_output("Zone", {"Value": {"Fn::GetAtt": [compute, "AvailabilityZone"]}})


@pytest.mark.parametrize("zone", [facts.ZoneId("use1-az4"), facts.ZoneName("us-east-1a")])
def test_nothing_is_looked_up(zone: facts.Zone, tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path))
    env = cdk.Environment(account="123456789012", region="us-east-1")
    network = TrainingNetwork(cdk.Stack(app, "Foreign", env=env), "Network", zone=zone)
    assert network.vpc.availability_zones
    app.synth()
    assert "missing" not in json.loads((tmp_path / "manifest.json").read_text())


def test_a_stack_without_an_environment_has_the_same_zone() -> None:
    foreign = cdk.Stack(cdk.App(), "Foreign")
    network = TrainingNetwork(foreign, "Network", zone=facts.ZoneName("eu-west-1c"))
    assert network.vpc.availability_zones == ["eu-west-1c"]
    assert network.compute_subnet.availability_zone == "eu-west-1c"


def test_a_fleet_comes_after_and_goes_before_all_that_carries_it(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network", zone=facts.ZoneId("use1-az4"))
    fleet = cdk.CfnResource(stack, "Fleet", type="Test::Cluster::Fleet")
    fleet.node.add_dependency(network.ready)
    template = Template.from_stack(stack)
    [made] = template.find_resources("Test::Cluster::Fleet").values()
    kinds = {template.to_json()["Resources"][key]["Type"] for key in made["DependsOn"]}
    assert kinds >= {
        "AWS::EC2::Route",
        "AWS::EC2::NatGateway",
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::VPCEndpoint",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
    }


def test_the_subnets_are_found_through_the_vpc(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network", zone=facts.ZoneId("use1-az4"))
    assert network.public_subnet
    [private], [public] = network.vpc.private_subnets, network.vpc.public_subnets
    assert private.subnet_id == network.compute_subnet.subnet_id
    assert public.subnet_id == network.public_subnet.subnet_id
    assert network.compute_subnet.ipv4_cidr_block == "10.0.0.0/17"
    assert network.vpc.vpc_cidr_block == "10.0.0.0/16"
    assert network.node_security_groups == (
        network.efa_security_group,
        network.egress_security_group,
    )
    # CDK's own constructs take it.
    ec2.Instance(
        stack,
        "Probe",
        vpc=network.vpc,
        instance_type=ec2.InstanceType("t3.micro"),
        machine_image=ec2.MachineImage.generic_linux({"us-east-1": "ami-0123456789abcdef0"}),
        security_group=network.egress_security_group,
    )
    Template.from_stack(stack).resource_count_is("AWS::EC2::Instance", 1)


def test_the_logical_ids_of_what_holds_data_and_nodes_stay(made: Made) -> None:
    kinds = ("AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup", "AWS::Logs::LogGroup")
    ids = {key for kind in kinds for key in made("nat").find_resources(kind)}
    assert ids == {
        "NetworkEfaSecurityGroup3744DDDC",
        "NetworkEgressSecurityGroupC2F89228",
        "NetworkVpc7FB7348F",
        "NetworkVpcComputeSubnet9A92EDF3",
        "NetworkVpcFlowLogs3CF92765",
        "NetworkVpcPublicSubnet7E2EB5A7",
    }


def _group(template: Template, name: str) -> tuple[str, dict[str, Any]]:
    groups = template.find_resources("AWS::EC2::SecurityGroup").items()
    [(key, group)] = [(k, g) for k, g in groups if f"{name}SecurityGroup" in k]
    return key, group["Properties"]


KEPT = ("AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({}, "RetainExceptOnCreate", id="by default"),
        pytest.param({"removal_policy": cdk.RemovalPolicy.DESTROY}, "Delete", id="destroyed"),
    ],
)
def test_what_a_kept_file_system_stands_on_is_kept_with_it(
    stack: cdk.Stack, policy: dict[str, Any], expected: str
) -> None:
    TrainingNetwork(stack, "Network", zone=facts.ZoneName("us-east-1b"), **policy)
    resources = Template.from_stack(stack).to_json()["Resources"].values()
    assert {r["DeletionPolicy"] for r in resources if r["Type"] in KEPT} == {expected}
    assert len([r for r in resources if r["Type"] == "AWS::EC2::SecurityGroup"]) == 2
    rules = ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")
    assert {r["DeletionPolicy"] for r in resources if r["Type"] in rules} == {expected}


def test_no_gateway_is_paid_for_after_the_stack(made: Made) -> None:
    for kind in ("AWS::EC2::NatGateway", "AWS::EC2::EIP", "AWS::EC2::VPCEndpoint"):
        for resource in made("nat").find_resources(kind).values():
            assert "DeletionPolicy" not in resource
