"""The operating system image of the nodes."""

from typing import Annotated, Literal

from pydantic import Field

from ..records import OnChange, Record
from .texts import AmiId


class ImageLock(Record):
    """A Deep Learning AMI and what it holds; ``trainshed image`` prints one to copy."""

    ami_id: Annotated[AmiId, OnChange.DRAINS_NODES]
    """Id of the image in the institution's Region."""
    name: Annotated[str, OnChange.LIVE]
    """Name of the image, for people: ids say nothing."""
    kernel: Annotated[str | None, OnChange.LIVE] = None
    """Kernel release, as ``uname -r`` prints it; a node with another one fails its boot.

    Default: not compared.
    """
    nvidia_driver: Annotated[str | None, OnChange.LIVE] = None
    """Version of the NVIDIA driver. Default: not compared."""
    efa_installer: Annotated[str | None, OnChange.LIVE] = None
    """Version of the EFA installer. Default: not compared."""
    root_gib: Annotated[int | None, Field(ge=1, le=16384), OnChange.LIVE] = None
    """Size of the image's root disk in GiB; a node's is as large or larger. Default: not compared.
    """


class Image(Record):
    """Operating system image of every node."""

    os: Annotated[
        Literal["ubuntu2204", "ubuntu2404", "alinux2023", "rhel8", "rhel9"], OnChange.REFUSED
    ] = "ubuntu2404"
    """Operating system."""
    ami_id: Annotated[AmiId | None, OnChange.REFUSED] = None
    """Image to use. Default: ParallelCluster's official image; backend slurm has none."""
    lock: Annotated[ImageLock | None, OnChange.DRAINS_NODES] = None
    """Deep Learning AMI pinned with what it holds; for backend slurm. Default: none."""
    latest: Annotated[bool, OnChange.DRAINS_NODES] = False
    """Take the newest Deep Learning AMI at each deployment; for backend slurm. A lock is safer."""
