"""``trainshed image``: the newest Deep Learning AMI as a lock to copy into an institution file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

# Kernel, driver and EFA installer of an image are in its release notes and in no answer of EC2
# (DLAMI developer guide "Release notes for DLAMIs", read 2026-11-29).
NOTES = "https://docs.aws.amazon.com/dlami/latest/devguide/appendix-ami-release-notes.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="institution file")
    parser.add_argument("--profile", metavar="NAME", help="AWS profile; default: as the AWS CLI")


def run(options: argparse.Namespace) -> int:
    """Print the lock. Return 1 where the file says too little, or AWS does not answer."""
    from botocore.exceptions import BotoCoreError, ClientError

    from .doctor import session_of

    try:
        region, architecture = place_of(options.file)
        session = session_of(options.profile)
        print(lock_of(session, region, architecture), end="")
    except (ValueError, BotoCoreError, ClientError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def place_of(path: Path) -> tuple[str, str]:
    """Return Region and processor of a file, which need not have an image yet.

    Raises:
        ValueError: It is no YAML, or does not say.
    """
    from .. import facts
    from ..config import HeadNode
    from ..config.yaml_source import YamlError, YamlSource

    try:
        data = YamlSource.read(path).data
    except YamlError as error:
        raise ValueError(str(error)) from None
    region = data.get("region") if isinstance(data, dict) else None
    if not isinstance(region, str):
        raise ValueError(f"{path}: region is missing; images have another id in each Region")
    head = _below(data, "fleet", "head_node", "instance_type") or HeadNode().instance_type
    own = _below(data, "instance_types", head, "architecture")
    known = facts.INSTANCE_TYPES.get(str(head))
    if own is None and known is None:
        raise ValueError(f"{path}: {head!r} is not in the table of instance types")
    return region, str(own or (known and known.architecture))


def _below(data: Any, *keys: Any) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def lock_of(session: Any, region: str, architecture: str) -> str:
    """Return the lock of the newest image, as a file has it.

    Args:
        session: A boto3 session.
        region: AWS Region.
        architecture: ``x86_64`` or ``arm64``.

    Raises:
        ValueError: EC2 does not know the image that the parameter names.
    """
    from ..doctor.image import root_gib
    from ..facts.images import newest_image_parameter

    name = newest_image_parameter(architecture)
    parameter = session.client("ssm", region_name=region).get_parameter(Name=name)
    id = parameter["Parameter"]["Value"]
    found = session.client("ec2", region_name=region).describe_images(ImageIds=[id])["Images"]
    if not found:
        raise ValueError(f"{name} names {id}, which EC2 does not show; try again in a while")
    image = found[0]
    made = str(image.get("CreationDate", ""))[:10]
    gib = root_gib(image)
    size = f"  root_gib: {gib}\n" if gib else ""
    return (
        "lock:\n"
        f"  ami_id: {id}\n"
        f"  name: {image['Name']}\n"
        f"{size}"
        f"  # Made {made}. Copy the three from its release notes, and nodes compare them at boot:\n"
        f"  # {NOTES}\n"
        "  # kernel:               kernel_version there\n"
        "  # nvidia_driver:        nvidia_driver\n"
        "  # efa_installer:        efa_version\n"
    )
