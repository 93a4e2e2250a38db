"""A VPC of one zone: compute subnet, NAT gateway, flow log."""

from __future__ import annotations

from ipaddress import IPv4Network

from aws_cdk import CfnTag, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from .. import facts
from .._acknowledge import acknowledge
from .._stacks import stack_facts
from ..subnets import SubnetPlan, subnet_plan

EVERYWHERE = "0.0.0.0/0"

_REASONS = {
    "CloudFormation-Validate::W3010": (
        "The zone is where the institution's GPU capacity is; another would have none."
    ),
    "NIST.800.53.R5-CloudWatchLogGroupEncrypted": (
        "CloudWatch Logs encrypts every log group with a key of its own; flow logs hold addresses "
        "and ports, no content."
    ),
    "NIST.800.53.R5-VPCDefaultSecurityGroupClosed": (
        "CloudFormation cannot change a VPC's default security group, and CDK's way to is a custom "
        "resource with a Lambda function. Nothing made here uses that group."
    ),
    "NIST.800.53.R5-VPCNoUnrestrictedRouteToIGW": (
        "The public subnet holds the NAT gateway and nothing else; nodes have no public address "
        "and no route to the internet gateway."
    ),
}


class ClusterVpc(Construct):
    """A VPC with the subnets of :mod:`trainshed.subnets`, made of plain resources.

    CDK's own ``Vpc`` asks for the account's zones, which is a lookup, or takes two made-up ones.

    Args:
        zone: Availability Zone of every subnet.
        cidr: Address range, /16 to /28.
        with_nat: Whether there are an internet gateway, a public subnet and a NAT gateway.
        flow_log_retention_days: How long the log of accepted and rejected connections is kept.
        removal_policy: What becomes of VPC and subnets when they are deleted. Gateways and routes
            are not kept.
    """

    vpc: ec2.IVpc
    """The VPC; its subnets are in it."""
    compute_subnet: ec2.ISubnet
    """The private subnet."""
    public_subnet: ec2.ISubnet | None
    """The subnet of the NAT gateway; None without one."""
    nat_gateway_id: str | None
    """Id of the NAT gateway; None without one."""
    log_group: logs.ILogGroup
    """Where the flow log goes. Retained."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        zone: facts.Zone,
        cidr: str,
        with_nat: bool,
        flow_log_retention_days: int,
        removal_policy: RemovalPolicy,
    ) -> None:
        super().__init__(scope, id)
        self._facts = stack_facts(self, scope)
        self._zone = zone
        self._path = self.node.path
        self._removal_policy = removal_policy
        plan = subnet_plan(cidr)
        self._vpc = ec2.CfnVPC(
            self,
            "Resource",
            cidr_block=cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags=self._name(),
        )
        self._vpc.apply_removal_policy(removal_policy)
        # Read once: each time is a call to the CDK's Node process.
        self._vpc_id = self._vpc.ref
        compute, routes = self._subnet("Compute", plan.compute)
        public = routes_public = self.nat_gateway_id = None
        if with_nat and plan.public:
            public, routes_public = self._subnet("Public", plan.public)
            self.nat_gateway_id = self._route_out(public, routes_public, routes)
        self.vpc = self._reference(cidr, plan, compute, routes, public, routes_public)
        private = self.vpc.private_subnets if public else self.vpc.isolated_subnets
        self.compute_subnet = private[0]
        self.public_subnet = self.vpc.public_subnets[0] if public else None
        self.log_group = self._flow_log(flow_log_retention_days)
        acknowledge(self, _REASONS)

    def _name(self, part: str = "") -> list[CfnTag]:
        return [CfnTag(key="Name", value="/".join(filter(None, (self._path, part))))]

    def _subnet(self, name: str, network: IPv4Network) -> tuple[ec2.CfnSubnet, ec2.CfnRouteTable]:
        by_name = isinstance(self._zone, facts.ZoneName)
        subnet = ec2.CfnSubnet(
            self,
            f"{name}Subnet",
            vpc_id=self._vpc_id,
            cidr_block=str(network),
            availability_zone=self._zone.value if by_name else None,
            availability_zone_id=None if by_name else self._zone.value,
            map_public_ip_on_launch=False,
            tags=self._name(f"{name}Subnet"),
        )
        subnet.apply_removal_policy(self._removal_policy)
        table = ec2.CfnRouteTable(
            self, f"{name}RouteTable", vpc_id=self._vpc_id, tags=self._name(f"{name}Subnet")
        )
        ec2.CfnSubnetRouteTableAssociation(
            self, f"{name}RouteTableAssociation", subnet_id=subnet, route_table_id=table
        )
        return subnet, table

    def _route_out(
        self, public: ec2.CfnSubnet, public_routes: ec2.CfnRouteTable, routes: ec2.CfnRouteTable
    ) -> str:
        gateway = ec2.CfnInternetGateway(self, "InternetGateway", tags=self._name())
        attachment = ec2.CfnVPCGatewayAttachment(
            self,
            "InternetGatewayAttachment",
            vpc_id=self._vpc_id,
            internet_gateway_id=gateway,
        )
        out = ec2.CfnRoute(
            self,
            "PublicDefaultRoute",
            route_table_id=public_routes,
            destination_cidr_block=EVERYWHERE,
            gateway_id=gateway,
        )
        out.add_resource_dependency(attachment)
        address = ec2.CfnEIP(self, "NatAddress", domain="vpc", tags=self._name("NatGateway"))
        address.add_resource_dependency(attachment)
        nat = ec2.CfnNatGateway(
            self,
            "NatGateway",
            subnet_id=public,
            allocation_id=address.attr_allocation_id,
            tags=self._name("NatGateway"),
        )
        nat.add_resource_dependency(out)
        nat_gateway_id = nat.ref
        ec2.CfnRoute(
            self,
            "ComputeDefaultRoute",
            route_table_id=routes,
            destination_cidr_block=EVERYWHERE,
            nat_gateway_id=nat_gateway_id,
        )
        return nat_gateway_id

    def _reference(
        self,
        cidr: str,
        plan: SubnetPlan,
        compute: ec2.CfnSubnet,
        routes: ec2.CfnRouteTable,
        public: ec2.CfnSubnet | None,
        public_routes: ec2.CfnRouteTable | None,
    ) -> ec2.IVpc:
        zone = self._zone
        place = zone.value if isinstance(zone, facts.ZoneName) else compute.attr_availability_zone
        ids, tables, ranges = [compute.ref], [routes.ref], [str(plan.compute)]
        if public is None or public_routes is None:
            return ec2.Vpc.from_vpc_attributes(
                self,
                "Reference",
                vpc_id=self._vpc_id,
                vpc_cidr_block=cidr,
                availability_zones=[place],
                isolated_subnet_ids=ids,
                isolated_subnet_route_table_ids=tables,
                isolated_subnet_ipv4_cidr_blocks=ranges,
            )
        return ec2.Vpc.from_vpc_attributes(
            self,
            "Reference",
            vpc_id=self._vpc_id,
            vpc_cidr_block=cidr,
            availability_zones=[place],
            private_subnet_ids=ids,
            private_subnet_route_table_ids=tables,
            private_subnet_ipv4_cidr_blocks=ranges,
            public_subnet_ids=[public.ref],
            public_subnet_route_table_ids=[public_routes.ref],
            public_subnet_ipv4_cidr_blocks=[str(plan.public)],
        )

    def _flow_log(self, retention_days: int) -> logs.ILogGroup:
        log_group = logs.CfnLogGroup(self, "FlowLogs", retention_in_days=retention_days)
        log_group.apply_removal_policy(RemovalPolicy.RETAIN)
        arn = log_group.attr_arn
        ec2.CfnFlowLog(
            self,
            "FlowLog",
            resource_id=self._vpc_id,
            resource_type="VPC",
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_group_name=log_group,
            deliver_logs_permission_arn=self._flow_log_role(arn),
            tags=self._name("FlowLog"),
        )
        return logs.LogGroup.from_log_group_arn(self, "FlowLogsReference", arn)

    def _flow_log_role(self, log_group_arn: str) -> iam.Role:
        # VPC user guide "IAM role for publishing flow logs to CloudWatch Logs", read 2026-11-29;
        # without logs:CreateLogGroup and DescribeLogGroups, since the group is there.
        write = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            resources=[log_group_arn],
        )
        # The role refers to the policy, so that the log never starts before its permission.
        policy = iam.ManagedPolicy(
            self,
            "FlowLogPolicy",
            description="Lets the VPC's flow log write to its log group",
            statements=[write],
        )
        return iam.Role(
            self,
            "FlowLogRole",
            description="Writes the VPC's flow log to its log group",
            assumed_by=iam.ServicePrincipal(
                "vpc-flow-logs.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": self._facts.account}},
            ),
            managed_policies=[policy],
        )
