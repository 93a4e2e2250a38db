"""NVLinks, from ``nvidia-smi nvlink --status`` and ``--errorcounters``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from .expectation import Expectation
from .results import REBOOT, Finding, Result, conclude, failure, warning

_GPU = re.compile(r"^GPU (\d+):")
_SPEED = re.compile(r"Link (\d+): ([\d.]+) GB/s")
_ERRORS = re.compile(r"Link (\d+): (\w+) Errors: (\d+)")


def judge(status: str, expected: Expectation) -> Result:
    """Return whether every link of every GPU is up.

    Args:
        status: Output of ``nvidia-smi nvlink --status``.
        expected: What the node should have.
    """
    if not expected.nvlinks:
        return conclude("nvlink", [], "no NVLink")
    fine = f"{expected.nvlinks} links of each of {expected.gpus} GPUs are up"
    return conclude("nvlink", _down(status, expected), fine)


def judge_errors(errors: str) -> Result:
    """Return whether any link had errors.

    Args:
        errors: Output of ``nvidia-smi nvlink --errorcounters``.
    """
    return conclude("nvlink_errors", _worn(errors), "no NVLink has had an error")


def _down(status: str, expected: Expectation) -> Iterator[Finding]:
    links = _by_gpu(status, _SPEED)
    if not links:
        words = (line for line in status.splitlines() if not _GPU.match(line))
        said = " ".join(" ".join(words).split())[:120]
        yield failure(REBOOT, f"no NVLink is up: {said or 'nvidia-smi says nothing'}")
        return
    seen = [int(match[1]) for line in status.splitlines() if (match := _GPU.match(line))]
    for gpu in seen:
        missing = sorted(set(range(expected.nvlinks)) - {int(link) for link, _ in links[gpu]})
        if missing:
            numbers = ", ".join(str(link) for link in missing)
            yield failure(REBOOT, f"GPU {gpu}: link {numbers} of {expected.nvlinks} down")


def _worn(errors: str) -> Iterator[Finding]:
    for gpu, counters in _by_gpu(errors, _ERRORS).items():
        for link, kind, count in counters:
            if int(count):
                yield warning(f"GPU {gpu}: link {link} had {count} {kind.lower()} errors")


def _by_gpu(text: str, pattern: re.Pattern[str]) -> dict[int, list[tuple[str, ...]]]:
    found: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    gpu = -1
    for line in text.splitlines():
        head = _GPU.match(line)
        if head:
            gpu = int(head[1])
        match = pattern.search(line)
        if match:
            found[gpu].append(match.groups())
    return found
