"""What holds data and changes rarely."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import Construct

from trainshed import LustreStorage, TrainingNetwork, network_of, storage_of
from trainshed.config import Institution

from .handoff import Handoff


class FoundationStack(cdk.Stack):
    """Network, file system and bucket of one institution. Protected, and retained."""

    network: TrainingNetwork
    """VPC, compute subnet and security groups."""
    storage: LustreStorage
    """File system and its links to S3."""

    def __init__(
        self, scope: Construct, id: str, *, institution: Institution, **kwargs: Any
    ) -> None:
        super().__init__(
            scope,
            id,
            env=cdk.Environment(account=institution.account, region=institution.region),
            description=f"trainshed: network and storage of {institution.name}",
            termination_protection=institution.termination_protection,
            tags=institution.every_tag,
            **kwargs,
        )
        self.network = network_of(self, "Network", institution)
        self.storage = storage_of(self, "Storage", institution, network=self.network)
        Handoff(
            self, "Handoff", institution=institution, network=self.network, storage=self.storage
        )
        cdk.CfnOutput(self, "FileSystemId", value=self.storage.file_system_id)
        cdk.CfnOutput(self, "VpcId", value=self.network.vpc.vpc_id)
        if self.storage.bucket is not None:
            cdk.CfnOutput(self, "BucketName", value=self.storage.bucket.bucket_name)
