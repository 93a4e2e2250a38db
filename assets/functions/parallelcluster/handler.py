"""The provider of ``Custom::TrainshedParallelCluster``: starts, watches and removes one cluster.

CDK's provider framework calls ``on_event``, which runs with AWS's layer that carries
``pcluster.lib``, and then ``is_complete``, which runs without it and only reads CloudFormation.

A cluster is a CloudFormation stack of its own, the inner stack. Its ARN is the physical id; its tag
``trainshed:owner`` names the resource that made it, and no other may update or delete it. A cluster
outlives its resource where its removal policy says so. The tag ``trainshed:owner-stack`` is the
stack of that resource: once it is gone, a resource of the same name takes the cluster over.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

Event = Mapping[str, Any]
Answer = dict[str, Any]

SCHEMA_VERSION = "1"
OWNER_TAG = "trainshed:owner"
OWNER_STACK_TAG = "trainshed:owner-stack"
# CloudFormation takes a response of 4096 bytes, and CDK's framework fills up to 1300 of them with
# ids and a stack trace (measured in tests/peers/pcluster/test_framework.py).
REASON_BYTES = 2400
# CloudFormation waits an hour from its request. The inner stack is younger than that by on_event's
# work, and a poll is a minute apart. Telling why beats being cut off with "timed out".
OUT_OF_TIME = timedelta(minutes=56)

# CloudFormation API, "Common errors", and botocore's list of what to try again, read 2026-11-30.
THROTTLED = {"Throttling", "ThrottlingException", "RequestLimitExceeded"}

SERVING = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"}
NEVER_COMPLETED = {"CREATE_IN_PROGRESS", "CREATE_FAILED"} | {
    f"ROLLBACK_{end}" for end in ("IN_PROGRESS", "COMPLETE", "FAILED")
}
DELETE = "aws cloudformation delete-stack --stack-name {}"
ADVICE = {
    "UPDATE_ROLLBACK_COMPLETE": "the update was rolled back; the cluster is as it was before",
    "UPDATE_ROLLBACK_FAILED": "repair the stack first: aws cloudformation "
    "continue-update-rollback --stack-name {name}",
}


class ClusterError(Exception):
    """A refusal or a failure, told to the person who deploys."""


class Context(Protocol):
    """What is used of Lambda's context."""

    log_stream_name: str


def on_event(event: Event, context: Context) -> Answer:
    """Start what CloudFormation asks for."""
    starters = {"Create": _create, "Update": _update, "Delete": _delete}
    return _guarded(starters[event["RequestType"]], event, context)


def is_complete(event: Event, context: Context) -> Answer:
    """Tell whether what ``on_event`` started has ended well; raise if it has ended badly."""
    return _guarded(_poll, event, context)


def _guarded(action: Callable[[Event], Answer], event: Event, context: Context) -> Answer:
    try:
        return action(event)
    except ClusterError as error:
        _log(event, "failed", reason=str(error))
        raise ClusterError(fit(str(error), context.log_stream_name)) from None
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        _log(event, "failed", reason=reason)
        raise ClusterError(fit(reason, context.log_stream_name)) from error


@dataclass(frozen=True)
class Wanted:
    """The properties of the resource, with the types that CloudFormation takes away."""

    cluster_name: str
    configuration: dict[str, Any]
    """The cluster configuration, with the owner and its stack among its tags."""
    rollback_on_failure: bool
    validation: dict[str, Any]
    """Arguments of pcluster: which validators run, and which findings refuse."""


CHOICES = {
    "SchemaVersion": [SCHEMA_VERSION],
    "RemovalPolicy": ["retain", "destroy"],
    "RollbackOnFailure": ["true", "false"],
    "ValidationFailureLevel": ["ERROR", "WARNING"],
}
PROPERTIES = {*CHOICES, "ClusterName", "ClusterConfiguration", "SuppressValidators"}
FROM_CLOUDFORMATION = {"ServiceToken", "ServiceTimeout"}


