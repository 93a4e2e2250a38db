"""Lets ParallelCluster's own boto3 clients ask an account that does not exist.

botocore's events hand back the answers, so that botocore still checks and paginates the requests.
There is no network and there are no credentials; a call without an answer ends the run. Runs inside
the venv of aws-parallelcluster.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import URLError

import boto3
import botocore.session
import pcluster.utils  # type: ignore[import-not-found]
from botocore.loaders import create_loader

from tests.peers.pcluster.world import Account, Answer, AwsError, Parameters

# One for all cases: it keeps the descriptions of the services, which take longer than a case.
_LOADER = create_loader()


class CannedAws:
    """Answers boto3 in this process, one account at a time."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.calls: list[tuple[str, Parameters]] = []
        self.unanswered: set[str] = set()

    def install(self) -> None:
        """Become AWS, for the clients of this process made from now on."""
        region = self.account.world.region
        os.environ["AWS_DEFAULT_REGION"] = region
        session: Any = botocore.session.get_session()
        session.register_component("data_loader", _LOADER)
        session.set_credentials("none", "none")
        session.register("before-parameter-build", _remember)
        session.register("before-call", self._answer)
        boto3.setup_default_session(botocore_session=session, region_name=region)

    def urlopen(self, url: str) -> nullcontext[None]:
        if url in self.account.world.missing_objects:
            raise URLError("Not Found")
        return nullcontext()

    def _answer(self, model: Any, context: Mapping[str, Any], **_: Any) -> tuple[Any, Answer]:
        call = f"{model.service_model.service_name}.{model.name}"
        given = context["given"]
        self.calls.append((call, given))
        if call not in self.account.answers:
            self.unanswered.add(call)
            raise NotImplementedError(f"the canned AWS has no answer to {call}")
        try:
            status, answer = 200, self.account.answers[call](given)
        except AwsError as error:
            status, answer = 400, {"Error": {"Code": error.code, "Message": str(error)}}
        return RawResponse(status), {**answer, "ResponseMetadata": {"HTTPStatusCode": status}}


def _remember(params: Parameters, context: dict[str, Any], **_: Any) -> None:
    context["given"] = dict(params)


@dataclass
class RawResponse:
    """What botocore looks at besides the answer."""

    status_code: int
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""


def isolate(aws: CannedAws) -> None:
    """Take from pcluster what reaches past boto3 or outlives a case: URLs, caches, event loops."""
    asyncio.set_event_loop(asyncio.new_event_loop())
    socket.socket.connect = _no_network  # type: ignore[assignment,method-assign]
    # The verdict on a URL is kept for ten seconds; the patch must precede the import.
    pcluster.utils.AsyncUtils.async_timeout_cache = lambda timeout: lambda function: function
    regions = Path(pcluster.utils.__file__).parent / "resources" / "supported-regions"
    pcluster.utils.retrieve_supported_regions.cache = regions.read_text().split()

    from pcluster.aws.aws_api import AWSApi  # type: ignore[import-not-found]
    from pcluster.aws.common import Cache  # type: ignore[import-not-found]
    from pcluster.validators import s3_validators  # type: ignore[import-not-found]

    s3_validators.urlopen = aws.urlopen
    AWSApi.reset()
    Cache.clear_all()
    aws.install()


def _no_network(_: socket.socket, address: object) -> NoReturn:
    raise NotImplementedError(f"the canned AWS has no network; asked for {address}")
