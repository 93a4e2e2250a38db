"""Parts of a configuration that head node, login nodes and queues have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .references import NodeActions, Script


def iam_section(policy_arns: Iterable[str], objects: Iterable[Script] = ()) -> dict[str, Any]:
    """Return the ``Iam`` of nodes: policies, and read access to the script objects alone."""
    places = dict.fromkeys((script.bucket, script.key) for script in objects)
    return present(
        AdditionalIamPolicies=[{"Policy": arn} for arn in dict.fromkeys(policy_arns)] or None,
        S3Access=[{"BucketName": bucket, "KeyName": key} for bucket, key in places] or None,
    )


def actions_section(actions: NodeActions) -> dict[str, Any]:
    """Return the ``CustomActions`` of nodes; empty without scripts."""
    events = {
        "OnNodeStart": actions.on_start,
        "OnNodeConfigured": actions.on_configured,
        "OnNodeUpdated": actions.on_updated,
    }
    return {event: {"Sequence": _sequence(scripts)} for event, scripts in events.items() if scripts}


def present(**keys: Any) -> dict[str, Any]:
    """Return the keys that have a value; None stands for a key that is left out."""
    return {key: value for key, value in keys.items() if value is not None}


def _sequence(scripts: Iterable[Script]) -> list[dict[str, Any]]:
    return [present(Script=script.url, Args=list(script.args) or None) for script in scripts]
