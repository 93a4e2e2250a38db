"""Links into the AWS console of a Region's partition."""

from __future__ import annotations

from urllib.parse import quote


def page(region: str, path: str) -> str:
    """Return the address of a page, such as ``ec2/home?region=us-east-2#Instances``."""
    domain = "console.aws.amazon.com"
    if region.startswith("cn-"):
        domain = "console.amazonaws.cn"
    elif region.startswith("us-gov-"):
        domain = "console.amazonaws-us-gov.com"
    return f"https://{region}.{domain}/{path}"


def quoted(text: str) -> str:
    """Return a text as a part of an address, whatever it holds."""
    return quote(text, safe="", errors="replace")
