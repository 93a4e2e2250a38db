"""The image of a bare Slurm fleet."""

from __future__ import annotations

from aws_cdk import CfnParameter
from constructs import Construct

from ..config.image import Image
from ..facts.images import newest_image_parameter


def image_id(scope: Construct, image: Image, architecture: str) -> str:
    """Return the id of the image of every node.

    Args:
        scope: Where the parameter of the newest image belongs.
        image: The record.
        architecture: Processor of the nodes.
    """
    named = image.lock.ami_id if image.lock else image.ami_id
    if named:
        return named
    newest = CfnParameter(
        scope,
        "NewestImage",
        type="AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>",
        default=newest_image_parameter(architecture),
        description="Name of AWS's parameter with the newest Deep Learning AMI",
    )
    return newest.value_as_string
