"""Instances and Auto Scaling groups that act: a group launches from its template and mends itself.

Behind an instance is a record of ministack's EC2 with user data, tags, profile and address; the lab
(``tests.deploy.machines``) starts and stops a machine for it.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping
from typing import Any

from ministack.core.responses import get_region
from ministack.services import autoscaling, ec2
from ministack.services.cloudformation import provisioners

from tests.deploy.emulator.ec2_types import call

Properties = Mapping[str, Any]
Made = tuple[str, dict[str, str]]
_GONE = {"terminated", "shutting-down"}
# The addresses of the lab's network; its own are above.
_ADDRESSES = (f"10.77.0.{number}" for number in itertools.cycle(range(11, 200)))


def install() -> None:
    """Make groups launch, and give CloudFormation instances."""
    others = ec2._random_ip
    ec2._random_ip = lambda prefix: next(_ADDRESSES) if prefix == "10.0." else others(prefix)
    # EC2 lists what is terminated for an hour, ministack for a minute, which is less than a round
    # of the keeper may take on a busy machine.
    ec2._cleanup_terminated = lambda: None
    autoscaling._reconcile_instances = _reconcile
    actions = autoscaling._ACTION_MAP
    describe, delete = actions["DescribeAutoScalingGroups"], actions["DeleteAutoScalingGroup"]

    def describe_after_mending(request: Any) -> Any:
        for group in list(autoscaling._asgs.values()):
            _reconcile(group)
        return describe(request)

    def delete_with_instances(request: Any) -> Any:
        _empty(autoscaling._p(request, "AutoScalingGroupName"))
        return delete(request)

    ec2._ACTION_MAP["DescribeInstanceAttribute"] = _with_user_data(
        ec2._ACTION_MAP["DescribeInstanceAttribute"]
    )
    terminate = ec2._ACTION_MAP["TerminateInstances"]

    def terminate_and_leave(request: Any) -> Any:
        answer = terminate(request)
        for id in ec2._parse_member_list(request, "InstanceId"):
            if _state(id) in _GONE:
                _leave_volumes(id)
        return answer

    ec2._ACTION_MAP["TerminateInstances"] = terminate_and_leave
    actions["DescribeAutoScalingGroups"] = describe_after_mending
    actions["DeleteAutoScalingGroup"] = delete_with_instances
    actions["TerminateInstanceInAutoScalingGroup"] = _terminate_in_group
    actions["SetInstanceProtection"] = _protect
    handlers = provisioners._RESOURCE_HANDLERS
    group = handlers["AWS::AutoScaling::AutoScalingGroup"]
    handlers["AWS::AutoScaling::AutoScalingGroup"] = {
        **group,
        "create": _then_reconciled(group["create"]),
        "update": _then_reconciled(group["update"]),
        "delete": _after_emptying(group["delete"]),
    }
    handlers["AWS::EC2::Instance"] = {
        "create": _make_instance,
        "update": _update_instance,
        "delete": lambda id, _: _terminate(id),
    }


def _with_user_data(others: Any) -> Any:
    def describe(request: Any) -> Any:
        if ec2._p(request, "Attribute") != "userData":
            return others(request)
        id = ec2._p(request, "InstanceId")
        value = f"<userData><value>{ec2._instances[id]['UserData']}</value></userData>"
        answer = f"<instanceId>{id}</instanceId>{value}"
        return ec2._xml(200, "DescribeInstanceAttributeResponse", answer)

    return describe


def _then_reconciled(action: Any) -> Any:
    def act(*arguments: Any, **named: Any) -> Any:
        made = action(*arguments, **named)
        _reconcile(autoscaling._asgs[made[0]])
        return made

    return act


def _after_emptying(action: Any) -> Any:
    def act(id: str, properties: Properties) -> None:
        _empty(id)
        action(id, properties)

    return act


def _reconcile(group: dict[str, Any]) -> None:
    """Drop members that are gone; launch or end until there are as many as desired."""
    members = group["Instances"]
    members[:] = [each for each in members if _state(each["InstanceId"]) not in _GONE]
    surplus = len(members) - group["DesiredCapacity"]
    unprotected = [each for each in members if not each["ProtectedFromScaleIn"]]
    for member in unprotected[: max(0, surplus)]:
        _terminate(member["InstanceId"])
        members.remove(member)
    for _ in range(-surplus):
        members.append(_launch(group))


def _launch(group: Mapping[str, Any]) -> dict[str, Any]:
    wanted = group["LaunchTemplate"]
    template = ec2._launch_templates[wanted["LaunchTemplateId"]]
    number = str(wanted["Version"])
    data = next(
        version["LaunchTemplateData"]
        for version in template["Versions"]
        if str(version["VersionNumber"]) == number
        or (number == "$Latest" and version["VersionNumber"] == template["LatestVersionNumber"])
        or (number == "$Default" and version["DefaultVersion"])
    )
    tags = {each["Key"]: each["Value"] for each in group["Tags"] if each.get("PropagateAtLaunch")}
    tags["aws:autoscaling:groupName"] = group["AutoScalingGroupName"]
    subnet = str(group["VPCZoneIdentifier"]).split(",")[0]
    return {
        "InstanceId": _start(data, subnet, tags),
        "LifecycleState": "InService",
        "HealthStatus": "Healthy",
        "AvailabilityZone": f"{get_region()}a",
        "ProtectedFromScaleIn": group["NewInstancesProtectedFromScaleIn"] in (True, "true"),
        "LaunchTemplate": dict(wanted),
        "LaunchConfigurationName": "",
    }


def _start(data: Properties, subnet: str, tags: Mapping[str, str]) -> str:
    profile = data.get("IamInstanceProfile", {})
    if isinstance(profile, str):
        # Ref of a profile is its name on AWS, and its ARN here.
        profile = {"Arn" if profile.startswith("arn:") else "Name": profile}
    found, _ = ec2._resolve_iam_instance_profile(
        iam_arn=profile.get("Arn", ""), iam_name=profile.get("Name", ""), allow_missing=True
    )
    (made,) = ec2._launch_instances_internal(
        image_id=data["ImageId"],
        instance_type=data["InstanceType"],
        subnet_id=subnet,
        count=1,
        user_data=_text(data.get("UserData", "")),
        iam_profile=found,
    )
    id = str(made["InstanceId"])
    ec2._tags[id] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return id


def _text(user_data: str) -> str:
    """Return user data as EC2 keeps it, in base64, whichever way it came."""
    try:
        base64.b64decode(user_data, validate=True)
    except ValueError:
        return base64.b64encode(user_data.encode()).decode()
    return user_data


def _make_instance(_: str, properties: Properties, __: str) -> Made:
    tags = {each["Key"]: each["Value"] for each in properties.get("Tags", [])}
    id = _start(properties, properties["SubnetId"], tags)
    return id, _attributes(id)


def _update_instance(id: str, old: Properties, new: Properties, stack: str) -> Made:
    # Of what our templates set, CloudFormation replaces an instance for these.
    for key in ("ImageId", "SubnetId", "LaunchTemplate", "SecurityGroupIds"):
        if old.get(key) != new.get(key):
            return _make_instance("", new, stack)
    return id, _attributes(id)


def _attributes(id: str) -> dict[str, str]:
    record = ec2._instances[id]
    return {
        "InstanceId": id,
        "PrivateIp": record["PrivateIpAddress"],
        "PrivateDnsName": record["PrivateDnsName"],
        "AvailabilityZone": record["Placement"]["AvailabilityZone"],
    }


def _state(id: str) -> str:
    record = ec2._instances.get(id)
    return str(record["State"]["Name"]) if record else "terminated"


def _terminate(id: str) -> None:
    if _state(id) not in _GONE:
        call(ec2._terminate_instances, InstanceId=[id])
        _leave_volumes(id)


def _leave_volumes(id: str) -> None:
    """Delete or free the volumes of an instance; ministack leaves them attached for good."""
    for key, volume in list(ec2._volumes.items()):
        mine = [each for each in volume["Attachments"] if each["InstanceId"] == id]
        if any(each["DeleteOnTermination"] for each in mine):
            del ec2._volumes[key]
        elif mine:
            volume["Attachments"], volume["State"] = [], "available"


def _empty(group: str) -> None:
    record = autoscaling._asgs.get(group)
    for member in record["Instances"] if record else ():
        _terminate(member["InstanceId"])


def _terminate_in_group(request: Any) -> Any:
    id = autoscaling._p(request, "InstanceId")
    for group in autoscaling._asgs.values():
        if any(member["InstanceId"] == id for member in group["Instances"]):
            if autoscaling._p(request, "ShouldDecrementDesiredCapacity") == "true":
                group["DesiredCapacity"] -= 1
            _terminate(id)
            _reconcile(group)
            activity = (
                f"<Activity><ActivityId>{id}</ActivityId><StatusCode>InProgress</StatusCode>"
                f"<AutoScalingGroupName>{group['AutoScalingGroupName']}</AutoScalingGroupName>"
                f"<Cause>asked</Cause><StartTime>{group['CreatedTime']}</StartTime></Activity>"
            )
            result = f"<TerminateInstanceInAutoScalingGroupResult>{activity}"
            result += "</TerminateInstanceInAutoScalingGroupResult>"
            return autoscaling._xml(200, "TerminateInstanceInAutoScalingGroupResponse", result)
    return autoscaling._error("ValidationError", f"Instance Id not found - {id}")


def _protect(request: Any) -> Any:
    group = autoscaling._asgs[autoscaling._p(request, "AutoScalingGroupName")]
    ids = autoscaling._parse_member_list(request, "InstanceIds")
    for member in group["Instances"]:
        if member["InstanceId"] in ids:
            wanted = autoscaling._p(request, "ProtectedFromScaleIn")
            member["ProtectedFromScaleIn"] = wanted == "true"
    result = "<SetInstanceProtectionResult/>"
    return autoscaling._xml(200, "SetInstanceProtectionResponse", result)
