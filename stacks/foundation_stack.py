"""What holds data and changes rarely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from constructs import Construct

import trainshed
from trainshed import LustreStorage, TrainingNetwork, network_of, storage_of
from trainshed.config import Institution

from .handoff import Handoff
from .institution_stack import InstitutionStack

if TYPE_CHECKING:
    from trainshed import SlurmAccountingDatabase


class FoundationStack(InstitutionStack):
    """Network, file system and bucket of one institution. Protected, and retained."""

    network: TrainingNetwork
    """VPC, compute subnet and security groups."""
    storage: LustreStorage
    """File system and its links to S3."""
    accounting: SlurmAccountingDatabase | None = None
    """Database of Slurm's accounting; None where the file asks for none, or has its own."""

    def __init__(
        self, scope: Construct, id: str, *, institution: Institution, **kwargs: Any
    ) -> None:
        super().__init__(scope, id, institution=institution, holds="network and storage", **kwargs)
        self.network = network_of(self, "Network", institution)
        self.storage = storage_of(self, "Storage", institution, network=self.network)
        if institution.fleet.accounting and institution.fleet.accounting.create:
            # Found by its name when it is needed, as importing RDS takes its time.
            self.accounting = trainshed.accounting_of(
                self, "Accounting", institution, network=self.network
            )
        handoff = Handoff(
            self,
            "Handoff",
            institution=institution,
            network=self.network,
            storage=self.storage,
            accounting=self.accounting,
        )
        for key in ("FileSystemId", "VpcId", "BucketName"):
            if key in handoff.values:
                cdk.CfnOutput(self, key, value=handoff.values[key])
