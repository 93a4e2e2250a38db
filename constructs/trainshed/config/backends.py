"""What one backend alone has."""

from typing import Annotated, Literal

from pydantic import Field

from ..records import OnChange, Record
from .texts import BucketName, Form, PolicyArn


class ClusterGate(Record):
    """The all-reduce that a queue of ParallelCluster has to pass before users are let in."""

    all_reduce_perf: Annotated[
        Annotated[
            str,
            Form(r"/[\w./+-]{1,255}", "a path, such as /fsx/nccl-tests/build/all_reduce_perf"),
        ],
        OnChange.LIVE,
    ]
    """Program of nccl-tests, built with MPI, on the compute nodes or the shared file system."""
    tolerance: Annotated[float | None, Field(gt=0, le=1), OnChange.LIVE] = None
    """Share of a measured bandwidth that is enough. Default: 0.85, or 0.7 for a borrowed row."""
    least_bus_gb_s: Annotated[float | None, Field(gt=0), OnChange.LIVE] = None
    """Least bus bandwidth at 16 GiB, in GB/s, in the place of the table's."""
    strict: Annotated[bool, OnChange.LIVE] = False
    """Refuse queues that nobody has measured. Default: there, bandwidth is told and not judged."""


class ParallelClusterOptions(Record):
    """What only AWS ParallelCluster has."""

    queue_update_strategy: Annotated[
        Literal["DRAIN", "TERMINATE", "COMPUTE_FLEET_STOP"], OnChange.LIVE
    ] = "DRAIN"
    """What an update does to nodes whose settings changed."""
    memory_scheduling: Annotated[bool, OnChange.STOPS_FLEET] = True
    """Slurm places jobs by memory as well as by CPU."""
    scaledown_idle_minutes: Annotated[int | None, Field(ge=1), OnChange.STOPS_FLEET] = None
    """Idle minutes after which a node above min_nodes is stopped. Default: 10."""
    head_bootstrap_timeout_minutes: Annotated[int, Field(ge=5, le=50), OnChange.REFUSED] = 40
    """How long the head node may take; above 50 CloudFormation's hour would not be enough."""
    compute_bootstrap_timeout_minutes: Annotated[int, Field(ge=5, le=120), OnChange.LIVE] = 40
    """How long a compute node may take before it is replaced."""
    gate: Annotated[ClusterGate | None, OnChange.LIVE] = None
    """All-reduce over the static nodes of each queue with GPUs. Default: none keeps users out."""
    extra_slurm_settings: Annotated[dict[str, str | int], OnChange.LIVE] = Field(
        default_factory=dict
    )
    """More lines for slurm.conf. Keys that ParallelCluster keeps for itself are refused."""
    suppress_validators: Annotated[
        tuple[
            Annotated[
                str,
                Form(r"ALL|type:\w+", "ALL or a validator, such as type:AmiOsCompatibleValidator"),
            ],
            ...,
        ],
        OnChange.LIVE,
    ] = ()
    """ParallelCluster validators to leave out: ``type:NAME``."""
    removal: Annotated[Literal["retain", "destroy"], OnChange.LIVE] = "retain"
    """What deleting the stack does to the cluster. Its data is retained in any case."""
    permissions_boundary_arn: Annotated[PolicyArn | None, OnChange.LIVE] = None
    """Permissions boundary of every role. Default: one that is made, unless policies are named."""
    layer_bucket: Annotated[BucketName | None, OnChange.LIVE] = None
    """Bucket that mirrors the Lambda layer of ParallelCluster. Default: AWS's own in the Region."""
    layer_key: Annotated[
        Annotated[str, Form(r"[!-~]{1,1024}", "a key of S3 without blanks, such as a/layer.zip")]
        | None,
        OnChange.LIVE,
    ] = None
    """Key of that layer in the bucket. Default: AWS's key for the version."""


class PackageCache(Record):
    """Packages of the nodes in a bucket, for nodes without internet."""

    bucket: Annotated[BucketName, OnChange.LIVE]
    """Bucket, in the institution's Region."""
    key: Annotated[str, Form(r"[!-~]{1,1024}", "a key of S3 without blanks"), OnChange.LIVE]
    """Key of the archive."""
    sha256: Annotated[
        str, Form(r"[0-9a-f]{64}", "a SHA-256, 64 hexadecimal digits in lower case"), OnChange.LIVE
    ]
    """SHA-256 of the archive; a node that finds another one fails its boot."""


class Gate(Record):
    """What a new node, and a new fleet, has to pass before users are let in."""

    enabled: Annotated[bool, OnChange.LIVE] = True
    """Nodes join held until their checks have passed; a queue opens after an all-reduce over it."""
    minutes: Annotated[int, Field(ge=10, le=45), OnChange.LIVE] = 25
    """Minutes that a deployment leaves for both, after the nodes have booted."""
    tolerance: Annotated[float | None, Field(gt=0, le=1), OnChange.LIVE] = None
    """Share of a measured bandwidth that is enough. Default: 0.85, or 0.7 for a borrowed row."""
    least_bus_gb_s: Annotated[float | None, Field(gt=0), OnChange.LIVE] = None
    """Least bus bandwidth at 16 GiB, in GB/s, in the place of the table's."""
    strict: Annotated[bool, OnChange.LIVE] = False
    """Refuse queues that nobody has measured. Default: there, bandwidth is told and not judged."""


class SlurmOptions(Record):
    """What only the bare Slurm fleet has."""

    state_volume_gib: Annotated[int, Field(ge=20, le=16384), OnChange.LIVE] = 100
    """Disk for the scheduler's state and the accounting database, in GiB. It outlives the head."""
    containers: Annotated[bool, OnChange.DRAINS_NODES] = True
    """Install Enroot and Pyxis, for ``srun --container-image``."""
    boot_timeout_minutes: Annotated[int, Field(ge=5, le=50), OnChange.LIVE] = 30
    """How long a node may take; above 50 CloudFormation's hour would not be enough."""
    gate: Annotated[Gate, OnChange.LIVE] = Gate()
    """What nodes and fleet pass before users are let in."""
    packages: Annotated[PackageCache | None, OnChange.LIVE] = None
    """Prebuilt package cache. Default: nodes install from the internet."""
    extra_slurm_settings: Annotated[dict[str, str | int], OnChange.LIVE] = Field(
        default_factory=dict
    )
    """More lines for slurm.conf. A Prolog or TaskProlog of yours takes the place of trainshed's,
    with a warning that says how to keep it."""
