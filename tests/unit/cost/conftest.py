"""Institutions to be priced."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainshed.cli.checked import load_checked
from trainshed.config import Institution

ROOT = Path(__file__).parents[3]

BASE: dict[str, Any] = {
    "name": "priced",
    "account": "111122223333",
    "region": "us-east-1",
    "network": {"zone": "us-east-1a", "vpc": {}},
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
}


@pytest.fixture
def example() -> Callable[[str], Institution]:
    """Read an institution of this repository."""

    def read(name: str) -> Institution:
        return load_checked(ROOT / "institutions" / f"{name}.yaml")

    return read


@pytest.fixture
def institution() -> Callable[..., Institution]:
    """Make an institution of the smallest one, with other sections: ``queues`` and ``storage``."""

    def make(queues: str = "", storage: str = "", **others: Any) -> Institution:
        data = {**BASE, **others}
        if queues:
            data["fleet"] = {**data["fleet"], "queues": yaml.safe_load(queues)}
        if storage:
            data["storage"] = yaml.safe_load(storage)
        return Institution.model_validate_json(json.dumps(data, default=str))

    return make
