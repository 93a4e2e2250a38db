"""Write down what each role asked for, so that statements can be taken away and asked again."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ministack.core import iam_evaluator

_enforcing: ContextVar[bool] = ContextVar("enforcing", default=False)
_lock = threading.Lock()


def install(path: Path) -> None:
    """Write every request of a role, with its answer, as a line of JSON."""
    enforce, evaluate = iam_evaluator.enforce, iam_evaluator.evaluate

    def enforce_and_tell(*arguments: Any, **named: Any) -> Any:
        token = _enforcing.set(True)
        try:
            return enforce(*arguments, **named)
        finally:
            _enforcing.reset(token)

    def evaluate_and_tell(context: Any, policies: Any, *limits: Any) -> Any:
        result = evaluate(context, policies, *limits)
        if _enforcing.get():
            # The first evaluation of a request is that of the caller's own policies.
            _enforcing.set(False)
            _tell(path, context, result.decision)
        return result

    iam_evaluator.enforce = enforce_and_tell
    iam_evaluator.evaluate = evaluate_and_tell


def _tell(path: Path, context: Any, decision: str) -> None:
    line = {
        "principal": context.principal_arn,
        "account": context.principal_account,
        "kind": context.principal_type,
        "action": context.action,
        "resource": context.resource_arn,
        "region": context.region,
        "context": _plain(context.service_context),
        "keys": _plain(context.principal_keys),
        "decision": decision,
    }
    with _lock, path.open("a") as file:
        file.write(json.dumps(line, sort_keys=True, default=str) + "\n")


def _plain(values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (values or {}).items() if value is not None}