def parse(properties: Mapping[str, Any], owner: str, owner_stack: str) -> Wanted:
    """Read the properties, strictly.

    Args:
        properties: As CloudFormation hands them over.
        owner: Value of the owner tag.
        owner_stack: ARN of the stack that the resource is in.

    Raises:
        ClusterError: properties are missing, unknown or malformed; all faults at once.
    """
    name = properties.get("ClusterName", "absent")
    configuration = _json(properties.get("ClusterConfiguration", "{}"))
    suppressed = _json(properties.get("SuppressValidators", "[]"))
    faults = [f"{key} is missing" for key in sorted(PROPERTIES - properties.keys())]
    unknown = properties.keys() - PROPERTIES - FROM_CLOUDFORMATION
    faults += [f"{key} is not a property" for key in sorted(unknown)]
    for key, allowed in CHOICES.items():
        if key in properties and properties[key] not in allowed:
            choices = " or ".join(map(repr, allowed))
            faults.append(f"{key} is {properties[key]!r}; use the string {choices}")
    if not re.fullmatch("[a-zA-Z][a-zA-Z0-9-]{0,59}", str(name)):
        rule = "a letter, then up to 59 letters, digits and hyphens"
        faults.append(f"ClusterName is {name!r}; use {rule}")
    if not (isinstance(suppressed, list) and all(map(_is_suppressor, suppressed))):
        faults.append("SuppressValidators is not the JSON text of a list of 'ALL' or 'type:NAME'")
    if not isinstance(configuration, dict):
        faults.append("ClusterConfiguration is not the JSON text of an object")
    else:
        faults += _tag_faults(configuration.setdefault("Tags", []))
    if faults:
        raise ClusterError("the properties of this resource are wrong: " + "; ".join(faults))
    own = {OWNER_TAG: owner, OWNER_STACK_TAG: owner_stack}
    tags = [*configuration["Tags"], *({"Key": key, "Value": own[key]} for key in own)]
    validation = {"validation_failure_level": properties["ValidationFailureLevel"]}
    return Wanted(
        cluster_name=name,
        configuration={**configuration, "Tags": sorted(tags, key=lambda tag: str(tag["Key"]))},
        rollback_on_failure=properties["RollbackOnFailure"] == "true",
        validation=validation | ({"suppress_validators": suppressed} if suppressed else {}),
    )


