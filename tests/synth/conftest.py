"""A foreign stack that has trainshed's own network and storage, for a fleet to stand on."""

from __future__ import annotations

from collections.abc import Callable

import aws_cdk as cdk
import pytest

from tests.synth.file_systems import storage_on
from trainshed import facts
from trainshed.config import Lustre
from trainshed.network import TrainingNetwork
from trainshed.storage import LustreStorage


@pytest.fixture(scope="session")
def make_ground() -> Callable[[], tuple[cdk.Stack, TrainingNetwork, LustreStorage]]:
    """Make one; each time in an app of its own."""

    def make() -> tuple[cdk.Stack, TrainingNetwork, LustreStorage]:
        env = cdk.Environment(account="111122223333", region="us-east-2")
        stack = cdk.Stack(cdk.App(), "Foreign", env=env)
        network = TrainingNetwork(stack, "Network", zone=facts.ZoneName("us-east-2a"))
        lustre = Lustre(capacity_gib=38400, throughput_mb_s_per_tib=125, efa=True)
        storage = storage_on(network, lustre=lustre)
        return stack, network, storage

    return make
