"""Run our provider against the real ParallelCluster, with an AWS that keeps stacks and objects.

Runs inside the venv of aws-parallelcluster, as ``python -m tests.peers.pcluster.drive``. Standard
input is a JSON object: ``instance_types``, ``world`` (fields of `world.World`), ``steps``. A step
has an ``event``, and optionally ``entry`` (the name of the handler), ``before`` (a status that the
cluster's stack has come to) and ``fleet`` (the status of the compute fleet). Standard output is a
JSON object: for each of the ``steps`` its ``answer`` or ``error`` and the calls that change
CloudFormation; the ``templates`` of the last step, the cluster's and the nested ones; and the whole
``log``, with every logger at INFO.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import yaml

from assets.functions.parallelcluster import handler
from tests.peers.pcluster.canned_aws import CannedAws, isolate
from tests.peers.pcluster.world import ACCOUNT, Account, Answer, AwsError, Parameters, World

CHANGING = {f"cloudformation.{verb}Stack" for verb in ("Create", "Update", "Delete")}


class DeployingAccount(Account):
    """An account in which ParallelCluster deploys: it has CloudFormation, and a running fleet."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.stacks: dict[str, Answer] = {}
        self.fleet = "RUNNING"
        self.answers |= {
            "cloudformation.CreateStack": self._create_stack,
            "cloudformation.DescribeStackEvents": lambda p: {"StackEvents": []},
            "cloudformation.DescribeStackResources": lambda p: {
                "StackResources": [
                    {"LogicalResourceId": name, "PhysicalResourceId": "sg-0123456789abcdef9"}
                    for name in ("HeadNodeSecurityGroup", "ComputeSecurityGroup")
                ]
            },
            "cloudformation.DescribeStacks": lambda p: {"Stacks": [self.stack(p["StackName"])]},
            "cloudformation.UpdateStack": self._update_stack,
            "dynamodb.GetItem": lambda p: {
                "Item": {"Data": {"M": {"status": {"S": self.fleet}}}},
            },
            "ec2.DescribeInstances": lambda p: {
                "Reservations": [{"Instances": [{"InstanceId": "i-0123456789abcdef0"}]}]
            },
            "resourcegroupstaggingapi.GetResources": lambda p: {"ResourceTagMappingList": []},
        }

    def stack(self, name_or_arn: str) -> Answer:
        name = name_or_arn.split("/")[1] if "/" in name_or_arn else name_or_arn
        if name not in self.stacks:
            raise AwsError("ValidationError", f"Stack with id {name_or_arn} does not exist")
        return self.stacks[name]

    def _create_stack(self, given: Parameters) -> Answer:
        arn = self._arn("cloudformation", f"stack/{given['StackName']}/0f1e2d3c-inner")
        head_node = {"HeadNodeInstanceID": "i-0123456789abcdef0", "HeadNodePrivateIP": "10.0.0.7"}
        self.stacks[given["StackName"]] = {
            "StackId": arn,
            "StackName": given["StackName"],
            "CreationTime": datetime.now(UTC),
            "Outputs": [{"OutputKey": k, "OutputValue": v} for k, v in head_node.items()],
            **self._deployed(given, "CREATE_IN_PROGRESS"),
        }
        return {"StackId": arn}

    def _update_stack(self, given: Parameters) -> Answer:
        self.stack(given["StackName"]).update(self._deployed(given, "UPDATE_IN_PROGRESS"))
        return {"StackId": self.stack(given["StackName"])["StackId"]}

    def _deployed(self, given: Parameters, status: str) -> Answer:
        """Return what a template and its tags make of a stack."""
        bucket, key = given["TemplateURL"].removeprefix("https://").split("/", 1)
        template = yaml.safe_load(self.objects[bucket.split(".")[0], key])
        defaults = {name: each.get("Default") for name, each in template["Parameters"].items()}
        defaults |= {each["ParameterKey"]: each["ParameterValue"] for each in given["Parameters"]}
        parameters = [{"ParameterKey": k, "ParameterValue": v} for k, v in defaults.items()]
        return {"StackStatus": status, "Parameters": parameters, "Tags": given["Tags"]}


def drive(document: Mapping[str, Any]) -> dict[str, Any]:
    world = World(**document["world"], instance_types=document["instance_types"])
    account, log = DeployingAccount(world), io.StringIO()
    aws = CannedAws(account)
    isolate(aws)
    _bootstrap(account)
    logging.basicConfig(level=logging.INFO, stream=log)
    with redirect_stdout(log):
        steps = [_step(step, account, aws) for step in document["steps"]]
    if aws.unanswered:
        raise SystemExit(f"the canned AWS has no answer to: {', '.join(sorted(aws.unanswered))}")
    return {"steps": steps, "templates": _templates(account), "log": log.getvalue()}


def _templates(account: DeployingAccount) -> list[Answer]:
    """Return what ParallelCluster uploaded as templates."""
    objects = account.objects.items()
    texts = [text for (_, key), text in objects if "/templates/" in key or "/assets/" in key]
    return [yaml.safe_load(text) for text in texts]


def _bootstrap(account: DeployingAccount) -> None:
    """Have the bucket that ParallelCluster keeps in each account."""
    from pcluster.constants import (  # type: ignore[import-not-found]
        PCLUSTER_BUCKET_REQUIRED_BOOTSTRAP_FEATURES,
    )
    from pcluster.models.s3_bucket import S3Bucket  # type: ignore[import-not-found]

    bucket = S3Bucket.get_bucket_name(ACCOUNT, account.world.region)
    marker = {"bootstrapped_features": PCLUSTER_BUCKET_REQUIRED_BOOTSTRAP_FEATURES}
    account.objects[bucket, "parallelcluster/.bootstrapped"] = json.dumps(marker).encode()


def _step(step: Mapping[str, Any], account: DeployingAccount, aws: CannedAws) -> dict[str, Any]:
    event = step["event"]
    if "before" in step:
        account.stack(event["ResourceProperties"]["ClusterName"])["StackStatus"] = step["before"]
    account.fleet = step.get("fleet", "RUNNING")
    aws.calls.clear()
    outcome: dict[str, Any] = {}
    try:
        entry = getattr(handler, step.get("entry", "on_event"))
        outcome["answer"] = entry(event, SimpleNamespace(log_stream_name="stream"))
    except handler.ClusterError as error:
        outcome["error"] = str(error)
    return {**outcome, "calls": [call for call in aws.calls if call[0] in CHANGING]}


if __name__ == "__main__":
    json.dump(drive(json.load(sys.stdin)), sys.stdout, default=str)
