"""Links into the AWS console of a Region's partition."""

from __future__ import annotations


def page(region: str, path: str) -> str:
    """Return the address of a page, such as ``ec2/home?region=us-east-2#Instances``."""
    domain = "console.aws.amazon.com"
    if region.startswith("cn-"):
        domain = "console.amazonaws.cn"
    elif region.startswith("us-gov-"):
        domain = "console.amazonaws-us-gov.com"
    return f"https://{region}.{domain}/{path}"
