"""The answers as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from .diagnosis import Answer
from .verdict import Status


def as_text(answers: Sequence[Answer]) -> str:
    """Return a line for each check, what to do below it, and a count."""
    return "\n".join(_lines(answers)) + "\n"


def as_json(answers: Sequence[Answer]) -> str:
    """Return the answers for programs."""
    found = [
        {
            "check": answer.check,
            "status": answer.verdict.status.value,
            "detail": answer.verdict.detail,
            "fix": answer.verdict.fix,
            "permission": answer.permission,
        }
        for answer in answers
    ]
    return json.dumps({"ready": _is_ready(answers), "checks": found}, indent=1) + "\n"


def _is_ready(answers: Sequence[Answer]) -> bool:
    return all(answer.verdict.status is Status.READY for answer in answers)


def _lines(answers: Sequence[Answer]) -> Iterator[str]:
    width = max(len(status.value) for status in Status)
    for answer in answers:
        verdict = answer.verdict
        yield f"{verdict.status.value:<{width}}  {answer.check}: {verdict.detail}"
        if verdict.status is not Status.READY:
            yield from (f"{'':<{width}}  -> {line}" for line in verdict.fix.splitlines())
    counts = Counter(answer.verdict.status for answer in answers)
    yield ""
    yield ", ".join(f"{counts[status]} {status.value}" for status in Status)
