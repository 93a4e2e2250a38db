"""Needs as Markdown, with the commands that ask AWS for more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .needs import Need


def quota_table(needs: Sequence[Need], region: str) -> str:
    """Return what a cluster needs beside what a new account has, as Markdown.

    Args:
        needs: The needs.
        region: The Region, which the commands name.
    """
    return "\n".join(_lines(needs, region)) + "\n"


def request_command(need: Need, region: str, value: int | None = None) -> str:
    """Return the command that asks AWS to raise a quota.

    Args:
        need: What is needed.
        region: The Region.
        value: What to ask for. Default: what this cluster needs.
    """
    quota = need.quota
    return (
        f"aws service-quotas request-service-quota-increase --region {region} "
        f"--service-code {quota.service} --quota-code {quota.code} "
        f"--desired-value {need.needed if value is None else value}"
    )


def _lines(needs: Sequence[Need], region: str) -> Iterator[str]:
    yield f"### Quotas in {region}"
    yield ""
    yield "What this cluster needs at its largest; what else is in the account comes on top."
    yield ""
    yield "| Quota | Code | Default | Needed | For |"
    yield "|---|---|---:|---:|---|"
    for need in needs:
        quota = need.quota
        default = "not known" if quota.default is None else f"{quota.default:,}"
        needed = f"{need.needed:,}"
        if need.above_default:
            needed = f"**{needed}**"
        yield f"| {quota.name} | {quota.code or 'fixed'} | {default} | {needed} | {need.note} |"
    yield ""
    above = [need for need in needs if need.above_default and need.quota.adjustable]
    if not above:
        yield "A new account has enough of each."
        return
    yield "A new account has too little of those in bold. To ask for them:"
    yield ""
    yield "```sh"
    yield from (request_command(need, region) for need in above)
    yield "```"
