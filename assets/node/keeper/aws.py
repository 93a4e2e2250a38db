"""What the keeper asks of AWS and tells it: SSM, Auto Scaling and EC2 of one cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from .ends import GONE, warnings
from .view import Group, Instance, Member

T = TypeVar("T")


class AwsError(Exception):
    """A call failed, for whatever reason; the next round asks again."""


class Aws:
    """One cluster's part of AWS.

    Args:
        cluster: Name of the cluster.
        region: Region of the cluster.
    """

    def __init__(self, cluster: str, region: str) -> None:
        # Imported late: without boto3 the rest of the package can still be looked at.
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        config = Config(
            connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3}
        )
        # boto3 before 1.28 does not look at the variable itself.
        options = {"region_name": region, "endpoint_url": os.environ.get("AWS_ENDPOINT_URL")}
        make: Any = boto3.client
        self._ssm = make("ssm", config=config, **options)
        self._autoscaling = make("autoscaling", config=config, **options)
        self._ec2 = make("ec2", config=config, **options)
        self._errors = (BotoCoreError, ClientError)
        self._cluster = cluster
        self._path = f"/trainshed/{cluster}/slurm"

    def _try(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except self._errors as error:
            raise AwsError(str(error)) from error

    def parameters(self) -> dict[str, tuple[str, datetime]]:
        """Return the fleet document, the command and the last status that are there."""
        names = [f"{self._path}/{name}" for name in ("fleet", "command", "status")]
        found = self._try(lambda: self._ssm.get_parameters(Names=names))["Parameters"]
        return {
            each["Name"].rpartition("/")[2]: (each["Value"], each["LastModifiedDate"])
            for each in found
        }

    def put_status(self, text: str) -> None:
        """Write the status document."""
        name = f"{self._path}/status"
        self._try(
            lambda: self._ssm.put_parameter(Name=name, Type="String", Value=text, Overwrite=True)
        )

    def failures(self) -> dict[str, dict[str, Any]]:
        """Return what instances wrote that gave up booting, by instance id."""

        def read() -> dict[str, dict[str, Any]]:
            pages = self._ssm.get_paginator("get_parameters_by_path")
            return {
                each["Name"].rpartition("/")[2]: _record(each["Value"])
                for page in pages.paginate(Path=f"{self._path}/nodes")
                for each in page["Parameters"]
            }

        return self._try(read)

    def forget_failures(self, instances: Iterable[str]) -> None:
        """Delete what terminated instances wrote."""
        names = [f"{self._path}/nodes/{id}" for id in instances]
        for some in (names[start : start + 10] for start in range(0, len(names), 10)):
            self._try(lambda some=some: self._ssm.delete_parameters(Names=some))  # type: ignore[misc]

    def groups(self, names: Iterable[str]) -> dict[str, Group]:
        """Return the Auto Scaling groups that are there, by name."""

        def read() -> dict[str, Group]:
            pages = self._autoscaling.get_paginator("describe_auto_scaling_groups")
            found = [
                group
                for page in pages.paginate(AutoScalingGroupNames=sorted(names))
                for group in page["AutoScalingGroups"]
            ]
            return {group["AutoScalingGroupName"]: _group(group) for group in found}

        return self._try(read) if names else {}

    def instances(self) -> dict[str, Instance] | None:
        """Return the instances of the cluster by id.

        None if a running head node is not among them: we run on it, so the answer is not the whole.
        """

        def read() -> dict[str, Instance]:
            tagged = [{"Name": "tag:trainshed:cluster", "Values": [self._cluster]}]
            pages = self._ec2.get_paginator("describe_instances").paginate(Filters=tagged)
            found = [
                instance
                for page in pages
                for reservation in page["Reservations"]
                for instance in reservation["Instances"]
            ]
            return {instance["InstanceId"]: _instance(instance) for instance in found}

        found = self._try(read)
        heads = [i for i in found.values() if i.role == "head" and i.state == "running"]
        return found if heads else None

    def block_ends(self, reservations: Iterable[str]) -> dict[str, datetime]:
        """Return when Capacity Blocks end, as EC2 has it, by their id."""
        ids = sorted(reservations)
        try:
            return self._block_ends(ids)
        except AwsError as error:
            if GONE not in str(error):
                raise
        if len(ids) == 1:
            return {}
        return {id: end for each in ids for id, end in self.block_ends([each]).items()}

    def _block_ends(self, ids: list[str]) -> dict[str, datetime]:
        def read() -> dict[str, datetime]:
            pages = self._ec2.get_paginator("describe_capacity_reservations")
            return {
                each["CapacityReservationId"]: each["EndDate"]
                for page in pages.paginate(CapacityReservationIds=ids)
                for each in page["CapacityReservations"]
                if each.get("EndDate")
            }

        return self._try(read) if ids else {}

    def block_warnings(self, reservations: Iterable[str]) -> dict[str, datetime]:
        """Return when EC2 first warned that it takes blocks away, by their id."""
        ids = sorted(reservations)
        found: dict[str, datetime] = {}
        for some in (ids[start : start + 10] for start in range(0, len(ids), 10)):
            names = [f"/trainshed/{self._cluster}/blocks/{id}" for id in some]
            said = self._try(lambda names=names: self._ssm.get_parameters(Names=names))  # type: ignore[misc]
            found |= warnings({each["Name"]: each["Value"] for each in said["Parameters"]})
        return found

    def ended(self, instance: str) -> bool:
        """Tell whether EC2 says that there is no such instance."""
        try:
            self._try(lambda: self._ec2.describe_instances(InstanceIds=[instance]))
        except AwsError as error:
            if "InvalidInstanceID.NotFound" in str(error):
                return True
            raise
        return False

    def failed_launch(self, group: str, now: datetime) -> str:
        """Return why a group's last launch failed in the last half hour; empty if it did not."""
        found = self._try(
            lambda: self._autoscaling.describe_scaling_activities(
                AutoScalingGroupName=group, MaxRecords=5
            )
        )
        for activity in found["Activities"]:  # newest first
            if activity["StatusCode"] == "Failed":
                recent = now - activity["StartTime"] < timedelta(minutes=30)
                return str(activity.get("StatusMessage") or "a launch failed") if recent else ""
            if activity["StatusCode"] == "Successful":
                return ""
        return ""

    def fence(self, instance: str) -> None:
        """Terminate an instance at once."""
        self._try(lambda: self._ec2.terminate_instances(InstanceIds=[instance]))

    def terminate(self, instance: str, decrement: bool) -> None:
        """Terminate an instance of a group, which launches another one unless it shrinks."""
        self._try(
            lambda: self._autoscaling.terminate_instance_in_auto_scaling_group(
                InstanceId=instance, ShouldDecrementDesiredCapacity=decrement
            )
        )

    def set_desired(self, group: str, capacity: int) -> None:
        """Set the desired capacity of a group."""
        self._try(
            lambda: self._autoscaling.set_desired_capacity(
                AutoScalingGroupName=group, DesiredCapacity=capacity, HonorCooldown=False
            )
        )


def _record(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        return {"reason": text}


def _version(template: Mapping[str, Any] | None) -> str | None:
    return str(template["Version"]) if template and template.get("Version") else None


def _group(group: Mapping[str, Any]) -> Group:
    members = {
        each["InstanceId"]: Member(
            each["InstanceId"], each["LifecycleState"], _version(each.get("LaunchTemplate"))
        )
        for each in group["Instances"]
    }
    return Group(
        name=group["AutoScalingGroupName"],
        desired=group["DesiredCapacity"],
        version=_version(group.get("LaunchTemplate")),
        members=members,
    )


def _instance(instance: Mapping[str, Any]) -> Instance:
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
    return Instance(
        id=instance["InstanceId"],
        state=instance["State"]["Name"],
        role=tags.get("trainshed:role", ""),
        queue=tags.get("trainshed:queue", ""),
        launched=instance["LaunchTime"],
    )
