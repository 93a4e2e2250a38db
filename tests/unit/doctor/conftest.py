"""AWS, as canned answers of botocore's own stubs: a request that AWS would refuse is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from botocore.stub import Stubber

from trainshed.config import Institution
from trainshed.doctor import Verdict, checks_of
from trainshed.doctor.diagnosis import ask

ROOT = Path(__file__).parents[3]


class CannedClients:
    """Clients that know a few answers; whatever else is asked is an error."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._stubs: dict[str, Stubber] = {}

    def client(self, service: str) -> Any:
        return self._stub(service).client

    def answer(
        self, service: str, operation: str, response: dict[str, Any], **asked: Any
    ) -> CannedClients:
        self._stub(service).add_response(operation, response, asked or None)
        return self

    def refuse(
        self, service: str, operation: str, code: str, *, status: int = 400
    ) -> CannedClients:
        self._stub(service).add_client_error(operation, code, "as canned", status)
        return self

    def _stub(self, service: str) -> Stubber:
        if service not in self._stubs:
            self._stubs[service] = Stubber(self._session.client(service))
            self._stubs[service].activate()
        return self._stubs[service]


@pytest.fixture(scope="session")
def session() -> Any:
    """One session for all: it keeps what it read of each service."""
    return boto3.session.Session(
        aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
        aws_secret_access_key="example",
        region_name="us-east-1",
    )


@pytest.fixture
def aws(session: Any) -> CannedClients:
    return CannedClients(session)


@pytest.fixture
def institution() -> Callable[..., Institution]:
    """Make the smallest institution with other sections, each as YAML."""

    def make(*, queues: str = "", fleet: str = "", **sections: str) -> Institution:
        data = yaml.safe_load((ROOT / "institutions" / "minimal.yaml").read_text())
        data.update({key: yaml.safe_load(text) for key, text in sections.items()})
        data["fleet"].update(yaml.safe_load(fleet) or {})
        if queues:
            data["fleet"]["queues"] = yaml.safe_load(queues)
        return Institution.model_validate_json(json.dumps(data, default=str))

    return make


@pytest.fixture
def verdict() -> Callable[[Institution, str, CannedClients], Verdict]:
    """Run one check by its name."""

    def run(institution: Institution, name: str, aws: CannedClients) -> Verdict:
        checks = {check.name: check for check in checks_of(institution)}
        assert name in checks, sorted(checks)
        return ask(checks[name], aws)

    return run
