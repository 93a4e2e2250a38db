"""What a check of the account says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Status(StrEnum):
    """Whether the account is ready in one respect."""

    READY = "ready"
    NOT_READY = "not ready"
    UNKNOWN = "unknown"
    """AWS did not say: no permission, no answer, or nothing that can be asked."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one check.

    Args:
        status: Ready or not.
        detail: What was found.
        fix: A command, or what to do. Empty: nothing to do.
    """

    status: Status
    detail: str
    fix: str = ""


def ready(detail: str) -> Verdict:
    """Say that something is as it should be."""
    return Verdict(Status.READY, detail)


def not_ready(detail: str, fix: str) -> Verdict:
    """Say that a deployment or a job would fail, and what to do."""
    return Verdict(Status.NOT_READY, detail, fix)


def unknown(detail: str, fix: str) -> Verdict:
    """Say that AWS did not tell, and how to find out."""
    return Verdict(Status.UNKNOWN, detail, fix)


def judged(faults: Sequence[tuple[str, str]], otherwise: str) -> Verdict:
    """Join faults into one verdict.

    Args:
        faults: What is wrong, each with its fix.
        otherwise: What is right where nothing is wrong.
    """
    if not faults:
        return ready(otherwise)
    fixes = list(dict.fromkeys(fix for _, fix in faults))
    return not_ready("; ".join(detail for detail, _ in faults), "\n".join(fixes))


class Clients(Protocol):
    """Clients of AWS services in the institution's Region."""

    def client(self, service: str) -> Any:
        """Return the client of a service, such as ``ec2``."""


Run = Callable[[Clients], Verdict]
"""Asks and judges; errors of AWS that it does not expect may pass through."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question to AWS.

    Args:
        name: What is looked at.
        permission: IAM action that it needs.
        run: Asks and judges.
    """

    name: str
    permission: str
    run: Run


def error_code(error: Exception) -> str:
    """Return AWS's code of an error; empty where the error is not AWS's."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""
