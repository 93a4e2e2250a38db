"""Judge cluster configurations by ParallelCluster's own schema and validators, without AWS.

Runs inside the venv of aws-parallelcluster, as ``python -m tests.peers.pcluster.offline``. Standard
input is a JSON object: ``instance_types`` (what DescribeInstanceTypes answers) and ``cases``, each
with ``name``, ``config`` and ``world`` (fields of `world.World`). Standard output is a JSON
list with ``schema_errors`` and ``results`` (level, type, message) for each case.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Mapping
from typing import Any

from tests.peers.pcluster.canned_aws import CannedAws, isolate
from tests.peers.pcluster.world import Account, World


def judge(case: Mapping[str, Any], instance_types: dict[str, Any]) -> dict[str, Any]:
    """Return the schema errors, or else the findings of the validators, of one configuration."""
    config = case["config"]
    image = config.get("Image")
    ami_os = image.get("Os", "ubuntu2204") if isinstance(image, dict) else "ubuntu2204"
    world = World(**{"ami_os": ami_os, "instance_types": instance_types, **case["world"]})
    aws = CannedAws(Account(world))
    isolate(aws)
    verdict = _validate(case["name"], copy.deepcopy(config))
    if aws.unanswered:  # pcluster may have turned the refusal into a mere finding
        raise SystemExit(f"the canned AWS has no answer to: {', '.join(sorted(aws.unanswered))}")
    return verdict


def _validate(name: str, config: dict[str, Any]) -> dict[str, Any]:
    from marshmallow import ValidationError  # type: ignore[import-not-found]
    from pcluster.schemas.cluster_schema import ClusterSchema  # type: ignore[import-not-found]
    from pcluster.validators.common import ValidatorContext  # type: ignore[import-not-found]

    try:
        model = ClusterSchema(cluster_name=name).load(config)
    except ValidationError as error:
        return {"schema_errors": error.messages, "results": []}
    try:
        findings = model.validate(None, ValidatorContext())
    except Exception as error:
        # As pcluster itself puts it, for instance on a capacity reservation that does not exist.
        text = f"Invalid cluster configuration: {error}"
        crash = {"level": "ERROR", "type": type(error).__name__, "message": text}
        return {"schema_errors": {}, "results": [crash]}
    results = {(str(f.level), f.validator_type, f.message) for f in findings}
    keys = ("level", "type", "message")
    return {
        "schema_errors": {},
        "results": [dict(zip(keys, each, strict=True)) for each in sorted(results)],
    }


if __name__ == "__main__":
    document = json.load(sys.stdin)
    verdicts = [judge(case, document["instance_types"]) for case in document["cases"]]
    json.dump(verdicts, sys.stdout)
