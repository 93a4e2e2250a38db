"""A consumer's app: every construct of trainshed in stacks of the consumer's own.

One stack lets trainshed make everything, the other brings everything that can be brought, and the
third has two of each construct.
"""

from datetime import UTC, datetime

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from constructs import Construct

from trainshed import (
    CapacityReservation,
    DataBucket,
    LustreStorage,
    ParallelClusterFleet,
    SlackAlerts,
    SlurmAccountingDatabase,
    SlurmFleet,
    TrainingCluster,
    TrainingNetwork,
)
from trainshed.config import (
    AlertRoutes,
    CapacityBlock,
    Fleet,
    Image,
    Lustre,
    OnDemand,
    Queue,
    RootSquash,
    S3Link,
)
from trainshed.facts import ZoneId, ZoneName

DATASETS = S3Link(path="/datasets", prefix="datasets/", direction="import")
ROUTES = AlertRoutes(critical="C0ONCALL00", warning="C0OPS00000", info="C0OPS00000")
BLOCK = CapacityBlock(
    reservation_id="cr-0123456789abcdef0", end=datetime(2027, 3, 1, 11, 30, tzinfo=UTC)
)
BARE = Fleet(
    backend="slurm",
    image=Image(ami_id="ami-0123456789abcdef0"),
    queues={"block": Queue(instance_type="p5en.48xlarge", max_nodes=4, capacity=BLOCK)},
)


OTHER_SUBNET = "subnet-0123456789abcdef1"


def secret(scope: Construct) -> secretsmanager.ISecret:
    arn = "arn:aws:secretsmanager:us-east-1:111122223333:secret:slack-AbCdEf"
    return secretsmanager.Secret.from_secret_complete_arn(scope, "Slack", arn)


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
    alerts = SlackAlerts(
        stack, "Alerts", secret=secret(stack), routes=ROUTES, operators=["hpc@example.edu"]
    )
    alerts.watch_file_system(storage, directions=["import"])
    alerts.watch_fleet(cluster.fleet)
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
    subnets = [network.compute_subnet, ec2.Subnet.from_subnet_id(stack, "Other", OTHER_SUBNET)]
    database = SlurmAccountingDatabase(stack, "Accounting", vpc=vpc, subnets=subnets)
    ParallelClusterFleet(
        stack,
        "Fleet",
        cluster_name="imported",
        network=network,
        storage=storage,
        fleet=Fleet(
            queues={
                "block": BARE.queues["block"],
                "small": Queue(instance_type="g6.12xlarge", max_nodes=2, capacity=OnDemand()),
            },
            accounting=database.record(),
        ),
    )
    SlurmFleet(
        stack, "Bare", cluster_name="bare", network=network, storage=storage, fleet=BARE
    ).send_alarms_to("arn:aws:sns:us-east-1:111122223333:alerts")
    SlackAlerts(
        stack,
        "Alerts",
        secret=secret(stack),
        routes=ROUTES,
        topic=sns.Topic.from_topic_arn(stack, "Topic", "arn:aws:sns:us-east-1:111122223333:alerts"),
        key=kms.Key.from_key_arn(
            stack, "Key", "arn:aws:kms:us-east-1:111122223333:key/0f1e2d3c-4b5a-6978-8796-a5b4c3d2"
        ),
        failure_topic=sns.Topic.from_topic_arn(
            stack, "Failures", "arn:aws:sns:us-east-1:111122223333:failures"
        ),
    )
    CapacityReservation.from_reservation_id(
        stack, "Reservation", reservation_id="cr-0123456789abcdef0"
    )


def twice(stack: cdk.Stack) -> None:
    """Nothing here is the only one of its kind."""
    zone = ZoneName("us-east-1a")
    for name in ("First", "Second"):
        network = TrainingNetwork(stack, f"{name}Network", zone=zone)
        squashed = Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125, root_squash=RootSquash())
        storage = LustreStorage(
            stack,
            f"{name}Storage",
            vpc=network.vpc,
            subnet=network.compute_subnet,
            client_security_group=network.efa_security_group,
            lustre=squashed,
            links={"Datasets": DATASETS},
        )
        queue = Queue(instance_type="p5.48xlarge", max_nodes=2, capacity=OnDemand())
        for kind, fleet in {"Pc": Fleet(queues={"train": queue}), "Bare": BARE}.items():
            TrainingCluster(
                stack,
                f"{name}{kind}",
                cluster_name=f"{name}-{kind}".lower(),
                network=network,
                storage=storage,
                fleet=fleet,
            )
        DataBucket(stack, f"{name}Bucket")
        CapacityReservation(
            stack, f"{name}Reservation", instance_type="p5.48xlarge", nodes=2, zone=zone
        )
        SlackAlerts(
            stack,
            f"{name}Alerts",
            secret=secret(Construct(stack, f"{name}Secret")),
            routes=ROUTES,
            operators=["hpc@example.edu"],
        )
        subnets = [network.compute_subnet, ec2.Subnet.from_subnet_id(stack, name, OTHER_SUBNET)]
        SlurmAccountingDatabase(stack, f"{name}Accounting", vpc=network.vpc, subnets=subnets)


app = cdk.App()
place = cdk.Environment(account="111122223333", region="us-east-1")
owned(cdk.Stack(app, "Owned", env=place))
imported(cdk.Stack(app, "Imported", env=place))
twice(cdk.Stack(app, "Twice", env=place))
app.synth()
