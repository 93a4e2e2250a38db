"""Every check at once, within a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from ..config import Institution
from .account import ACCOUNT, account_check, account_checks
from .capacity import capacity_checks
from .data import data_checks
from .network import network_checks
from .verdict import Check, Clients, Status, Verdict, error_code, not_ready, unknown

WORKERS = 16
_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403", "Forbidden")
_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "AuthFailure")
SIGN_IN = "aws sso login, or set AWS_PROFILE or give --profile"


class SessionClients:
    """Clients of one session, each made once and bounded in time.

    Args:
        session: A boto3 session.
        region: Region of every client.
    """

    def __init__(self, session: Any, region: str) -> None:
        self._session = session
        self._region = region
        self._made: dict[str, Any] = {}
        # Sessions are not safe to make clients from in several threads; clients themselves are.
        self._lock = threading.Lock()

    def client(self, service: str) -> Any:
        """Return the client of a service."""
        with self._lock:
            if service not in self._made:
                self._made[service] = self._session.client(
                    service,
                    region_name=self._region,
                    config=Config(
                        connect_timeout=4,
                        read_timeout=8,
                        retries={"mode": "standard", "total_max_attempts": 3},
                    ),
                )
            return self._made[service]


@dataclass(frozen=True, slots=True)
class Answer:
    """A check with its verdict.

    Args:
        check: Name of the check.
        permission: IAM action that it needs.
        verdict: What it says.
    """

    check: str
    permission: str
    verdict: Verdict


def checks_of(institution: Institution) -> tuple[Check, ...]:
    """Return what is asked for an institution, beside whose account it is."""
    return (
        *account_checks(institution),
        *capacity_checks(institution),
        *network_checks(institution),
        *data_checks(institution),
    )


def diagnose(
    institution: Institution, clients: Clients, *, timeout_seconds: float = 60
) -> tuple[Answer, ...]:
    """Ask AWS everything that the file takes for granted. Nothing is changed.

    Args:
        institution: The institution.
        clients: Clients of its Region.
        timeout_seconds: When to stop waiting; what has not answered is then unknown.
    """
    end = time.monotonic() + timeout_seconds
    first = account_check(institution)
    who = ask_all([first], clients, end)[0]
    checks = checks_of(institution)
    if who.verdict.status is not Status.READY:
        skipped = unknown("not asked, since the account is not right", "see account")
        return (who, *(Answer(check.name, check.permission, skipped) for check in checks))
    return (who, *ask_all(checks, clients, end))


def ask_all(checks: Sequence[Check], clients: Clients, end: float) -> list[Answer]:
    """Ask side by side, and wait until a time of ``time.monotonic``."""
    futures: list[Future[Verdict]] = [Future() for _ in checks]
    waiting = deque(zip(checks, futures, strict=True))
    for _ in range(min(WORKERS, len(checks))):
        # Daemons: a question that hangs does not keep the command from ending.
        threading.Thread(target=_work, args=(waiting, clients), daemon=True).start()
    wait(futures, timeout=max(0, end - time.monotonic()))
    waiting.clear()
    return [
        Answer(check.name, check.permission, _verdict(future))
        for check, future in zip(checks, futures, strict=True)
    ]


def _work(waiting: deque[tuple[Check, Future[Verdict]]], clients: Clients) -> None:
    while waiting:
        try:
            check, future = waiting.popleft()
        except IndexError:
            # Another thread took the last one.
            return
        try:
            future.set_result(ask(check, clients))
        except Exception as error:
            future.set_exception(error)


def _verdict(future: Future[Verdict]) -> Verdict:
    if not future.done():
        return unknown("no answer in time", "run it again, or with a longer --timeout")
    return future.result()


def ask(check: Check, clients: Clients) -> Verdict:
    """Ask one question; an error of AWS that the check did not expect is a verdict too."""
    try:
        return check.run(clients)
    except NoCredentialsError:
        return not_ready("there are no credentials", SIGN_IN)
    except ClientError as error:
        code = error_code(error)
        if code in _DENIED:
            return unknown(
                f"no permission for {check.permission}",
                f"run it as somebody who may {check.permission}",
            )
        if code in _EXPIRED:
            return not_ready(f"the credentials are not valid here ({code})", SIGN_IN)
        message = error.response.get("Error", {}).get("Message", "")
        return unknown(f"{code}: {message}", "see what AWS says of this error")
    except BotoCoreError as error:
        return unknown(str(error), "see network and credentials")


def exit_code(answers: Iterable[Answer], *, strict: bool = False) -> int:
    """Return 1 where something is not ready, the account is not known, or (strict) anything is."""
    return int(any(_is_bad(answer, strict) for answer in answers))


def _is_bad(answer: Answer, strict: bool) -> bool:
    match answer.verdict.status:
        case Status.READY:
            return False
        case Status.NOT_READY:
            return True
        case Status.UNKNOWN:
            return strict or answer.check == ACCOUNT
