"""What nodes of a bare Slurm fleet, and the functions of its provider, may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aws_cdk import Stack

from ..slurm_fleet import names
from .rights import Right

A_LIST = "The call reads a list; it changes nothing."
OF_THE_CLUSTER = (
    "AWS gives the ids of instances and groups; the condition on the tag keeps it to this cluster."
)
NO_RESOURCE = "The call takes no resource."
EACH_NODE = "Each node has a parameter below this path, named after its instance."
EACH_STREAM = "Each node has a stream in the cluster's own log group."
_GROUPS = "autoscaling:DescribeAutoScalingGroups"
_ACTIVITIES = "autoscaling:DescribeScalingActivities"
_INSTANCES = "ec2:DescribeInstances"


@dataclass(frozen=True)
class Place:
    """The cluster that rights are for.

    Args:
        stack: Stack of the fleet.
        cluster_name: Name of the cluster.
    """

    stack: Stack
    cluster_name: str

    def arn(self, service: str, resource: str) -> str:
        """Return an ARN in the stack's partition, Region and account."""
        partition, region, account = self._where
        return f"arn:{partition}:{service}:{region}:{account}:{resource}"

    def parameter(self, name: str) -> str:
        """Return the ARN of a parameter by its name, which begins with a slash."""
        return self.arn("ssm", f"parameter{name}")

    def object_arn(self, bucket: str, key: str) -> str:
        """Return the ARN of an object in S3."""
        return f"arn:{self._where[0]}:s3:::{bucket}/{key}"

    def tagged(self, role: str | None = None) -> dict[str, Any]:
        """Return the condition that a resource is of this cluster and, with a role, that role."""
        tags = {f"aws:ResourceTag/{names.CLUSTER_TAG}": self.cluster_name}
        if role:
            tags[f"aws:ResourceTag/{names.ROLE_TAG}"] = role
        return {"StringEquals": tags}

    def in_region(self) -> dict[str, Any]:
        """Return the condition of calls that take no resource."""
        return {"StringEquals": {"aws:RequestedRegion": self._where[1]}}

    @cached_property
    def _where(self) -> tuple[str, str, str]:
        return self.stack.partition, self.stack.region, self.stack.account


