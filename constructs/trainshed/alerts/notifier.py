"""The function that brings alerts to Slack, with its role, log, table and queues."""

from __future__ import annotations

from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from .._acknowledge import acknowledge
from .._assets import asset
from ..config.alerts import AlertRoutes
from . import _given

_TIMEOUT = cdk.Duration.seconds(60)
# Lambda developer guide, "Using Lambda with Amazon SQS", read 2026-11-29: six times the time-out.
_HIDDEN = cdk.Duration.seconds(6 * 60)
# Twenty hours of an outage of Slack; permanent errors do not wait for it.
_MOST_RECEIVES = 200
_BATCH = 20
# Lambda quotas, read 2026-11-29: 4 KB for all variables; the others are ARNs and names.
_LONGEST_ROUTES = 3000


_LOST = "It holds which alerts were shown; lost, it costs a repetition."
_OF_TABLE = {
    "AwsSolutions-DDB3": _LOST,
    "NIST.800.53.R5-DynamoDBPITREnabled": _LOST,
    "NIST.800.53.R5-DynamoDBInBackupPlan": _LOST,
}
_OF_LOG = {
    "NIST.800.53.R5-CloudWatchLogGroupEncrypted": (
        "CloudWatch Logs encrypts every log group with a key of its own; no secret and no text of "
        "an alert is logged."
    )
}
_OF_ROLE = {
    "NIST.800.53.R5-IAMNoInlinePolicy": "The rights of this one function, which go with it.",
}
_OF_FUNCTION = {
    "NIST.800.53.R5-LambdaDLQ": (
        "A queue calls it, and the queue has a dead-letter queue; one of the function is for "
        "asynchronous calls."
    ),
    "cdk-preflight::pf-lambda-esm-max-concurrency-vs-reserved": (
        "One at a time keeps Slack's rate and the order; two is the least that a queue can be told."
    ),
    "NIST.800.53.R5-LambdaInsideVPC": "It calls Slack and AWS's APIs and nothing in the VPC.",
}


_UNRESERVED = {
    "NIST.800.53.R5-LambdaConcurrency": (
        "The account has no concurrency to reserve; its queue lets two of them run at a time."
    )
}


class Notifier(Construct):
    """Queue, function and dead-letter queue between a topic and Slack.

    Args:
        secret: Bot token or webhooks.
        routes: Which channel hears of what.
        institution: Whose an alert is that does not say so.
        reserved_concurrency: How many of it run at a time; that many are taken from what all other
            functions of the account share, and Lambda refuses where fewer than 10 would be left
            for them. None: none are taken, and two run at a time. Then two changes of one alarm
            within seconds may be two messages, or change places.

    Raises:
        ValueError: The routes are longer than a function's environment, or the concurrency is
            neither 1 nor None.
    """

    queue: sqs.IQueue
    """What waits to be shown."""
    dead_letter_queue: sqs.IQueue
    """What Slack refuses for good, and what could not be shown for a day."""
    function: lambda_.IFunction
    """The function."""
    table: dynamodb.ITable
    """What was shown of each alarm."""
    log_group: logs.ILogGroup
    """The function's log."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        secret: secretsmanager.ISecret,
        routes: AlertRoutes,
        institution: str = "",
        reserved_concurrency: Literal[1] | None = 1,
    ) -> None:
        super().__init__(scope, id)
        _given.check_reserved(reserved_concurrency)
        written = routes.to_json(institution)
        _check_length(written)
        dead = self._queue("DeadLetters", cdk.Duration.days(14))
        queue = self._queue("Queue", cdk.Duration.days(4), dead)
        table = dynamodb.Table(
            self,
            "Shown",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute="expires",
            # Without it the next alerts begin new threads, and that is all.
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self.log_group = logs.LogGroup(
            self,
            "Log",
            retention=logs.RetentionDays.THREE_MONTHS,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.log_group.grant_write(role)
        secret.grant_read(role)
        dead.grant_send_messages(role)
        table.grant(role, "dynamodb:BatchGetItem", "dynamodb:BatchWriteItem")
        function = self._function(role, secret, written, dead, table, reserved_concurrency)
        function.add_event_source(
            sources.SqsEventSource(
                queue,
                batch_size=_BATCH,
                # More than ten a batch needs a window; it also gathers what belongs together.
                max_batching_window=cdk.Duration.seconds(2),
                # The least that there is: what is received and throttled counts as received.
                max_concurrency=2,
                report_batch_item_failures=True,
            )
        )
        self.queue, self.dead_letter_queue = queue, dead
        self.function, self.table = function, table
        acknowledge(table, _OF_TABLE)
        acknowledge(self.log_group, _OF_LOG)
        acknowledge(role, _OF_ROLE)
        acknowledge(function, _OF_FUNCTION if reserved_concurrency else _OF_FUNCTION | _UNRESERVED)

    def _queue(
        self, id: str, kept: cdk.Duration, dead_letters: sqs.Queue | None = None
    ) -> sqs.Queue:
        redrive = (
            sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=_MOST_RECEIVES)
            if dead_letters
            else None
        )
        return sqs.Queue(
            self,
            id,
            # SQS's own key: SNS and EventBridge need no grant for it that could be missing.
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=kept,
            visibility_timeout=_HIDDEN,
            dead_letter_queue=redrive,
        )

    def _function(
        self,
        role: iam.IRole,
        secret: secretsmanager.ISecret,
        routes: str,
        dead: sqs.IQueue,
        table: dynamodb.ITable,
        reserved_concurrency: int | None,
    ) -> lambda_.Function:
        return lambda_.Function(
            self,
            "Function",
            description="Brings alarms and events to Slack",
            # The folder's parent, so that the modules are one package and import each other.
            code=lambda_.Code.from_asset(
                asset("functions"),
                exclude=["*", "!slack_notifier", "!slack_notifier/*.py"],
                ignore_mode=cdk.IgnoreMode.GIT,
            ),
            handler="slack_notifier.handler.handler",
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            memory_size=256,
            timeout=_TIMEOUT,
            # One at a time: Slack takes one message a second, and order is kept.
            reserved_concurrent_executions=reserved_concurrency,
            role=role,
            log_group=self.log_group,
            environment={
                "SECRET_ARN": secret.secret_arn,
                "ROUTES": routes,
                "TABLE_NAME": table.table_name,
                "DEAD_LETTER_QUEUE_URL": dead.queue_url,
            },
        )


def _check_length(routes: str) -> None:
    length = len(routes.encode())
    if length > _LONGEST_ROUTES:
        raise ValueError(
            f"routes have {length} characters, and a function's environment takes "
            f"{_LONGEST_ROUTES} of them: name fewer institutions, or make alerts of their own for "
            "some"
        )
