"""File systems for clusters of tests to stand on: one made beside its network, one there before."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from trainshed.config import Lustre
from trainshed.network import TrainingNetwork
from trainshed.storage import LustreStorage


def storage_on(network: TrainingNetwork, **given: Any) -> LustreStorage:
    """Make one in the stack of a network; keywords of the construct."""
    wanted: dict[str, Any] = {
        "vpc": network.vpc,
        "subnet": network.compute_subnet,
        "client_security_group": network.efa_security_group,
        "lustre": Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125),
        **given,
    }
    return LustreStorage(cdk.Stack.of(network), "Storage", **wanted)


def existing_storage(stack: cdk.Stack, **given: Any) -> LustreStorage:
    """Take one that is there already, of us-east-1; keywords of ``from_attributes``."""
    return LustreStorage.from_attributes(
        stack,
        "Storage",
        file_system_id="fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        mount_name="fsx",
        security_group=ec2.SecurityGroup.from_security_group_id(
            stack, "Servers", "sg-0123456789abcdef0"
        ),
        **given,
    )
