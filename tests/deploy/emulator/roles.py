"""Instances act in the role of their profile, and IAM sees what AWS's would of their requests.

ministack gives functions the session of their role; here instances get one, in a file that the
lab's instance metadata hands out. Of a request, ministack's IAM sees one resource and few tags.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ministack.core import iam_actions, iam_evaluator
from ministack.core.responses import get_account_id, get_region
from ministack.services import autoscaling, ec2, iam, sts, tagging

from tests.deploy.emulator import instances
from tests.deploy.emulator.instances import Properties

Tagged = Iterator[tuple[str, list[dict[str, str]]]]
_TYPES = {"i-": "instance", "vol": "volume"}
# EC2 asks for both: Service Authorization Reference, "Amazon EC2", read 2026-11-30.
_OF_TWO = ("AttachVolume", "DetachVolume")
_further: ContextVar[tuple[str, ...]] = ContextVar("further", default=())


def install(credentials: Path) -> None:
    """Write the credentials of each instance into a folder, and let IAM see more of requests."""
    credentials.mkdir(exist_ok=True)
    start = instances._start

    def start_with_role(data: Properties, subnet: str, tags: Mapping[str, str]) -> str:
        id = start(data, subnet, tags)
        if session := _session(id):
            (credentials / id).write_text(json.dumps(session))
        return id

    instances._start = start_with_role
    tagging._RESOURCE_TAG_COLLECTORS.update(
        {"ec2": _tags_of_instances, "autoscaling": _tags_of_groups}
    )
    _see_resources()
    _ask_of_all()


def _session(id: str) -> dict[str, str] | None:
    """Return what instance metadata says of the role of an instance's profile."""
    profile = ec2._instances[id].get("IamInstanceProfile")
    if not profile:
        return None
    (role,) = iam._lookup_instance_profile(name="", arn=profile["Arn"])["Roles"]
    key, secret, token = (hashlib.sha256(f"{each} {id}".encode()).hexdigest() for each in "kst")
    key = f"ASIA{key[:16].upper()}"
    session = {
        "Arn": f"arn:aws:sts::{get_account_id()}:assumed-role/{role}/{id}",
        "UserId": f"{role}:{id}",
        "SecretAccessKey": secret,
        "SessionToken": token,
    }
    sts.register_session(key, session)
    return {
        "Code": "Success",
        "Type": "AWS-HMAC",
        "AccessKeyId": key,
        "SecretAccessKey": secret,
        "Token": token,
        "Expiration": "2099-01-01T00:00:00Z",
    }


def _arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:{get_region()}:{get_account_id()}:{resource}"


def _group_arn(name: str) -> str:
    return _arn("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{name}")


def _tags_of_instances() -> Tagged:
    for id, tags in list(ec2._tags.items()):
        if kind := _TYPES.get(id[:2]) or _TYPES.get(id[:3]):
            yield _arn("ec2", f"{kind}/{id}"), tags


def _tags_of_groups() -> Tagged:
    for name, group in list(autoscaling._asgs.items()):
        yield _group_arn(name), group["Tags"]


def _see_resources() -> None:
    others = iam_actions.extract_resource_arn

    def resource_of(service: str, *request: Any) -> Any:
        found = [others(service, *request)]
        body, asked = request[3:5]
        if service == "ssm":
            found = _parameters(body) or found
        elif service == "ec2" and iam_actions._query_param(asked, "Action") in _OF_TWO:
            found.append(_arn("ec2", f"volume/{iam_actions._query_param(asked, 'VolumeId')}"))
        elif service == "autoscaling" and found == ["*"]:
            found = _group_of(iam_actions._query_param(asked, "InstanceId")) or found
        _further.set(tuple(found[1:]))
        return found[0]

    iam_actions.extract_resource_arn = resource_of


def _parameters(body: bytes) -> list[str]:
    given = json.loads(body or b"{}")
    names = given.get("Names") or [given.get("Path") or given.get("Name")]
    return [_arn("ssm", f"parameter/{each.strip('/')}") for each in names if each]


def _group_of(instance: str) -> list[str]:
    return [
        _group_arn(name)
        for name, group in autoscaling._asgs.items()
        if any(each["InstanceId"] == instance for each in group["Instances"])
    ]


def _ask_of_all() -> None:
    enforce = iam_evaluator.enforce

    def enforce_all(*arguments: Any, **named: Any) -> Any:
        further = _further.get()
        _further.set(())
        denied = enforce(*arguments, **named)
        for arn in further:
            denied = denied or enforce(*arguments, **{**named, "resource_arn": arn})
        return denied

    iam_evaluator.enforce = enforce_all
