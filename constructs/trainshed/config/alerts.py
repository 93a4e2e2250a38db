"""Which channel of Slack hears of what, and when."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ..records import OnChange, Record, is_token
from .faults import Fault, refuse
from .texts import Form, SecretArn, looks_secret

# Ids begin with C or G; names: docs.slack.dev "conversations.create", read 2026-11-29.
_CHANNEL = re.compile(r"[CG][A-Z0-9]{7,20}|[a-z0-9_-]{1,80}")
_MENTION = re.compile(r"<!(?:here|channel|everyone)>|<!subteam\^S[A-Z0-9]+>|<@[UW][A-Z0-9]+>")
# Files beside the zones on some machines: zones of that machine, or of clocks with leap seconds.
_LOCAL = ("localtime", "posixrules", "Factory")
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")


def _channel(value: str) -> str:
    if is_token(value):
        return value
    if "://" in value or looks_secret(value):
        # Not quoted: it may be a secret, and this text goes into logs.
        raise ValueError(
            "a channel is named by its id, C0123456789, or the name of a webhook; "
            "addresses and tokens belong in Secrets Manager"
        )
    if _CHANNEL.fullmatch(value):
        return value
    raise ValueError(f"{value!r} is no channel; use its id, C0123456789, or a name without #")


def _mention(value: str) -> str:
    if looks_secret(value):
        # Not quoted: this text goes into logs.
        raise ValueError("a secret mentions nobody; use <!here>, <!subteam^S0123> or <@U0123>")
    if value and not is_token(value) and not _MENTION.fullmatch(value):
        raise ValueError(
            f"{value!r} mentions nobody in Slack; use <!here>, <!subteam^S0123> or <@U0123>"
        )
    return value


def _clock(value: str) -> str:
    if not is_token(value) and not _CLOCK.fullmatch(value):
        raise ValueError(f"{value!r} is no time of day; use HH:MM, 22:00")
    return value


def _zone(value: str) -> str:
    try:
        if not is_token(value) and (value in _LOCAL or value.startswith(("posix/", "right/"))):
            raise ValueError
        is_token(value) or ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{value!r} is no time zone; use an IANA name, Asia/Seoul") from None
    return value


class _Unquoted(Record):
    # What was written by mistake may be a secret, and pydantic would quote it.
    model_config = ConfigDict(hide_input_in_errors=True)


ChannelName = Annotated[str, AfterValidator(_channel)]


class QuietHours(_Unquoted):
    """Hours in which all but critical alerts go to a channel that wakes nobody."""

    start: Annotated[str, AfterValidator(_clock), OnChange.LIVE]
    """When they begin, HH:MM."""
    end: Annotated[str, AfterValidator(_clock), OnChange.LIVE]
    """When they end, HH:MM; before ``start``: on the next day."""
    timezone: Annotated[str, AfterValidator(_zone), OnChange.LIVE]
    """IANA name of the time zone: ``Asia/Seoul``."""
    channel: Annotated[ChannelName, OnChange.LIVE]
    """Channel for that time, which people mute."""

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.start == self.end:
            reason = f"is {self.end}, as start is, so there are no quiet hours; use another time"
            refuse([Fault.at("end", reason=reason)])
        return self


class SeverityChannels(_Unquoted):
    """Channels of one institution; what is left out goes where all others go."""

    critical: Annotated[ChannelName | None, OnChange.LIVE] = None
    """Channel of what needs a person now."""
    warning: Annotated[ChannelName | None, OnChange.LIVE] = None
    """Channel of what needs a person today."""
    info: Annotated[ChannelName | None, OnChange.LIVE] = None
    """Channel of what is good to know."""


class AlertRoutes(_Unquoted):
    """Which channel hears of what.

    With a bot token, channels are ids (``C0123456789``). With webhooks they are the names under
    which the secret holds the addresses; one webhook alone serves every name.
    """

    critical: Annotated[ChannelName, OnChange.LIVE]
    """Channel of what needs a person now."""
    warning: Annotated[ChannelName, OnChange.LIVE]
    """Channel of what needs a person today."""
    info: Annotated[ChannelName, OnChange.LIVE]
    """Channel of what is good to know."""
    institutions: Annotated[dict[str, SeverityChannels], OnChange.LIVE] = Field(
        default_factory=dict
    )
    """Channels of single institutions, by name."""
    mention: Annotated[str, AfterValidator(_mention), OnChange.LIVE] = ""
    """Who is called by critical alerts, and by no others: ``<!subteam^S0123ABCD>``."""
    quiet_hours: Annotated[QuietHours | None, OnChange.LIVE] = None
    """Hours in which all but critical alerts go elsewhere."""
    group_above: Annotated[int, Field(ge=1, le=25), OnChange.LIVE] = 5
    """More alerts than this for a channel at once become one message."""

    def to_json(self, institution: str = "") -> str:
        """Return the routes as the notifier reads them.

        Args:
            institution: Whose an alert is that does not say so, as events and budgets.
        """
        return _RoutesJson(
            channels=SeverityChannels(critical=self.critical, warning=self.warning, info=self.info),
            institutions=self.institutions,
            # Without channels of single institutions it would change nothing.
            institution=(institution or None) if self.institutions else None,
            mention=self.mention,
            quiet_hours=self.quiet_hours,
            group_above=self.group_above,
        ).model_dump_json(exclude_none=True)


# An alarm's description takes 1,024 characters: the longest note of ours, 440, and both addresses.
_LONGEST_PAGE = 280


def _too_long(value: str) -> str | None:
    if len(value) <= _LONGEST_PAGE:
        return None
    return f"it has {len(value)} characters and an alarm has room for {_LONGEST_PAGE}: shorten it"


PAGE = Form(
    r"""(?!.{281})(https?://[A-Za-z0-9][^\s<>|"'\\^`{}\x00-\x20]*)?""",
    "the address of a page, such as https://hpc.example.edu/runbooks",
    _too_long,
)
EMAIL = Form(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address, such as hpc@example.edu")


def address_faults(addresses: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield place and fault of each e-mail address that is listed for the second time."""
    known = [address.lower() for address in addresses]
    for index, address in enumerate(addresses):
        if address.lower() in known[:index]:
            yield index, f"{address} is listed twice; leave one out"


class Alerts(_Unquoted):
    """Alarms and events of an institution's cluster, and their way to Slack."""

    slack_secret_arn: Annotated[SecretArn, OnChange.LIVE]
    """Secret: a bot token, a webhook's address, or JSON ``{"webhooks": {channel: address}}``."""
    routes: Annotated[AlertRoutes, OnChange.LIVE]
    """Which channel hears of what."""
    operators: Annotated[tuple[Annotated[str, EMAIL], ...], OnChange.LIVE]
    """Who hears by e-mail when the way to Slack is broken; at least one."""
    reserve_concurrency: Annotated[bool, OnChange.LIVE] = True
    """Keep one concurrent execution of Lambda for the notifier; a new account may have none."""
    runbook_url: Annotated[str, PAGE, OnChange.LIVE] = ""
    """Page of runbooks; alarms link to their section, unless it names a place after ``#`` itself.

    Default: no link."""
    dashboard_url: Annotated[str, PAGE, OnChange.LIVE] = ""
    """The cluster's dashboard; alarms link to it. Default: no link."""
    budget_usd_per_month: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False), OnChange.LIVE
    ] = None
    """Budget of what carries the institution's tag. Default: no budget."""
    watch_account: Annotated[bool, OnChange.LIVE] = True
    """Tell of AWS Health and of interruptions in the whole account; for one cluster of several."""

    @model_validator(mode="after")
    def _somebody_hears(self) -> Self:
        if not self.operators:
            reason = "is empty, so nobody hears that the way to Slack is broken; name an address"
            refuse([Fault.at("operators", reason=reason)])
        refuse(
            Fault.at("operators", index, reason=reason)
            for index, reason in address_faults(self.operators)
        )
        return self


class _RoutesJson(BaseModel):
    channels: SeverityChannels
    institutions: dict[str, SeverityChannels]
    institution: str | None
    mention: str
    quiet_hours: QuietHours | None
    group_above: int
