"""A consumer's app: every construct of trainshed in stacks of the consumer's own.

One stack lets trainshed make everything; the other brings everything that can be brought.
"""

from datetime import UTC, datetime

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3

from trainshed import (
    CapacityReservation,
    DataBucket,
    LustreStorage,
    ParallelClusterFleet,
    TrainingCluster,
    TrainingNetwork,
)
from trainshed.config import CapacityBlock, Fleet, Lustre, OnDemand, Queue, S3Link
from trainshed.facts import ZoneId, ZoneName

DATASETS = S3Link(path="/datasets", prefix="datasets/", direction="import")


def owned(stack: cdk.Stack) -> None:
    """Everything is made here."""
    network = TrainingNetwork(stack, "Network", zone=ZoneId("use1-az4"))
    reservation = CapacityReservation(
        stack, "Reservation", instance_type="p5.48xlarge", nodes=2, zone=network.zone
    )
    storage = LustreStorage(
        stack,
        "Storage",
        vpc=network.vpc,
        subnet=network.compute_subnet,
        client_security_group=network.efa_security_group,
        lustre=Lustre(capacity_gib=4800, throughput_mb_s_per_tib=1000, efa=True),
        links={"Datasets": DATASETS},
    )
    reserved = Queue(instance_type="p5.48xlarge", max_nodes=2, capacity=reservation.capacity)
    cluster = TrainingCluster(
        stack,
        "Cluster",
        cluster_name="owned",
        network=network,
        storage=storage,
        fleet=Fleet(queues={"train": reserved}),
    )
    storage.grant_read_write(cluster.fleet.compute_grant_principal, "scratch/")
    cdk.CfnOutput(stack, "HeadNode", value=cluster.fleet.head_node_instance_id)


def imported(stack: cdk.Stack) -> None:
    """Everything is there already."""
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0123456789abcdef0",
        vpc_cidr_block="10.0.0.0/16",
        availability_zones=["us-east-1a"],
    )
    network = TrainingNetwork(
        stack,
        "Network",
        zone=ZoneName("us-east-1a"),
        vpc=vpc,
        compute_subnet=ec2.Subnet.from_subnet_id(stack, "Subnet", "subnet-0123456789abcdef0"),
        efa_security_group=ec2.SecurityGroup.from_security_group_id(
            stack, "EfaGroup", "sg-0123456789abcdef0"
        ),
        efa_group_allows_itself=True,
        egress_security_group=ec2.SecurityGroup.from_security_group_id(
            stack, "EgressGroup", "sg-0123456789abcdef1"
        ),
    )
    storage = LustreStorage.from_attributes(
        stack,
        "Storage",
        file_system_id="fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        mount_name="ab3tzbev",
        security_group=ec2.SecurityGroup.from_security_group_id(
            stack, "FileSystemGroup", "sg-0123456789abcdef2"
        ),
        bucket=s3.Bucket.from_bucket_name(stack, "Data", "the-data"),
        links={"Datasets": DATASETS},
    )
    block = CapacityBlock(
        reservation_id="cr-0123456789abcdef0", end=datetime(2027, 3, 1, 11, 30, tzinfo=UTC)
    )
    ParallelClusterFleet(
        stack,
        "Fleet",
        cluster_name="imported",
        network=network,
        storage=storage,
        fleet=Fleet(
            queues={
                "block": Queue(instance_type="p5en.48xlarge", max_nodes=4, capacity=block),
                "small": Queue(instance_type="g6.12xlarge", max_nodes=2, capacity=OnDemand()),
            }
        ),
    )
    DataBucket(stack, "Second")


app = cdk.App()
place = cdk.Environment(account="111122223333", region="us-east-1")
owned(cdk.Stack(app, "Owned", env=place))
imported(cdk.Stack(app, "Imported", env=place))
app.synth()