def _json(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _is_suppressor(item: object) -> bool:
    return isinstance(item, str) and re.fullmatch("ALL|type:[A-Za-z0-9]+", item) is not None


def _tag_faults(tags: object) -> list[str]:
    if not (isinstance(tags, list) and all(isinstance(tag, dict) and "Key" in tag for tag in tags)):
        return ["Tags of ClusterConfiguration is not a list of objects with Key and Value"]
    own = [tag["Key"] for tag in tags if tag["Key"] in {OWNER_TAG, OWNER_STACK_TAG}]
    return [f"Tags of ClusterConfiguration holds {key}, which the provider sets" for key in own]


def _wanted(event: Event) -> Wanted:
    return parse(event["ResourceProperties"], _owner(event), event["StackId"])


def _create(event: Event) -> Answer:
    wanted = _wanted(event)
    name = wanted.cluster_name
    if (found := _stack(name)) is not None:
        return _adopt(event, wanted, found)
    try:
        made = _pcluster().create_cluster(
            cluster_name=name,
            cluster_configuration=wanted.configuration,
            rollback_on_failure=wanted.rollback_on_failure,
            **wanted.validation,
        )
    except Exception as error:
        # A request may run twice at once: the slower run finds the stack of the faster one.
        if (found := _stack(name)) is not None and _owns(event, found):
            return _adopt(event, wanted, found)
        raise ClusterError(f"cluster {name} was not created: {explain(error)}") from error
    return _answer(event, made["cluster"]["cloudformationStackArn"], "created")


def _adopt(event: Event, wanted: Wanted, found: StackTypeDef) -> Answer:
    """Take a stack that has the wanted name for ours, if it may be."""
    name, status, arn = found["StackName"], found["StackStatus"], found["StackId"]
    owns = _owns(event, found)
    if owns and (status in NEVER_COMPLETED or (status in SERVING and _runs(event, wanted))):
        return _answer(event, arn, "adopted")
    obstacle = None if owns else _foreign(event, found)
    if obstacle is None and event["ResourceProperties"]["RemovalPolicy"] != "retain":
        # A creation that fails is rolled back, and with "destroy" its rollback deletes what it has.
        obstacle = "it was retained: take it over with RemovalPolicy 'retain', then change that"
    if obstacle is not None:
        raise ClusterError(f"a stack named {name} is there already: it was not touched; {obstacle}")
    return _take_over(event, wanted, found)


def _foreign(event: Event, found: StackTypeDef) -> str | None:
    """Return why another's stack is none that we may take over; None if we may.

    We may if it was retained by the resource that we are, in an earlier stack of the same name.
    """
    tags = _tags(found)
    owner, former = tags.get(OWNER_TAG, ""), tags.get(OWNER_STACK_TAG, "")
    place, _, id = former.rpartition("/")
    ours = event["StackId"].rpartition("/")[0]
    if place != ours or owner != f"{id}/{event['LogicalResourceId']}":
        return "it does not belong to this resource: choose another ClusterName"
    stack = _stack(former)
    if stack is not None and stack["StackStatus"] != "DELETE_COMPLETE":
        return f"it belongs to {former}, which is still there ({stack['StackStatus']})"
    return None


def _take_over(event: Event, wanted: Wanted, found: StackTypeDef) -> Answer:
    """Update a cluster that was retained to what is wanted, which has our tags.

    Until the update is done it may carry the former ones, and then no rollback of ours touches it.
    """
    name, status, arn = found["StackName"], found["StackStatus"], found["StackId"]
    # The configuration that we want has our own tags: none but us can have begun this.
    if status == "UPDATE_IN_PROGRESS" and _runs(event, wanted):
        return _answer(event, arn, "updated")
    if status not in SERVING:
        raise ClusterError(f"retained cluster {name} is {status}: deploy again once it settled")
    _pcluster()
    _require_same_version(found)
    try:
        _pcluster().update_cluster(
            cluster_name=name, cluster_configuration=wanted.configuration, **wanted.validation
        )
    except Exception as error:
        if _runs(event, wanted):  # another run of this request was faster
            return _answer(event, arn, "updated")
        raise ClusterError(
            f"cluster {name} was retained and is untouched: it can be taken over, but not with "
            f"this configuration: {explain(error)}"
        ) from error
    _log(event, "taking over", former=_tags(found).get(OWNER_STACK_TAG, ""))
    return _answer(event, arn, "updated")


def _update(event: Event) -> Answer:
    wanted = _wanted(event)
    name = wanted.cluster_name
    outcome = _already_applied(event, wanted)
    if outcome is None:
        _require_same_version(_updatable(event, wanted))
        try:
            _pcluster().update_cluster(
                cluster_name=name, cluster_configuration=wanted.configuration, **wanted.validation
            )
            outcome = "updated"
        except Exception as error:
            reason = explain(error)
            outcome = _already_applied(event, wanted)
            if outcome is None and "No changes found" in reason:
                outcome = "unchanged"
            if outcome is None:
                raise ClusterError(
                    f"this update is refused, cluster {name} is untouched: {reason}"
                ) from error
    return _answer(event, event["PhysicalResourceId"], outcome)


def _updatable(event: Event, wanted: Wanted) -> StackTypeDef:
    found = _stack(event["PhysicalResourceId"])
    if found is None or found["StackStatus"] == "DELETE_COMPLETE":
        raise ClusterError(
            f"the stack of cluster {wanted.cluster_name} is gone: "
            "give the construct a new id to make a new cluster"
        )
    name = found["StackName"]
    if not _owns(event, found):
        raise ClusterError(
            f"stack {name} was not touched: it does not carry the tag {OWNER_TAG}={_owner(event)}"
        )
    # Not compared with the old properties: in a rollback those are the ones of the failed update.
    if name != wanted.cluster_name:
        raise ClusterError(
            f"ClusterName cannot change from {name} to {wanted.cluster_name}: keep the name, or "
            "give the construct a new id, which makes a new cluster beside this one"
        )
    return found


def _already_applied(event: Event, wanted: Wanted) -> str | None:
    """Return the outcome of an update to what the cluster has already, None if it differs.

    Asked before pcluster validates: going back to what the cluster has must not be refused because,
    say, its capacity reservation has ended meanwhile.
    """
    found = _updatable(event, wanted)
    if not _runs(event, wanted):
        return None
    return "updated" if found["StackStatus"] == "UPDATE_IN_PROGRESS" else "unchanged"


def _runs(event: Event, wanted: Wanted) -> bool:
    """Tell whether the cluster has this very configuration, by the copy that pcluster keeps."""
    _pcluster()
    from pcluster.models.cluster import Cluster  # type: ignore[import-not-found]
    from pcluster.models.common import parse_config  # type: ignore[import-not-found]

    try:
        saved = parse_config(Cluster(wanted.cluster_name).source_config_text)
    except Exception as error:
        _log(event, "cannot read the saved configuration", reason=str(error))
        return False
    return bool(saved == wanted.configuration)


def _require_same_version(found: StackTypeDef) -> None:
    from pcluster.utils import get_installed_version  # type: ignore[import-not-found]

    ours = get_installed_version()
    theirs = _tags(found).get("parallelcluster:version", "an unknown version")
    if ours != theirs:
        raise ClusterError(
            f"cluster {found['StackName']} was made by ParallelCluster {theirs}, and this provider "
            f"carries {ours}, which cannot update it: keep {theirs}, or give the construct a new "
            "id, which makes a new cluster beside this one"
        )


def _delete(event: Event) -> Answer:
    """Delete our own stack, if the removal policy says so or if its creation never completed.

    A cluster that never completed holds nothing worth retaining, and its name would stay taken.
    The properties are not parsed: a malformed one must not block a deletion.
    """
    arn = event["PhysicalResourceId"]
    found = _stack(arn) if arn.startswith("arn:") else None
    status = "DELETE_COMPLETE" if found is None else found["StackStatus"]
    retain = event["ResourceProperties"].get("RemovalPolicy") != "destroy"
    if found is None or status == "DELETE_COMPLETE":
        return _answer(event, arn, "gone")
    if not _owns(event, found):
        return _answer(event, arn, "not ours")
    if retain and status not in NEVER_COMPLETED | {"DELETE_IN_PROGRESS"}:
        return _answer(event, arn, "retained")
    if status != "DELETE_IN_PROGRESS":
        try:
            # By ARN, which pcluster.lib does not take: a stack that got the name later is safe.
            _cloudformation().delete_stack(StackName=arn)
        except ClientError as error:
            raise ClusterError(
                f"stack {found['StackName']} ({status}) could not be deleted, try again once it "
                f"settled: {error.response['Error']['Message']}"
            ) from error
    return _answer(event, arn, "deleting")


def _poll(event: Event) -> Answer:
    """Look, and leave an answer that AWS owes to the next poll; the framework counts the polls.

    A creation of an hour must not be rolled back because one question of sixty was one too many.
    """
    try:
        return _look(event)
    except (ConnectionError, HTTPClientError) as error:
        reason = str(error)
    except ClientError as error:
        if not _passes(error):
            raise
        reason = str(error)
    _log(event, "waiting", reason=reason)
    return {"IsComplete": False}


def _passes(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= 500 or error.response["Error"]["Code"] in THROTTLED


def _look(event: Event) -> Answer:
    outcome, arn = event["Outcome"], event["PhysicalResourceId"]
    if event["RequestType"] == "Delete":
        return _look_for_the_end(event, arn) if outcome == "deleting" else {"IsComplete": True}
    found = _stack(arn)
    if found is None:
        raise ClusterError(f"stack {arn} is gone")
    status = found["StackStatus"]
    if status in ({"UPDATE_COMPLETE"} if outcome == "updated" else SERVING):
        _log(event, "complete", status=status)
        return {"IsComplete": True, "Data": _attributes(found)}
    busy = status.endswith("_IN_PROGRESS")
    late = outcome != "unchanged" and _age(found) > OUT_OF_TIME
    if busy and not late:
        _log(event, "waiting", status=status)
        return {"IsComplete": False}
    reason = _failure(found, late=busy)
    if outcome == "adopted" and not busy:
        reason += f"\nan earlier attempt left it; if it stays: {DELETE.format(found['StackName'])}"
    raise ClusterError(reason)


def _look_for_the_end(event: Event, arn: str) -> Answer:
    found = _stack(arn)
    if found is not None and found["StackStatus"] == "DELETE_FAILED":
        raise ClusterError(_failure(found))
    done = found is None or found["StackStatus"] == "DELETE_COMPLETE"
    _log(event, "complete" if done else "waiting")
    return {"IsComplete": done}


def _age(found: StackTypeDef) -> timedelta:
    """Return the time since the stack's last operation began."""
    return datetime.now(UTC) - found.get("LastUpdatedTime", found["CreationTime"])


def _attributes(found: StackTypeDef) -> dict[str, str]:
    outputs = {item["OutputKey"]: item["OutputValue"] for item in found.get("Outputs", [])}
    return {
        "HeadNodeInstanceId": outputs.get("HeadNodeInstanceID", ""),
        "HeadNodePrivateIp": outputs.get("HeadNodePrivateIP", ""),
        "StackArn": found["StackId"],
        "StackName": found["StackName"],
    }


def _failure(found: StackTypeDef, late: bool = False) -> str:
    name, status, arn = found["StackName"], found["StackStatus"], found["StackId"]
    lines = [
        f"stack {name} is still {status}, and CloudFormation waits no longer than an hour"
        if late
        else f"stack {name} is {status}",
        ADVICE.get(status, "").format(name=name),
        found.get("StackStatusReason", ""),
        *_first_failures(arn),
    ]
    return "\n".join(filter(None, lines))


def _first_failures(arn: str, count: int = 3) -> list[str]:
    """Return a line for each of the first resources that failed in the stack's last operation."""
    failures: list[str] = []
    pages = _cloudformation().get_paginator("describe_stack_events").paginate(StackName=arn)
    try:
        for event in (event for page in pages for event in page["StackEvents"]):  # newest first
            status = event.get("ResourceStatus", "")
            reason = event.get("ResourceStatusReason", "")
            if event.get("PhysicalResourceId") == arn:
                if status in {"CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS"}:
                    break
            elif status.endswith("_FAILED") and not re.match(r"Resource \w+ cancelled", reason):
                resource = f"{event.get('LogicalResourceId')} ({event.get('ResourceType')})"
                failures.append(f"- {resource} {status}: {reason}")
    except ClientError as error:
        failures.append(f"- its events cannot be read: {error.response['Error']['Message']}")
    return failures[::-1][:count]


def explain(error: Exception) -> str:
    """Turn an exception of pcluster into text: its message, then each finding or change."""
    content = getattr(error, "content", None)  # of a ParallelClusterApiException
    if content is None:
        data = getattr(error, "data", None) or {}  # of a ParameterException
        return str(data.get("message", error)) or type(error).__name__
    rank = {"ERROR": 0, "WARNING": 1}
    findings = getattr(content, "configuration_validation_errors", None) or []
    findings = sorted(findings, key=lambda finding: rank.get(finding.level, 2))
    refused = getattr(content, "update_validation_errors", None) or []
    changes = {change.parameter for change in getattr(content, "change_set", None) or []}
    lines = [
        str(content.message),
        *(f"- {finding.level} {finding.type}: {finding.message}" for finding in findings),
        *(f"- {change.parameter}: {_need(change)}" for change in refused),
        *(f"- {key}: allowed" for key in sorted(changes - {each.parameter for each in refused})),
    ]
    return "\n".join(dict.fromkeys(lines))


def _need(change: Any) -> str:
    """Return what a change needs, without values of more than a word: a script's arguments, say."""
    text = str(change.message)
    for value in (str(change.current_value), str(change.requested_value)):
        if not re.fullmatch(r"[\w.:/-]+", value):
            text = text.replace(f"'{value}'", "(value left out)")
    return text


def fit(reason: str, log_stream: str) -> str:
    """Cut a reason between characters to what fits a response, and say where the whole of it is."""
    reason = reason.encode("utf-8", "replace").decode()
    if _size(reason) <= REASON_BYTES:
        return reason
    pointer = f"\n[cut; the whole text is in log stream {log_stream}]"
    room, end = REASON_BYTES - _size(pointer), 0
    while (room := room - _size(reason[end])) >= 0:
        end += 1
    return reason[:end] + pointer


def _size(text: str) -> int:
    """Return the bytes that a text takes within the JSON of a response."""
    return len(json.dumps(text, ensure_ascii=False).encode()) - len('""')


def _pcluster() -> Any:
    import pcluster.lib  # type: ignore[import-not-found]
    from pcluster.aws.aws_api import AWSApi  # type: ignore[import-not-found]
    from pcluster.aws.common import Cache  # type: ignore[import-not-found]

    # At INFO pcluster logs every AWS request, the upload of the configuration among them.
    logging.getLogger("pcluster").setLevel(logging.WARNING)
    # A warm Lambda would judge by what AWS answered to an earlier request.
    Cache.clear_all()
    AWSApi.reset()
    return pcluster.lib


@cache
def _cloudformation() -> CloudFormationClient:
    retries = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard"})
    client: CloudFormationClient = boto3.client("cloudformation", config=retries)
    return client


def _stack(name_or_arn: str) -> StackTypeDef | None:
    try:
        return _cloudformation().describe_stacks(StackName=name_or_arn)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in error.response["Error"]["Message"]:
            return None
        raise


def _owner(event: Event) -> str:
    """Return the name of the asking resource, which no update and no retry changes."""
    return f"{event['StackId'].rsplit('/', 1)[1]}/{event['LogicalResourceId']}"


def _tags(found: StackTypeDef) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in found.get("Tags", [])}


def _owns(event: Event, found: StackTypeDef) -> bool:
    return _tags(found).get(OWNER_TAG) == _owner(event)


def _answer(event: Event, physical_id: str, outcome: str) -> Answer:
    _log(event, outcome, stack=physical_id)
    return {"PhysicalResourceId": physical_id, "Outcome": outcome}


def _log(event: Event, decision: str, **more: str) -> None:
    name = event["ResourceProperties"].get("ClusterName")
    line = {"request": event["RequestType"], "cluster": name, "decision": decision, **more}
    print(json.dumps(line))
