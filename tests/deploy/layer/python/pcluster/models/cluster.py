"""``Cluster`` with the configuration that was saved."""

from __future__ import annotations

import json

from .. import saved


class Cluster:
    """A cluster by its name."""

    def __init__(self, name: str) -> None:
        self.source_config_text = json.dumps(saved.read(name))
