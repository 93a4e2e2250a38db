"""Asks the real ParallelCluster about configurations, from tests that cannot import it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import moto.ec2

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Case:
    """A cluster configuration, and what differs in the account (see `world.World`)."""

    config: Mapping[str, Any]
    world: Mapping[str, Any] = field(default_factory=dict)
    name: str = "llm"


@dataclass(frozen=True)
class Finding:
    """What one of ParallelCluster's validators says."""

    level: str
    type: str
    message: str

    def __str__(self) -> str:
        return f"{self.level} {self.type}: {self.message}"


@dataclass(frozen=True)
class Verdict:
    """What ParallelCluster says of a configuration; errors of the schema leave it at those."""

    schema_errors: dict[str, Any]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> list[str]:
        """What would make `pcluster create-cluster` refuse, in words."""
        wrong = [f"schema: {json.dumps(self.schema_errors)}"] if self.schema_errors else []
        return wrong + [str(each) for each in self.findings if each.level == "ERROR"]

    @property
    def warnings(self) -> list[str]:
        return [str(each) for each in self.findings if each.level == "WARNING"]


def validate(cases: Sequence[Case]) -> list[Verdict]:
    """Judge configurations, all in one process; the same cases are judged once a session."""
    keys = [json.dumps([case.name, case.config, case.world], sort_keys=True) for case in cases]
    new = {key: case for key, case in zip(keys, cases, strict=True) if key not in _VERDICTS}
    if new:
        document = {
            "instance_types": instance_types(new.values()),
            "cases": [vars(case) for case in new.values()],
        }
        answers = json.loads(run("tests.peers.pcluster.offline", json.dumps(document)))
        for key, answer in zip(new, answers, strict=True):
            findings = tuple(Finding(**result) for result in answer["results"])
            _VERDICTS[key] = Verdict(answer["schema_errors"], findings)
    return [_VERDICTS[key] for key in keys]


_VERDICTS: dict[str, Verdict] = {}


def run(module: str, document: str = "") -> str:
    """Run a module inside the venv of aws-parallelcluster and return its standard output."""
    # The AWS account of the developer stays out of reach.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    done = subprocess.run(
        [python(), "-m", module],
        cwd=ROOT,
        env={**environment, "AWS_CONFIG_FILE": os.devnull},
        input=document,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stderr[-4000:]}")
    return done.stdout


@cache
def python() -> str:
    """Return the Python of the venv, which is made if need be."""
    subprocess.run([ROOT / "scripts" / "pcluster_venv.sh"], check=True)
    return str(ROOT / ".cache" / "pcluster-3.16.1" / "bin" / "python")


def instance_types(cases: Any) -> dict[str, Any]:
    """Return moto's copy of what EC2 says of each instance type that the cases name."""
    named = {text for case in cases for text in _texts([case.config, case.world])}
    return {name: facts for name, facts in _catalogue().items() if name in named}


@cache
def _catalogue() -> dict[str, Any]:
    path = Path(moto.ec2.__path__[0]) / "resources" / "instance_types.json.gz"
    catalogue: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return catalogue


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _texts(each)
