"""Institution files of the tests."""

from __future__ import annotations

import copy
from typing import Any

from tests.deploy.emulator.process import ACCOUNT, REGION

Document = dict[str, Any]
# The lab's machines believe to be in this Region.
LAB_REGION = "us-east-2"


def small(name: str, **changes: Any) -> Document:
    """Return the fewest keys that make a cluster, with some at the top changed."""
    return {
        "name": name,
        "account": ACCOUNT,
        "region": REGION,
        "termination_protection": False,
        "network": {"zone": f"{REGION}a", "vpc": {}},
        "storage": {"lustre": {"capacity_gib": 1200, "throughput_mb_s_per_tib": 125}},
        "fleet": {
            "queues": {
                "gpu": {
                    "instance_type": "g6.12xlarge",
                    "max_nodes": 2,
                    "capacity": {"kind": "on_demand"},
                }
            }
        },
    } | changes


def bare(name: str, **changes: Any) -> Document:
    """Return a bare fleet of two nodes under a policy, as the lab can run it."""
    return (
        small(
            name,
            region=LAB_REGION,
            network={"zone": f"{LAB_REGION}a", "vpc": {}},
            fleet={
                "backend": "slurm",
                "image": {"ami_id": "ami-0123456789abcdef0"},
                "queues": {
                    "train": {
                        "instance_type": "p5en.48xlarge",
                        "min_nodes": 2,
                        "max_nodes": 2,
                        "nvme_dir": None,
                        "capacity": {"kind": "on_demand"},
                    }
                },
                # A machine of two cores claims the hardware of a GPU node.
                "slurm": {
                    "containers": False,
                    "extra_slurm_settings": {"SlurmdParameters": "config_overrides"},
                },
                "policy": {
                    "partitions": {
                        "normal": {"queues": ["train"], "default": True, "qos": "member_qos"}
                    },
                    "qos": {"member_qos": {"gpus_per_user": 16}},
                    "accounts": {
                        "lab": {
                            "description": "Lattice lab",
                            "qos": ["member_qos"],
                            "default_qos": "member_qos",
                        }
                    },
                    "users": {"kim": {"account": "lab", "uid": 2001}},
                },
            },
        )
        | changes
    )


def changed(document: Document, path: str, value: Any) -> Document:
    """Return a copy of a document with the value at a dotted path changed."""
    copied = copy.deepcopy(document)
    *parents, last = path.split(".")
    place = copied
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return copied


def alerts(secret_arn: str) -> Document:
    """Return a section of alerts that go to channels of one name each."""
    return {
        "slack_secret_arn": secret_arn,
        "routes": {"critical": "C0ONCALL00", "warning": "C0OPS00000", "info": "C0INFO0000"},
        "operators": ["hpc@example.edu"],
    }
