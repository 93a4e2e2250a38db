#!/usr/bin/env python3
"""A consumer's app: its own VPC in a stack of its own, and trainshed's constructs in another."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from tests.deploy.emulator.process import ACCOUNT, REGION
from trainshed import LustreStorage, TrainingCluster, TrainingNetwork
from trainshed.config import Fleet, Lustre, OnDemand, Queue
from trainshed.facts import ZoneName

app = cdk.App()
env = cdk.Environment(account=ACCOUNT, region=REGION)
stack = cdk.Stack(app, "consumer", env=env)
network_stack = cdk.Stack(app, "consumer-network", env=env)
vpc = ec2.Vpc(
    network_stack,
    "Vpc",
    ip_addresses=ec2.IpAddresses.cidr("10.9.0.0/16"),
    availability_zones=[f"{REGION}a"],
    nat_gateways=1,
)
network = TrainingNetwork(
    stack,
    "Network",
    zone=ZoneName(f"{REGION}a"),
    vpc=vpc,
    compute_subnet=vpc.private_subnets[0],
)
storage = LustreStorage(
    stack,
    "Storage",
    vpc=vpc,
    subnet=network.compute_subnet,
    client_security_group=network.efa_security_group,
    lustre=Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125),
)
cluster = TrainingCluster(
    stack,
    "Cluster",
    cluster_name="shared",
    network=network,
    storage=storage,
    fleet=Fleet(
        queues={"train": Queue(instance_type="p5.48xlarge", max_nodes=4, capacity=OnDemand())}
    ),
)
cdk.CfnOutput(stack, "VpcId", value=vpc.vpc_id)
cdk.CfnOutput(stack, "SubnetId", value=network.compute_subnet.subnet_id)
cdk.CfnOutput(stack, "FileSystemId", value=storage.file_system_id)
app.synth()
