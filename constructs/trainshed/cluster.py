"""A whole GPU training cluster: network, shared storage, capacity and fleet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aws_cdk import Annotations, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from constructs import Construct

from . import facts, fleets
from ._given import check_present, check_record
from ._names import construct_words
from .capacity import CapacityReservation
from .config import (
    AccountingDatabase,
    ExistingLustre,
    ExistingVpc,
    Fleet,
    Institution,
    Lustre,
    NewVpc,
    ReservationRequest,
    Storage,
    TargetedReservation,
)
from .config.faults import refuse
from .config.fleet_rules import addresses_needed, fleet_faults
from .launch import capacity_warnings
from .network import TrainingNetwork
from .network.known import check_vpc
from .storage import DataBucket, LustreStorage

if TYPE_CHECKING:
    from .fleets import BlockEvents, ParallelClusterFleet, SlurmFleet


class TrainingCluster(Construct):
    """Nodes, scheduler and what they stand on, ready for jobs.

    Args:
        cluster_name: Name of the cluster, unique in account and Region.
        fleet: Head node, login nodes and queues.
        network: Where the nodes stand.
        storage: The shared file system that every node mounts.
        tags: Tags on everything that the fleet makes, beside those that ``Tags.of`` adds to this or
            around it; these win. Default: none.
        known_types: Facts of instance types by name. Default: trainshed's own table.

    Raises:
        ValueError: The fleet does not fit its backend, with every reason; network or file system
            is None; or the file system is in another VPC than the network.

    Example::

        network = TrainingNetwork(stack, "Network", zone=facts.ZoneName("us-east-1a"))
        storage = LustreStorage(stack, "Storage", vpc=network.vpc, subnet=network.compute_subnet,
                                client_security_group=network.efa_security_group,
                                lustre=Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125))
        TrainingCluster(stack, "Cluster", cluster_name="llm", network=network, storage=storage,
                        fleet=Fleet(queues={"train": Queue(instance_type="p5.48xlarge",
                                                           max_nodes=4, capacity=OnDemand())}))
    """

    network: TrainingNetwork
    """Where the nodes stand."""
    storage: LustreStorage
    """The shared file system."""
    reservations: Mapping[str, CapacityReservation]
    """Capacity Reservations made here, by queue. Retained: their instances may be scarce."""
    fleet: ParallelClusterFleet | SlurmFleet
    """Head node, login nodes and queues, by the backend that the record names."""
    block_events: BlockEvents | None
    """EC2's warnings of Capacity Blocks, brought to the head node; None without a block."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        fleet: Fleet,
        network: TrainingNetwork,
        storage: LustreStorage,
        tags: Mapping[str, str] | None = None,
        known_types: Mapping[str, facts.InstanceType] = facts.INSTANCE_TYPES,
    ) -> None:
        super().__init__(scope, id)
        check_record("fleet", fleet, Fleet)
        check_present(network=network, storage=storage, known_types=known_types)
        check_vpc(network.vpc, storage.vpc)
        refuse(fleet_faults(fleet, zone=network.zone, types=known_types))
        for name, queue in fleet.queues.items():
            for warning in capacity_warnings(queue.capacity, max_nodes=queue.max_nodes):
                Annotations.of(self).add_warning_v2(
                    f"trainshed:capacity:{name}", f"queue {name}: {warning}"
                )
        self.network, self.storage = network, storage
        self.reservations = {
            name: self._reservation(
                name, known_types[queue.instance_type], queue.capacity.create, fleet.image.os
            )
            for name, queue in fleet.queues.items()
            if isinstance(queue.capacity, TargetedReservation) and queue.capacity.create
        }
        self.fleet = _backend(fleet)(
            self,
            "Fleet",
            cluster_name=cluster_name,
            fleet=fleet,
            network=network,
            storage=storage,
            reservation_ids={name: r.reservation_id for name, r in self.reservations.items()},
            isolated=network.internet == "isolated",
            tags=tags,
            known_types=known_types,
        )
        self.block_events = fleets.block_events_of(
            self,
            "BlockEvents",
            fleet,
            cluster_name=cluster_name,
            head=self.fleet.head_grant_principal,
        )

    def _reservation(
        self, name: str, instance_type: facts.InstanceType, request: ReservationRequest, os: str
    ) -> CapacityReservation:
        return CapacityReservation(
            self,
            f"{construct_words(name)}Reservation",
            instance_type=instance_type,
            nodes=request.nodes,
            zone=self.network.zone,
            end=request.end,
            platform="Red Hat Enterprise Linux" if os.startswith("rhel") else "Linux/UNIX",
        )

    @classmethod
    def from_institution(
        cls,
        scope: Construct,
        id: str,
        institution: Institution,
        *,
        network: TrainingNetwork | None = None,
        storage: LustreStorage | None = None,
        accounting: AccountingDatabase | None = None,
    ) -> TrainingCluster:
        """Make the cluster that an institution's file describes.

        Args:
            scope: Where the cluster stands in the construct tree.
            id: Its id there.
            institution: The file, as ``trainshed.config.load`` reads it.
            network: An existing network. Default: the one that the file describes.
            storage: An existing file system. Default: the one that the file describes.
            accounting: The accounting database, where it was made elsewhere. Default: the one that
                the file describes.

        Raises:
            ValueError: As for the construct itself.
        """
        check_record("institution", institution, Institution)
        network = network or network_of(scope, f"{id}Network", institution)
        storage = storage or storage_of(scope, f"{id}Storage", institution, network=network)
        fleet = institution.fleet
        if fleet.accounting and fleet.accounting.create:
            # Imported where it is needed: RDS alone takes as long as all else.
            from .accounting_database import accounting_record_of

            made = accounting or accounting_record_of(
                scope, f"{id}Accounting", institution, network=network
            )
            fleet = fleet.model_copy(update={"accounting": made})
        return cls(
            scope,
            id,
            cluster_name=institution.cluster_name,
            fleet=fleet,
            network=network,
            storage=storage,
            # What the institution's budget counts by; the stacks have it from their own tags.
            tags=institution.every_tag,
            known_types=institution.known_types,
        )


