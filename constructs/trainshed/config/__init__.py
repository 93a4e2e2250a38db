"""The institution file: typed records, the reader that finds every fault, the editor schema.

The only package that knows YAML. Importing it does not import the CDK.
"""

from .accounting import AccountingDatabase, NewDatabase
from .alerts import AlertRoutes, Alerts, QuietHours, SeverityChannels
from .backends import ClusterGate, Gate, PackageCache, ParallelClusterOptions, SlurmOptions
from .capacity import (
    Capacity,
    CapacityBlock,
    OnDemand,
    OpenReservation,
    ReservationRequest,
    Spot,
    TargetedReservation,
)
from .faults import Fault, FaultsError
from .fleet import (
    Fleet,
    HeadNode,
    LoginPool,
    Monitoring,
    Queue,
    RootVolume,
    Ssh,
)
from .image import Image, ImageLock
from .institution import InstanceTypeDescription, Institution
from .load import ConfigError, load
from .network import ExistingVpc, Network, NewVpc
from .schema import json_schema
from .storage import Backups, Bucket, ExistingLustre, Lustre, RootSquash, S3Link, Storage

__all__ = [
    "AccountingDatabase",
    "AlertRoutes",
    "Alerts",
    "Backups",
    "Bucket",
    "Capacity",
    "CapacityBlock",
    "ClusterGate",
    "ConfigError",
    "ExistingLustre",
    "ExistingVpc",
    "Fault",
    "FaultsError",
    "Fleet",
    "Gate",
    "HeadNode",
    "Image",
    "ImageLock",
    "InstanceTypeDescription",
    "Institution",
    "LoginPool",
    "Lustre",
    "Monitoring",
    "Network",
    "NewDatabase",
    "NewVpc",
    "OnDemand",
    "OpenReservation",
    "PackageCache",
    "ParallelClusterOptions",
    "Queue",
    "QuietHours",
    "ReservationRequest",
    "RootSquash",
    "RootVolume",
    "S3Link",
    "SeverityChannels",
    "SlurmOptions",
    "Spot",
    "Ssh",
    "Storage",
    "TargetedReservation",
    "json_schema",
    "load",
]
