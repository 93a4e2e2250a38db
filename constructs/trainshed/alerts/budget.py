"""A monthly budget of one institution, by its cost-allocation tag."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_sns as sns
from constructs import Construct

# AWS Budgets, CreateNotification, read 2026-11-29: ten notifications a budget.
_MOST_NOTIFICATIONS = 10


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
        ValueError: The budget is not above zero, or there are too many notifications.
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
        if usd_per_month <= 0:
            raise ValueError(f"usd_per_month is {usd_per_month:g}; a budget is above 0")
        wanted = len(actual_percent) + len(forecast_percent)
        if not 1 <= wanted <= _MOST_NOTIFICATIONS:
            raise ValueError(
                f"{wanted} notifications; a budget takes 1 to {_MOST_NOTIFICATIONS}: name fewer "
                "percentages"
            )
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
