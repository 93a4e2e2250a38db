"""Alarms and events to Slack, with a way of their own for when the notifier itself fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from aws_cdk import Annotations
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from .._given import check_all_present, check_present, check_record
from ..config.alerts import AlertRoutes
from . import _given, notifier_alarms
from .alarms import AlarmContext, AlarmSpec
from .notifier import Notifier
from .topic import PUBLISHERS, AlertTopic
from .watches import Watches


class SlackAlerts(Watches):
    """A topic whose messages reach Slack, whatever they are, and of which none is lost.

    Topic, queue, function; a dead-letter queue for what Slack refuses; and alarms on all of these
    that go out by e-mail, since they cannot go by Slack. Usable in any stack, for any alarm.

    Args:
        secret: The Slack credentials: a bot token (``xoxb-…``), a webhook's address, or JSON with
            ``{"webhooks": {channel: address}}``. Never their text: that would be in the template.
        routes: Which channel hears of what.
        operators: E-mail addresses that hear when the notifier fails; each confirms once.
        failure_topic: Topic that hears it. None: one is made, with the operators subscribed.
        topic: Topic whose messages go to Slack; its policy is its owner's affair. None: one is
            made that CloudWatch, EventBridge, Budgets and FSx may publish to.
        key: Key of the topics that are made, or of the topic that is given. None: one is made.
        publishers: Service principals that may publish to a topic that is made.
        institution: Whose alarms these are; put into the notes of the alarms of the ``watch_…``
            methods. What does not say whose it is, as events and budgets, goes to its channels too.
        runbook_url: Page of the runbooks; alarms link to their section. Empty: no link.
        dashboard_url: Page of the cluster's dashboard; alarms link to it. Empty: no link.
        reserved_concurrency: How much of the account's concurrency of Lambda is kept for the
            notifier. None: nothing, as a new account has to, whose quota is 10; ``Notifier`` says
            what that costs.

    Raises:
        ValueError: The secret is a text, a secret stands where a page or an address belongs,
            nobody would hear that the notifier fails, alerts could never come, or the routes are
            longer than a function's environment.

    Example::

        alerts = SlackAlerts(
            stack, "Alerts",
            secret=secretsmanager.Secret.from_secret_name_v2(stack, "Slack", "kait/slack"),
            routes=AlertRoutes(critical="C0ONCALL00", warning="C0OPS00000", info="C0OPS00000"),
            operators=["hpc@example.edu"],
        )
        alerts.notify(cloudwatch.Alarm(stack, "Full", ...))
    """

    topic: sns.ITopic
    """What is published here reaches Slack."""
    key: kms.IKey | None
    """Key of the topic; None where the topic is not made here and no key was given."""
    failure_topic: sns.ITopic
    """What is published here reaches the operators by another way."""
    notifier: Notifier
    """Queue, function, dead-letter queue."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        secret: secretsmanager.ISecret,
        routes: AlertRoutes,
        operators: Sequence[str] = (),
        failure_topic: sns.ITopic | None = None,
        topic: sns.ITopic | None = None,
        key: kms.IKey | None = None,
        publishers: Sequence[str] = tuple(PUBLISHERS),
        institution: str = "",
        runbook_url: str = "",
        dashboard_url: str = "",
        reserved_concurrency: Literal[1] | None = 1,
    ) -> None:
        super().__init__(scope, id)
        _given.check_secret(secret)
        _given.check_operators(operators)
        check_all_present(publishers=publishers)
        _given.check_texts(
            institution=institution, runbook_url=runbook_url, dashboard_url=dashboard_url
        )
        _given.check_reserved(reserved_concurrency)
        check_record("routes", routes, AlertRoutes)
        if not operators and failure_topic is None:
            raise ValueError(
                "operators is empty and failure_topic is None, so that nobody hears when the "
                'notifier fails; use operators=["hpc@example.edu"]'
            )
        self.context = AlarmContext(
            institution=institution, runbook_url=runbook_url, dashboard_url=dashboard_url
        )
        if topic is None:
            made = AlertTopic(self, "Alerts", publishers=publishers, key=key)
            topic, key = made.topic, made.key
        else:
            self._say_what_the_topic_needs(publishers)
        self.topic, self.key = topic, key
        # Its policies admit EventBridge already; by its ARN CDK does not write into them again.
        self._by_arn = sns.Topic.from_topic_arn(self, "ByArn", topic.topic_arn)
        self.failure_topic = failure_topic or self._failure_topic(key)
        for address in operators:
            self.failure_topic.add_subscription(subscriptions.EmailSubscription(address))
        self.notifier = Notifier(
            self,
            "Notifier",
            secret=secret,
            routes=routes,
            institution=institution,
            reserved_concurrency=reserved_concurrency,
        )
        self.undelivered = self.notifier.dead_letter_queue
        topic.add_subscription(
            subscriptions.SqsSubscription(
                self.notifier.queue, dead_letter_queue=self.notifier.dead_letter_queue
            )
        )
        self._watch_notifier()

    def notify(self, alarm: cloudwatch.AlarmBase, *, no_data: bool = False) -> None:
        """Tell Slack when an alarm is raised and when it is over.

        Args:
            alarm: Any alarm; an ``AlarmNote`` as its description gives it a severity.
            no_data: Tell also when it lacks data.
        """
        check_present(alarm=alarm)
        action = actions.SnsAction(self.topic)
        alarm.add_alarm_action(action)
        alarm.add_ok_action(action)
        if no_data:
            alarm.add_insufficient_data_action(action)

    def add_alarm(self, spec: AlarmSpec, *, prefix: str = "") -> cloudwatch.Alarm:
        """Make one alarm that reaches Slack.

        Args:
            spec: What it watches, and what to do when it is raised.
            prefix: Begins its construct id where several of a kind are watched.
        """
        check_present(spec=spec)
        alarm = spec.alarm(self, self.context, prefix=prefix)
        self.notify(alarm)
        return alarm

    def add_alarms(
        self, specs: Sequence[AlarmSpec], *, prefix: str = ""
    ) -> Mapping[str, cloudwatch.Alarm]:
        """Make several alarms; return them by the names of their specs."""
        check_all_present(specs=specs)
        return {spec.name: self.add_alarm(spec, prefix=prefix) for spec in specs}

    def add_events(
        self, id: str, *, source: Sequence[str], detail_type: Sequence[str], **detail: Any
    ) -> events.Rule:
        """Tell Slack of EventBridge events.

        Args:
            id: Construct id of the rule.
            source: Sources: ``aws.ec2``.
            detail_type: Detail types, in every spelling that may arrive.
            detail: Pattern of the detail; names with a dash as ``**{"instance-id": [...]}``.
        """
        check_all_present(source=source, detail_type=detail_type)
        rule = events.Rule(
            self,
            id,
            description=f"{', '.join(detail_type)} to Slack",
            event_pattern=events.EventPattern(
                source=list(source), detail_type=list(detail_type), detail=detail or None
            ),
            targets=[
                targets.SnsTopic(self._by_arn, dead_letter_queue=self.notifier.dead_letter_queue)
            ],
        )
        Annotations.of(rule).acknowledge_warning(
            "@aws-cdk/aws-events:ruleUnresolvedEnvironment",
            "The topic is known by its ARN; it is in the account and the Region of the rule.",
        )
        return rule

    def _say_what_the_topic_needs(self, publishers: Sequence[str]) -> None:
        # A topic without a policy of its own admits CloudWatch, and no EventBridge.
        Annotations.of(self).add_warning_v2(
            "trainshed:alertTopicPolicy",
            "the topic is given: its policy must allow sns:Publish to "
            f"{', '.join(publishers)}, or their alerts do not arrive",
        )

    def _failure_topic(self, key: kms.IKey | None) -> sns.ITopic:
        return AlertTopic(self, "Failures", publishers=["cloudwatch.amazonaws.com"], key=key).topic

    def _watch_notifier(self) -> None:
        action = actions.SnsAction(self.failure_topic)
        for spec in notifier_alarms.of(self.notifier, self.topic):
            alarm = spec.alarm(self, self.context, prefix="Notifier")
            alarm.add_alarm_action(action)
            alarm.add_ok_action(action)
