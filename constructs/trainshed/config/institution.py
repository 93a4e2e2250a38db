"""Everything that one institution decides: the whole of its file."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .. import facts
from ..facts.grid import either
from ..records import OnChange, Record
from .alerts import Alerts
from .faults import Fault, refuse
from .fleet import Fleet
from .fleet_rules import known
from .network import Network
from .rules import RULES, faults_by
from .storage import Storage
from .texts import (
    NOT_A_BOOLEAN,
    AccountId,
    GpuName,
    InstanceTypeName,
    InstitutionName,
    RegionName,
)


class InstanceTypeDescription(Record):
    """An instance type that trainshed's table does not have yet, as AWS describes it."""

    vcpus: Annotated[int, Field(ge=1, le=4096), OnChange.REPLACES_NODES]
    """Virtual CPUs."""
    memory_mib: Annotated[int, Field(ge=512), OnChange.REPLACES_NODES]
    """Memory in MiB."""
    sockets: Annotated[int, Field(ge=1, le=64), OnChange.REPLACES_NODES] = 1
    """CPU sockets."""
    threads_per_core: Annotated[Literal[1, 2], NOT_A_BOOLEAN, OnChange.REPLACES_NODES] = 2
    """Hardware threads a core."""
    architecture: Annotated[Literal["x86_64", "arm64"], OnChange.REPLACES_NODES] = "x86_64"
    """CPU architecture."""
    gpus: Annotated[int, Field(ge=0, le=128), OnChange.REPLACES_NODES] = 0
    """GPUs."""
    gpu_name: Annotated[GpuName, OnChange.REPLACES_NODES] = ""
    """Slurm type of the GPUs, in lower case: ``h200``."""
    gpu_memory_mib: Annotated[int, Field(ge=0), OnChange.REPLACES_NODES] = 0
    """Memory of each GPU in MiB."""
    network_cards: Annotated[int, Field(ge=1, le=128), OnChange.REPLACES_NODES] = 1
    """Network cards."""
    efa_cards: Annotated[tuple[int, ...], OnChange.REPLACES_NODES] = ()
    """Indexes of the network cards that can carry EFA. Empty: no EFA."""
    interfaces_per_card: Annotated[int, Field(ge=1, le=128), OnChange.REPLACES_NODES] = 2
    """Network interfaces a card."""
    nvme_disks: Annotated[int, Field(ge=0, le=128), OnChange.REPLACES_NODES] = 0
    """Local NVMe disks."""
    nvme_disk_gb: Annotated[int, Field(ge=0), OnChange.REPLACES_NODES] = 0
    """Size of each in GB."""
    nvlink: Annotated[bool, OnChange.REPLACES_NODES] = False
    """The GPUs are joined by NVLink."""
    capacity_block: Annotated[bool, OnChange.LIVE] = False
    """Sold as Capacity Blocks."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        threads = self.sockets * self.threads_per_core
        if self.vcpus % threads:
            below, above = self.vcpus - self.vcpus % threads, self.vcpus + -self.vcpus % threads
            refuse(
                [
                    Fault.at(
                        "vcpus",
                        reason=f"{self.vcpus} is no multiple of sockets ({self.sockets}) x "
                        f"threads_per_core ({self.threads_per_core}); "
                        f"use {either([n for n in (below, above) if n])}",
                    )
                ]
            )
        try:
            self.fact("any.size")
        except facts.ContradictoryFactsError as error:
            refuse(Fault.at(fact, reason=reason) for fact, reason in error.faults)
        return self

    def fact(self, name: str) -> facts.InstanceType:
        """Return the type as the table would have it."""
        threads = self.sockets * self.threads_per_core
        return facts.InstanceType(
            name=name,
            efa_interfaces=len(self.efa_cards),
            cores_per_socket=self.vcpus // threads,
            **self.model_dump(),
        )


class Institution(Record):
    """One institution's cluster, as its YAML file describes it."""

    name: Annotated[InstitutionName, OnChange.REFUSED]
    """Short name; it begins the names of stacks and of the cluster."""
    account: Annotated[AccountId, OnChange.REFUSED]
    """AWS account id, in quotes."""
    region: Annotated[RegionName, OnChange.REFUSED]
    """AWS Region."""
    tags: Annotated[dict[str, str], OnChange.LIVE] = Field(default_factory=dict)
    """Tags on everything, for cost allocation."""
    network: Annotated[Network, OnChange.REFUSED]
    """Where the cluster stands."""
    storage: Annotated[Storage, OnChange.REPLACES_DATA]
    """The shared file system and its links to S3."""
    fleet: Annotated[Fleet, OnChange.REFUSED]
    """Head node, login nodes and queues."""
    alerts: Annotated[Alerts | None, OnChange.LIVE] = None
    """Alarms in Slack. Default: none."""
    instance_types: Annotated[dict[InstanceTypeName, InstanceTypeDescription], OnChange.LIVE] = (
        Field(default_factory=dict)
    )
    """Instance types that trainshed's table does not have yet."""
    termination_protection: Annotated[bool, OnChange.LIVE] = True
    """The stacks cannot be deleted before this is set to false."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        sections = {name: getattr(self, name) for name in type(self).model_fields}
        refuse(faults_by(RULES, sections))
        return self

    @property
    def cluster_name(self) -> str:
        """Name of the cluster, with the default worked out."""
        return self.fleet.cluster_name or self.name

    @property
    def every_tag(self) -> dict[str, str]:
        """The institution's tags with the one that names it, which they may overwrite."""
        return {"trainshed:institution": self.name, **self.tags}

    @property
    def known_types(self) -> Mapping[str, facts.InstanceType]:
        """The table of instance types with the institution's own beside it."""
        return known(self.instance_types)
