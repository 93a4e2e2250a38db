"""Images that AWS publishes for GPU nodes."""

from __future__ import annotations


def newest_image_parameter(architecture: str) -> str:
    """Return the public SSM parameter with the id of the newest Deep Learning AMI Base.

    DLAMI developer guide "Finding the ID of a DLAMI", read 2026-11-29.

    Args:
        architecture: ``x86_64`` or ``arm64``.
    """
    image = "base-oss-nvidia-driver-gpu-ubuntu-24.04"
    return f"/aws/service/deeplearning/ami/{architecture}/{image}/latest/ami-id"