def node_rights(place: Place, *, objects: Sequence[str], secret_arns: Sequence[str]) -> list[Right]:
    """Return what every node may do.

    Args:
        place: The cluster.
        objects: ARNs of the archives that it fetches.
        secret_arns: Secrets that it reads.
    """
    cluster = place.cluster_name
    nodes = place.parameter(f"{names.nodes_path(cluster)}/*")
    logs = place.arn("logs", f"log-group:{names.log_group_name(cluster)}")
    return [
        Right("FetchArchives", ("s3:GetObject",), tuple(objects)),
        Right("ReadSecrets", ("secretsmanager:GetSecretValue",), tuple(secret_arns)),
        Right(
            "ReadFleet", ("ssm:GetParameter",), (place.parameter(names.fleet_parameter(cluster)),)
        ),
        Right("TellOfBoot", ("ssm:PutParameter", "ssm:DeleteParameter"), (nodes,), EACH_NODE),
        Right(
            "WriteLogs",
            ("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
            (logs, f"{logs}:*"),
            EACH_STREAM,
        ),
        Right(
            "PutMetrics",
            ("cloudwatch:PutMetricData",),
            ("*",),
            NO_RESOURCE,
            {"StringEquals": {"cloudwatch:namespace": names.METRICS_NAMESPACE}},
        ),
        # The agent looks up the tags of its own instance.
        Right("ReadTags", ("ec2:DescribeTags",), ("*",), A_LIST, place.in_region()),
        session_right(place),
    ]


def session_right(place: Place) -> Right:
    """Return what Session Manager needs, without the parameters that AWS's own policy opens.

    AmazonSSMManagedInstanceCore, read 2026-11-29, also lets a node read every parameter.
    """
    return Right(
        "Sessions",
        (
            "ec2messages:AcknowledgeMessage",
            "ec2messages:DeleteMessage",
            "ec2messages:FailMessage",
            "ec2messages:GetEndpoint",
            "ec2messages:GetMessages",
            "ec2messages:SendReply",
            "ssm:UpdateInstanceInformation",
            "ssmmessages:CreateControlChannel",
            "ssmmessages:CreateDataChannel",
            "ssmmessages:OpenControlChannel",
            "ssmmessages:OpenDataChannel",
        ),
        ("*",),
        NO_RESOURCE,
        place.in_region(),
    )


def head_rights(
    place: Place,
    *,
    state_volume_id: str,
    secret_arns: Sequence[str] = (),
) -> list[Right]:
    """Return what the head node may do beside what every node may.

    Args:
        place: The cluster.
        state_volume_id: Volume that it attaches.
        secret_arns: Secrets that it alone reads.
    """
    cluster = place.cluster_name
    instances = place.arn("ec2", "instance/*")
    rights = [
        Right(
            "WriteStatus",
            ("ssm:PutParameter",),
            (place.parameter(names.status_parameter(cluster)),),
        ),
        Right(
            "ReadDocuments",
            ("ssm:GetParameters",),
            tuple(
                place.parameter(name(cluster))
                for name in (
                    names.fleet_parameter,
                    names.command_parameter,
                    names.status_parameter,
                )
            ),
        ),
        Right(
            "ReadBoots", ("ssm:GetParametersByPath",), (place.parameter(names.nodes_path(cluster)),)
        ),
        Right(
            "ForgetBoots",
            ("ssm:DeleteParameters",),
            (place.parameter(f"{names.nodes_path(cluster)}/*"),),
            EACH_NODE,
        ),
        _fill_groups(place, "autoscaling:TerminateInstanceInAutoScalingGroup"),
        Right(
            "FenceNodes",
            ("ec2:TerminateInstances",),
            (instances,),
            OF_THE_CLUSTER,
            place.tagged("compute"),
        ),
        Right(
            "StopFormerHead",
            ("ec2:StopInstances",),
            (instances,),
            OF_THE_CLUSTER,
            place.tagged("head"),
        ),
        Right(
            "AttachState",
            ("ec2:AttachVolume", "ec2:DetachVolume"),
            (place.arn("ec2", f"volume/{state_volume_id}"),),
        ),
        Right(
            "AttachStateToHead",
            ("ec2:AttachVolume", "ec2:DetachVolume"),
            (instances,),
            OF_THE_CLUSTER,
            place.tagged("head"),
        ),
        _look(
            place,
            _GROUPS,
            _ACTIVITIES,
            _INSTANCES,
            "ec2:DescribeCapacityReservations",
            "ec2:DescribeVolumes",
        ),
    ]
    if secret_arns:
        rights.append(
            Right("ReadOwnSecrets", ("secretsmanager:GetSecretValue",), tuple(secret_arns))
        )
    return rights


def on_event_rights(place: Place) -> list[Right]:
    """Return what the provider's function that starts the work may do."""
    cluster = place.cluster_name
    command = place.parameter(names.command_parameter(cluster))
    return [
        _fill_groups(place),
        _start_head(place),
        Right("Command", ("ssm:PutParameter", "ssm:DeleteParameter"), (command,)),
        _read_status(place),
        _look(place, _GROUPS, "ec2:DescribeCapacityReservations", _INSTANCES),
    ]


def is_complete_rights(place: Place) -> list[Right]:
    """Return what the provider's function that looks for the end may do; a deletion is its work."""
    cluster = place.cluster_name
    nodes = names.nodes_path(cluster)
    return [
        _fill_groups(place, "autoscaling:SetInstanceProtection"),
        _start_head(place),
        _read_status(place),
        Right(
            "Forget",
            ("ssm:DeleteParameter",),
            (
                place.parameter(names.status_parameter(cluster)),
                place.parameter(names.command_parameter(cluster)),
            ),
        ),
        Right("ReadBoots", ("ssm:GetParametersByPath",), (place.parameter(nodes),)),
        Right(
            "ForgetBoots",
            ("ssm:DeleteParameters",),
            (place.parameter(f"{nodes}/*"),),
            EACH_NODE,
        ),
        _look(place, _GROUPS, _ACTIVITIES, _INSTANCES),
    ]


def _fill_groups(place: Place, *more: str) -> Right:
    return Right(
        "FillGroups",
        ("autoscaling:SetDesiredCapacity", *more),
        (place.arn("autoscaling", "autoScalingGroup:*:autoScalingGroupName/*"),),
        OF_THE_CLUSTER,
        place.tagged("compute"),
    )


def _start_head(place: Place) -> Right:
    return Right(
        "StartHead",
        ("ec2:StartInstances",),
        (place.arn("ec2", "instance/*"),),
        OF_THE_CLUSTER,
        place.tagged("head"),
    )


def _read_status(place: Place) -> Right:
    status = place.parameter(names.status_parameter(place.cluster_name))
    return Right("ReadStatus", ("ssm:GetParameter",), (status,))


def _look(place: Place, *actions: str) -> Right:
    return Right("Look", actions, ("*",), A_LIST, place.in_region())
