"""The topic that a head node tells people by, which is made after its scripts."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from ..pcluster.boot import topic_parameter_name
from .rights import Right, alarm_rights


class AlarmTopic(Construct):
    """A parameter that has the topic, and the head node's right to read it and to publish.

    Args:
        cluster_name: Name of the cluster.
        topic_arn: The topic.
        key_arn: Its key. None: it has none of its own.
        head: Policy of the head node.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        topic_arn: str,
        key_arn: str | None,
        head: iam.ManagedPolicy,
    ) -> None:
        super().__init__(scope, id)
        parameter = ssm.StringParameter(
            self,
            "Parameter",
            parameter_name=topic_parameter_name(cluster_name),
            description="Topic that the head node tells people by",
            string_value=topic_arn,
        )
        read = Right("ReadAlarmTopic", ("ssm:GetParameter",), (parameter.parameter_arn,))
        for right in (read, *alarm_rights(topic_arn, key_arn)):
            head.add_statements(iam.PolicyStatement.from_json(right.statement))
