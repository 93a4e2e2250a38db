"""A monthly budget of one institution, by its cost-allocation tag."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_sns as sns
from constructs import Construct

from .._given import check_all_present, check_present
from ._given import check_email

# AWS Budgets, CreateNotification and Subscriber, read 2026-11-29: ten notifications a budget, and
# one topic and ten addresses a notification.
_MOST_NOTIFICATIONS = 10
_MOST_EMAILS = 10


class InstitutionBudget(Construct):
    """An AWS Budget that tells a topic when an institution spends, or will spend, too much.

    It counts what carries the tag, so that the tag must be active as a cost-allocation tag in the
    payer account; AWS takes up to a day for that, and updates budgets up to three times a day.

    Args:
        institution: Value of the tag.
        usd_per_month: The budget.
        topic: Topic that hears of it; its policy must admit ``budgets.amazonaws.com``.
        emails: Addresses that hear of it too.
        tag_key: Key of the tag.
        actual_percent: Shares of the budget that were spent, at which it tells.
        forecast_percent: Shares that will be spent at the end of the month, at which it tells.

    Raises:
        ValueError: The budget or a share of it is not above zero, the institution is empty, or
            there are too many notifications or addresses.
    """

    budget: budgets.CfnBudget
    """The budget."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        institution: str,
        usd_per_month: float,
        topic: sns.ITopic,
        emails: Sequence[str] = (),
        tag_key: str = "trainshed:institution",
        actual_percent: Sequence[float] = (50, 80, 100),
        forecast_percent: Sequence[float] = (100,),
    ) -> None:
        super().__init__(scope, id)
        check_present(topic=topic)
        check_all_present(
            emails=emails, actual_percent=actual_percent, forecast_percent=forecast_percent
        )
        _check(institution, usd_per_month, emails, (*actual_percent, *forecast_percent))
        listeners = [
            budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=topic.topic_arn),
            *(
                budgets.CfnBudget.SubscriberProperty(subscription_type="EMAIL", address=email)
                for email in emails
            ),
        ]
        self.budget = budgets.CfnBudget(
            self,
            "Budget",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=usd_per_month, unit="USD"),
                # AWS Budgets user guide, "Budget filters", read 2026-11-29: KEY$VALUE.
                cost_filters={"TagKeyValue": [f"user:{tag_key}${institution}"]},
            ),
            notifications_with_subscribers=[
                budgets.CfnBudget.NotificationWithSubscribersProperty(
                    notification=budgets.CfnBudget.NotificationProperty(
                        comparison_operator="GREATER_THAN",
                        notification_type=kind,
                        threshold=percent,
                        threshold_type="PERCENTAGE",
                    ),
                    subscribers=listeners,
                )
                for kind, percents in (("ACTUAL", actual_percent), ("FORECASTED", forecast_percent))
                for percent in percents
            ],
        )


def _check(
    institution: str, usd_per_month: float, emails: Sequence[str], percents: Sequence[float]
) -> None:
    if not institution:
        raise ValueError("institution is empty; it is the value of the tag that is counted")
    if not 0 < usd_per_month < math.inf:
        raise ValueError(f"usd_per_month is {usd_per_month:g}; a budget is above 0")
    if not 1 <= len(percents) <= _MOST_NOTIFICATIONS:
        raise ValueError(
            f"{len(percents)} notifications; a budget takes 1 to {_MOST_NOTIFICATIONS}: name fewer "
            "percentages"
        )
    if wrong := [percent for percent in percents if not 0 < percent < math.inf]:
        raise ValueError(f"{wrong[0]:g} percent of a budget tells nothing; use shares above 0")
    if len(emails) > _MOST_EMAILS:
        raise ValueError(
            f"{len(emails)} addresses; a notification takes {_MOST_EMAILS}: name a mailing list"
        )
    for index, email in enumerate(emails):
        check_email(f"emails[{index}]", email)
