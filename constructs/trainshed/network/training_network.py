"""The network of a cluster: one zone, nodes in a private subnet."""

from __future__ import annotations

from typing import Literal

from aws_cdk import Annotations, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, DependencyGroup, IDependable

from .. import facts
from .._given import check_present
from .._stacks import stack_facts
from ..records import is_stand_in
from ..subnets import check_new_vpc
from . import security_groups
from .checks import (
    check_efa_group,
    check_existing,
    check_groups,
    check_numbers,
    check_zone_type,
    range_of,
    refuse_beside_vpc,
)
from .endpoints import (
    GATEWAY_ENDPOINTS,
    INTERFACE_ENDPOINTS,
    isolated_endpoints,
    s3_endpoint,
)
from .known import name_of, told
from .vpc import ClusterVpc

DEFAULT_CIDR = "10.0.0.0/16"
DEFAULT_FLOW_LOG_RETENTION_DAYS = 365


class TrainingNetwork(Construct):
    """VPC, subnets, endpoints and security groups of a cluster, in one Availability Zone.

    It looks nothing up: the zone is given, since zones that CDK finds by itself are two, or made
    up, and need not be where the GPUs are. ``trainshed.subnets`` says how the range is cut.

    VPC, subnets and the groups of the nodes are kept when they are deleted, since they stand under
    a file system and a cluster that are kept. The way out is not: NAT gateway and its address,
    internet gateway, routes and endpoints go, with what they cost. A cluster that still runs then
    reaches neither the internet nor AWS; delete it before this.

    Args:
        zone: Availability Zone of the nodes and of the file system, where the capacity is.
        cidr: Address range of a new VPC, /16 to /28. Default: 10.0.0.0/16.
        internet: How nodes reach out: ``nat``, through a NAT gateway in a public subnet of its
            own; ``isolated``, only to AWS, through VPC endpoints. Of an existing VPC it says how
            that one is.
        flow_log_retention_days: How long a new VPC's log of connections is kept. Default: 365.
        compute_addresses: Private IPv4 addresses that nodes, login nodes and file system take in
            the compute subnet; ``launch.addresses_per_node`` counts a node's. Endpoints made here
            are added. Default: not compared.
        vpc: An existing VPC, with its ``compute_subnet``; DNS support and DNS hostnames are on in
            it. Default: one is made.
        compute_subnet: The private subnet of ``vpc`` for nodes and file system.
        efa_security_group: A group that allows all traffic to and from itself, both ways.
            Default: one is made.
        efa_group_allows_itself: States that ``efa_security_group`` has those two rules, which
            cannot be seen at synth.
        egress_security_group: A group that lets nodes reach the internet, or the VPC's endpoints.
            Default: one is made.
        removal_policy: What becomes of VPC, subnets and the groups of the nodes when they are
            deleted or replaced. With a retained file system in them, or in whose rules they are,
            they cannot be deleted, and the deletion of the stack would stop at them. Default:
            they are kept; only a stack whose first creation fails takes them back.

    Raises:
        ValueError: The arguments contradict each other, the zone is not in the stack's Region, or
            the compute subnet has too few addresses.

    Example::

        network = TrainingNetwork(stack, "Network", zone=facts.ZoneId("use1-az4"))
        fleet.node.add_dependency(network.ready)
    """

    internet: Literal["nat", "isolated"]
    """How nodes reach out."""
    zone: facts.Zone
    """Availability Zone of nodes and file system."""
    vpc: ec2.IVpc
    """The VPC."""
    compute_subnet: ec2.ISubnet
    """The private subnet of nodes and file system."""
    public_subnet: ec2.ISubnet | None
    """The subnet of the NAT gateway; None without one, and of an existing VPC."""
    nat_gateway_id: str | None
    """Id of the NAT gateway; None without one, and of an existing VPC."""
    efa_security_group: ec2.ISecurityGroup
    """Group of every node: all traffic to and from itself."""
    egress_security_group: ec2.ISecurityGroup
    """Group of every node: out to the internet, AWS and the VPC."""
    endpoint_security_group: ec2.ISecurityGroup | None
    """Group of the interface endpoints; None where none are made."""
    node_security_groups: tuple[ec2.ISecurityGroup, ec2.ISecurityGroup]
    """Both groups of a node, EFA first."""
    ready: IDependable
    """What a fleet depends on, to be created after and deleted before: routes, NAT, endpoints,
    rules."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        zone: facts.Zone,
        cidr: str | None = None,
        internet: Literal["nat", "isolated"] = "nat",
        flow_log_retention_days: int | None = None,
        compute_addresses: int = 0,
        vpc: ec2.IVpc | None = None,
        compute_subnet: ec2.ISubnet | None = None,
        efa_security_group: ec2.ISecurityGroup | None = None,
        efa_group_allows_itself: bool = False,
        egress_security_group: ec2.ISecurityGroup | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        super().__init__(scope, id)
        check_zone_type(zone)
        check_numbers(internet, flow_log_retention_days, compute_addresses)
        facts.check_zone(zone, stack_facts(self, scope).region)
        check_efa_group(efa_security_group, efa_group_allows_itself)
        self.internet = internet
        self.zone = zone
        self.endpoint_security_group = None
        ready = DependencyGroup()
        if vpc and compute_subnet:
            refuse_beside_vpc(cidr=cidr, flow_log_retention_days=flow_log_retention_days)
            check_existing(vpc, compute_subnet, zone, compute_addresses)
            check_groups(
                vpc,
                efa_security_group=efa_security_group,
                egress_security_group=egress_security_group,
            )
            self._warn_of_lookup(compute_subnet)
            self._warn_if_cut_off(vpc, compute_subnet, internet)
            self.vpc, self.compute_subnet, self.public_subnet = vpc, compute_subnet, None
            self.nat_gateway_id = None
            self._warn_if_isolated(internet)
        elif vpc or compute_subnet:
            given, missing = ("vpc", "compute_subnet") if vpc else ("compute_subnet", "vpc")
            raise ValueError(f"{given} is given without {missing}; give both, or neither")
        else:
            cidr = cidr or DEFAULT_CIDR
            check_new_vpc(
                cidr,
                internet=internet,
                addresses=compute_addresses,
                fix="EFA interfaces of type efa-only, or fewer nodes",
            )
            made = ClusterVpc(
                self,
                "Vpc",
                zone=zone,
                cidr=cidr,
                with_nat=internet == "nat",
                flow_log_retention_days=(
                    flow_log_retention_days or DEFAULT_FLOW_LOG_RETENTION_DAYS
                ),
                removal_policy=removal_policy,
            )
            self.vpc, self.compute_subnet = made.vpc, made.compute_subnet
            self.public_subnet, self.nat_gateway_id = made.public_subnet, made.nat_gateway_id
            ready.add(made, *self._endpoints(internet, cidr))
        self.efa_security_group = efa_security_group or security_groups.efa_security_group(
            self, "EfaSecurityGroup", vpc=self.vpc, removal_policy=removal_policy
        )
        self.egress_security_group = egress_security_group or security_groups.egress_security_group(
            self,
            "EgressSecurityGroup",
            vpc=self.vpc,
            cidr=cidr or range_of(self.vpc),
            internet=internet,
            removal_policy=removal_policy,
        )
        self.node_security_groups = (self.efa_security_group, self.egress_security_group)
        ready.add(*self.node_security_groups)
        self.ready = ready

    @staticmethod
    def from_attributes(
        scope: Construct,
        id: str,
        *,
        zone: facts.Zone,
        internet: Literal["nat", "isolated"],
        vpc: ec2.IVpc,
        compute_subnet: ec2.ISubnet,
        efa_security_group: ec2.ISecurityGroup,
        egress_security_group: ec2.ISecurityGroup,
    ) -> TrainingNetwork:
        """Take the network that a ``TrainingNetwork`` of another stack made, as it is.

        Nothing is checked but that all is given, and nothing added or warned of: the other one did
        that. For any other network, give its parts to the constructor.

        Args:
            scope: Where it belongs.
            id: Its id there.
            zone: Availability Zone of nodes and file system.
            internet: How nodes reach out.
            vpc: Its VPC.
            compute_subnet: Its private subnet of nodes and file system.
            efa_security_group: Its group with all traffic to and from itself.
            egress_security_group: Its group with the way out.

        Raises:
            ValueError: One of them is None.
        """
        check_present(
            zone=zone,
            internet=internet,
            vpc=vpc,
            compute_subnet=compute_subnet,
            efa_security_group=efa_security_group,
            egress_security_group=egress_security_group,
        )
        network = _MadeElsewhere(scope, id)
        network.internet, network.zone = internet, zone
        network.vpc, network.compute_subnet = vpc, compute_subnet
        network.efa_security_group = efa_security_group
        network.egress_security_group = egress_security_group
        network.node_security_groups = (efa_security_group, egress_security_group)
        return network

    def _endpoints(self, internet: str, cidr: str) -> list[Construct]:
        s3 = s3_endpoint(self, "S3Endpoint", vpc=self.vpc, subnet=self.compute_subnet)
        if internet == "nat":
            return [s3]
        self.endpoint_security_group = security_groups.endpoint_security_group(
            self, "EndpointSecurityGroup", vpc=self.vpc, cidr=cidr
        )
        others = isolated_endpoints(
            self, vpc=self.vpc, subnet=self.compute_subnet, group=self.endpoint_security_group
        )
        return [s3, *others]

    def _warn_of_lookup(self, subnet: ec2.ISubnet) -> None:
        zone = told(lambda: subnet.availability_zone)
        if zone and is_stand_in(zone):
            Annotations.of(self).add_warning_v2(
                "trainshed:subnet-not-looked-up",
                f"the zone and the size of compute_subnet {name_of(subnet)} are not looked up yet "
                "and not compared; the CDK command line looks them up and synthesises again",
            )

    def _warn_if_cut_off(self, vpc: ec2.IVpc, subnet: ec2.ISubnet, internet: str) -> None:
        cut_off = [isolated.subnet_id for isolated in vpc.isolated_subnets]
        if internet == "nat" and subnet.subnet_id in cut_off:
            Annotations.of(self).add_warning_v2(
                "trainshed:isolated-subnet",
                f"compute_subnet {name_of(subnet)} is an isolated subnet of its VPC and internet "
                "is 'nat'; without a route out, such as a transit gateway's, nodes hang at boot: "
                "take a subnet with one, or say internet='isolated'",
            )

    def _warn_if_isolated(self, internet: str) -> None:
        if internet == "isolated":
            Annotations.of(self).add_warning_v2(
                "trainshed:isolated-vpc-endpoints",
                "the VPC is isolated and its endpoints cannot be seen at synth; without them nodes "
                f"hang at boot. It needs gateway endpoints for {', '.join(GATEWAY_ENDPOINTS)} and "
                f"interface endpoints for {', '.join(sorted(INTERFACE_ENDPOINTS.values()))}",
            )


class _MadeElsewhere(TrainingNetwork):
    """A network that is not made here."""

    def __init__(self, scope: Construct, id: str) -> None:
        Construct.__init__(self, scope, id)
        self.public_subnet = self.nat_gateway_id = self.endpoint_security_group = None
        self.ready = self