def _backend(fleet: Fleet) -> type[ParallelClusterFleet] | type[SlurmFleet]:
    # By attribute: each backend loads modules of the CDK that the other does without.
    return fleets.SlurmFleet if fleet.backend == "slurm" else fleets.ParallelClusterFleet


def network_of(scope: Construct, id: str, institution: Institution) -> TrainingNetwork:
    """Make, or import, the network that an institution's file describes."""
    check_record("institution", institution, Institution)
    network = institution.network
    addresses = addresses_needed(institution.fleet, institution.known_types)
    match network.source:
        case ExistingVpc() as existing:
            return _existing_network(scope, id, existing, network.place, addresses)
        case NewVpc() as new:
            return TrainingNetwork(
                scope,
                id,
                zone=network.place,
                cidr=new.cidr,
                internet=new.internet,
                flow_log_retention_days=new.flow_log_retention_days,
                compute_addresses=addresses,
            )


def storage_of(
    scope: Construct, id: str, institution: Institution, *, network: TrainingNetwork
) -> LustreStorage:
    """Make, or import, the file system that an institution's file describes."""
    check_record("institution", institution, Institution)
    check_present(network=network)
    storage = institution.storage
    bucket = _bucket_of(scope, f"{id}Bucket", storage)
    match storage.source:
        case ExistingLustre() as existing:
            imported = LustreStorage.from_attributes(
                scope,
                id,
                file_system_id=existing.file_system_id,
                dns_name=existing.dns_name,
                mount_name=existing.mount_name,
                security_group=ec2.SecurityGroup.from_security_group_id(
                    scope, f"{id}SecurityGroup", existing.security_group_id
                ),
                mount_dir=storage.mount_dir,
                efa=existing.efa,
                capacity_gib=existing.capacity_gib,
                links=storage.links,
                bucket=bucket,
                removal_policy=_policy_of_client_rules(institution),
            )
            imported.add_client("Nodes", network.efa_security_group)
            return imported
        case Lustre() as lustre:
            return LustreStorage(
                scope,
                id,
                vpc=network.vpc,
                subnet=network.compute_subnet,
                client_security_group=network.efa_security_group,
                lustre=lustre,
                mount_dir=storage.mount_dir,
                links=storage.links,
                bucket=bucket,
            )


def _bucket_of(scope: Construct, id: str, storage: Storage) -> s3.IBucket | None:
    if storage.bucket.existing:
        return s3.Bucket.from_bucket_name(scope, id, storage.bucket.existing)
    if has_bucket(storage):
        return DataBucket(scope, id, noncurrent_days=storage.bucket.noncurrent_days).bucket
    return None


def has_bucket(storage: Storage) -> bool:
    """Tell whether the storage of an institution has a bucket of its own, made or existing."""
    links = storage.links.values()
    return storage.bucket.existing is not None or any(link.bucket is None for link in links)


def _policy_of_client_rules(institution: Institution) -> RemovalPolicy:
    """Return what becomes of the rules between an existing file system and the nodes."""
    existing = institution.network.existing
    if existing and existing.efa_security_group_id:
        # Both groups were there before, and EC2 refuses a rule that was kept between them.
        return RemovalPolicy.DESTROY
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


def _existing_network(
    scope: Construct, id: str, existing: ExistingVpc, zone: facts.Zone, addresses: int
) -> TrainingNetwork:
    efa_group, egress_group = (
        ec2.SecurityGroup.from_security_group_id(scope, f"{id}{name}SecurityGroup", given)
        if given
        else None
        for name, given in (
            ("Efa", existing.efa_security_group_id),
            ("Egress", existing.egress_security_group_id),
        )
    )
    subnet = ec2.Subnet.from_subnet_attributes(
        scope,
        f"{id}ComputeSubnet",
        subnet_id=existing.compute_subnet_id,
        availability_zone=zone.value if isinstance(zone, facts.ZoneName) else None,
        ipv4_cidr_block=existing.compute_subnet_cidr,
    )
    Annotations.of(subnet).acknowledge_warning(
        "@aws-cdk/aws-ec2:noSubnetRouteTableId", "nothing here reads its routes"
    )
    return TrainingNetwork(
        scope,
        id,
        zone=zone,
        vpc=ec2.Vpc.from_vpc_attributes(
            scope,
            f"{id}Vpc",
            vpc_id=existing.vpc_id,
            vpc_cidr_block=existing.cidr,
            availability_zones=[zone.value],
        ),
        compute_subnet=subnet,
        internet=existing.internet,
        compute_addresses=addresses,
        efa_security_group=efa_group,
        efa_group_allows_itself=existing.efa_group_allows_itself,
        egress_security_group=egress_group,
    )
