"""Alarms see the metrics of their own Region alone."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_secretsmanager as secretsmanager

from tests.synth.file_systems import existing_storage
from trainshed import facts
from trainshed.alerts import SlackAlerts
from trainshed.cluster import TrainingCluster
from trainshed.config import AlertRoutes, Fleet, OnDemand, Queue
from trainshed.network import TrainingNetwork

HERE, THERE = (
    cdk.Environment(account="111122223333", region=region) for region in ("us-east-1", "us-west-2")
)
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slack-AbCdEf"
QUEUE = Queue(instance_type="p5.48xlarge", max_nodes=4, capacity=OnDemand())


def test_alarms_are_made_in_the_region_of_what_they_watch() -> None:
    app = cdk.App()
    near, far = cdk.Stack(app, "Near", env=HERE), cdk.Stack(app, "Far", env=THERE)
    network = TrainingNetwork(near, "Network", zone=facts.ZoneName("us-east-1a"))
    storage = existing_storage(near, capacity_gib=1200)
    cluster = TrainingCluster(
        near,
        "Cluster",
        cluster_name="llm",
        fleet=Fleet(queues={"train": QUEUE}),
        network=network,
        storage=storage,
    )
    alerts = SlackAlerts(
        far,
        "Alerts",
        secret=secretsmanager.Secret.from_secret_complete_arn(far, "Secret", SECRET),
        routes=AlertRoutes(critical="C0ONCALL00", warning="C0OPS00000", info="C0OPS00000"),
        operators=["hpc@example.edu"],
    )
    ending = (
        "is in us-east-1 and its alarms would be in us-west-2, where they see nothing; make "
        "SlackAlerts in a stack of us-east-1"
    )
    with pytest.raises(ValueError) as refusal:
        alerts.watch_file_system(storage)
    assert str(refusal.value) == f"storage Near/Storage {ending}"
    with pytest.raises(ValueError) as refusal:
        alerts.watch_fleet(cluster.fleet)
    assert str(refusal.value) == f"fleet Near/Cluster/Fleet {ending}"
