"""User data of the nodes of a bare Slurm fleet."""

from __future__ import annotations

import re
from pathlib import Path

from aws_cdk import Fn

from .._assets import asset

# EC2 user guide "Run commands when you launch an EC2 instance with user data input", read
# 2026-11-29: 16 KB before it is encoded. Two are kept free.
MOST_BYTES = 16_384
MARGIN_BYTES = 2048


def user_data(*, cluster: str, region: str, role: str, queue: str = "") -> str:
    """Return the script that a node runs at its first start, as EC2 takes it.

    Args:
        cluster: Name of the cluster.
        region: AWS Region.
        role: ``head``, ``login`` or ``compute``.
        queue: Queue of a compute node.

    Raises:
        ValueError: The script is too long.
    """
    text = Path(asset("node", "user_data", "bootstrap.sh")).read_text(encoding="utf-8")
    return Fn.base64(rendered(text, cluster=cluster, region=region, role=role, queue=queue))


def rendered(text: str, *, cluster: str, region: str, role: str, queue: str) -> str:
    """Return the script with its four values.

    Raises:
        ValueError: A value has no place in it, or it is too long.
    """
    values = {"CLUSTER": cluster, "REGION": region, "ROLE": role, "QUEUE": queue}
    places = re.findall(r"@([A-Z]+)@", text)
    if sorted(places) != sorted(values):
        raise ValueError(
            f"the bootstrap script has the places {', '.join(sorted(places))}; "
            f"write each of {', '.join(sorted(values))} once"
        )
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    size = len(text.encode())
    if size > MOST_BYTES - MARGIN_BYTES:
        raise ValueError(
            f"the user data has {size} bytes, above {MOST_BYTES - MARGIN_BYTES}; EC2 takes "
            f"{MOST_BYTES}: move some of it to a script that the node fetches"
        )
    return text
