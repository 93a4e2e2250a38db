"""Checks the Deep Learning AMI that a lock names, or that would be taken today."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from ..config import Institution
from ..config.image_rules import root_disks
from ..facts.images import newest_image_parameter
from .verdict import Clients, Run, Verdict, error_code, judged, not_ready

RENEW = "renew the lock: trainshed image FILE"
LOCK = "take a lock in place of latest: trainshed image FILE"


def locked_image_check(institution: Institution) -> Run:
    """Return the check that a lock's image is there and fits the nodes and their disks.

    Args:
        institution: An institution whose image has a lock.
    """
    lock = institution.fleet.image.lock
    id = str(lock.ami_id if lock else "")
    return lambda clients: _judged(institution, id, RENEW, clients)


def newest_image_check(institution: Institution) -> Run:
    """Return the check that the newest image fits the nodes and their disks.

    Args:
        institution: An institution that takes the newest image at each deployment.
    """
    parameter = newest_image_parameter(_architecture(institution))

    def run(clients: Clients) -> Verdict:
        answer = clients.client("ssm").get_parameter(Name=parameter)
        return _judged(institution, str(answer["Parameter"]["Value"]), LOCK, clients)

    return run


def _judged(institution: Institution, id: str, fix: str, clients: Clients) -> Verdict:
    image = find_image(clients, id)
    if image is None:
        return not_ready(f"there is no {id} in {institution.region}", fix)
    return judged(list(_faults(institution, image, fix)), str(image.get("Name", id)))


def find_image(clients: Clients, id: str) -> Any:
    """Return what EC2 says of an image, or None where the account sees none of that id."""
    try:
        images = clients.client("ec2").describe_images(ImageIds=[id])["Images"]
    except ClientError as error:
        if not error_code(error).startswith("InvalidAMIID"):
            raise
        return None
    return images[0] if images else None


def _architecture(institution: Institution) -> str:
    return institution.known_types[institution.fleet.head_node.instance_type].architecture


def _faults(institution: Institution, image: Any, fix: str) -> Iterator[tuple[str, str]]:
    fleet, wanted = institution.fleet, _architecture(institution)
    if image.get("State", "available") != "available":
        yield f"it is {image['State']}", fix
    if image.get("Architecture", wanted) != wanted:
        yield f"it is for {image['Architecture']}, and nodes are {wanted}", fix
    gib = root_gib(image)
    for key_path, size in root_disks(fleet):
        if size < gib:
            yield (
                f"its root disk has {gib} GiB, and {'.'.join(map(str, key_path))} is {size}",
                f"gib: {gib}, or more",
            )


def root_gib(image: Any) -> int:
    """Return the size of an image's root disk in GiB, as EC2 describes it; 0 where it does not.

    Args:
        image: One of ``DescribeImages``.
    """
    root = image.get("RootDeviceName")
    sizes = [
        int(mapping.get("Ebs", {}).get("VolumeSize", 0))
        for mapping in image.get("BlockDeviceMappings", [])
        if mapping.get("DeviceName") == root
    ]
    return max(sizes, default=0)
