"""Alarms on the notifier itself. They go by e-mail: by Slack they would not arrive."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns

from .alarms import ABOVE, AT_LEAST, FINE, AlarmSpec
from .notifier import Notifier

_MINUTE = cdk.Duration.minutes(1)
_FIVE_MINUTES = cdk.Duration.minutes(5)


def of(notifier: Notifier, topic: sns.ITopic) -> tuple[AlarmSpec, ...]:
    """Return the alarms of a notifier and of the topic before it."""
    return (
        AlarmSpec(
            name="Errors",
            metric=notifier.function.metric_errors(statistic="Sum", period=_FIVE_MINUTES),
            threshold=1,
            comparison=AT_LEAST,
            periods=3,
            datapoints=2,
            missing=FINE,
            severity="critical",
            summary="The Slack notifier delivers nothing",
            do="Read its log: Slack is down, the secret is wrong, or the function is broken.",
            details="Alerts wait in the queue for four days.",
        ),
        AlarmSpec(
            name="OldestAlert",
            metric=notifier.queue.metric_approximate_age_of_oldest_message(
                statistic="Maximum", period=_MINUTE
            ),
            threshold=cdk.Duration.minutes(15).to_seconds(),
            comparison=ABOVE,
            periods=2,
            missing=FINE,
            severity="critical",
            summary="Alerts have waited for Slack for more than 15 minutes",
            do="Read the notifier's log; meanwhile look at the alarms in the console.",
        ),
        AlarmSpec(
            name="DeadLetters",
            metric=notifier.dead_letter_queue.metric_approximate_number_of_messages_visible(
                statistic="Maximum", period=_MINUTE
            ),
            threshold=0,
            comparison=ABOVE,
            periods=1,
            missing=FINE,
            severity="critical",
            summary="Slack refuses alerts for good; they lie in the dead-letter queue",
            do="Their attribute Error says why. Mend channel, webhook or token, then redrive.",
        ),
        AlarmSpec(
            name="Undelivered",
            metric=cloudwatch.Metric(
                namespace="AWS/SNS",
                metric_name="NumberOfNotificationsFailed",
                statistic="Sum",
                period=_MINUTE,
                dimensions_map={"TopicName": topic.topic_name},
            ),
            threshold=0,
            comparison=ABOVE,
            periods=1,
            missing=FINE,
            severity="critical",
            summary="The topic could not hand alerts to the notifier's queue",
            do="Compare the queue's policy with the template; the alerts are dead letters.",
        ),
    )
