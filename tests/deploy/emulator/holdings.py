"""What the emulator holds: each resource of each service, for what came and what is left.

An API lists what it knows of, and none lists what ``recorder`` keeps; here nothing is left out but
what is told of resources, and what is remembered of those that are gone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from ministack import app
from ministack.core.responses import AccountRegionScopedDict, AccountScopedDict

from tests.deploy.emulator import recorder

_PATH = "/_ministack/trainshed/holdings"
_SERVICES = "ministack.services."
# Parts of a resource that another record is, and what happened to it.
_TOLD = {
    "cloudformation.stack_events",
    "cloudtrail.events",
    "cloudwatch.alarm_history",
    "cloudwatch.metrics",
    "eventbridge.events_log",
    "iam.aws_managed_attachment_counts",
    "route53.caller_refs",
    "s3.bucket_versioning",
    "s3.object_versions",
    "ssm.parameter_history",
    "stepfunctions.executions",
}
# Made with the account, and noted when somebody asks.
_ALWAYS = {"scheduler.schedule_groups default"}
_STATES = ("State", "KeyState", "StackStatus")
_GONE = {"deleted", "disassociated", "terminated", "PendingDeletion", "DELETE_COMPLETE"}


def install() -> None:
    """Make ministack answer requests for what it holds, which IAM does not decide on."""
    others = app._handle_admin_reset

    async def answer(path: str, method: str, query: Any) -> Any:
        if path != _PATH:
            return await others(path, method, query)
        return 200, {"Content-Type": "application/json"}, json.dumps(sorted(_held())).encode()

    app._handle_admin_reset = answer


def _held() -> Iterator[str]:
    """Yield each resource as ``SERVICE.STORE KEY``, whatever its account and Region."""
    seen = set()
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(_SERVICES):
            continue
        for store, value in sorted(vars(module).items()):
            kind = f"{name.removeprefix(_SERVICES)}.{store.strip('_')}"
            known = isinstance(value, AccountScopedDict | AccountRegionScopedDict)
            # Some are imported from another module.
            if not known or id(value) in seen or kind in _TOLD or kind.endswith("tags"):
                continue
            seen.add(id(value))
            here = {f"{kind} {key[-1]}" for key, it in list(value._data.items()) if _is(it)}
            yield from here - _ALWAYS
    yield from (f"{type} {id}" for type, id in list(recorder.RECORDS))


def _is(item: Any) -> bool:
    """Tell whether a record is one of something that still exists."""
    if not isinstance(item, dict):
        return True
    states = [item.get(key) for key in _STATES]
    named = [each.get("Name") if isinstance(each, dict) else each for each in states]
    # A layer is its versions.
    return not _GONE & {str(each) for each in named} and item.get("versions") != []
