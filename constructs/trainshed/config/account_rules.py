"""Rules about what belongs to the institution's account and Region: names, ARNs and tags."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping

from .. import facts
from ..records import is_token
from .alerts import Alerts
from .faults import Fault, KeyPath
from .fleet import Fleet
from .storage import Storage

# ParallelCluster 3.16.1 takes 40 tags at most together with those of queues and resources.
MOST_TAGS = 40
# Tagging best practices whitepaper and the Resource Groups Tagging API, read 2026-11-29: letters,
# spaces and digits of any script, and these.
_TAG_CHARACTERS = "_.:/=+-@"
_MOST_KEY, _MOST_VALUE = 128, 256

# IAM user guide "IAM and STS quotas", read 2026-11-29: a role takes 10 managed policies, 25 once
# the quota is raised. Three are attached by trainshed and ParallelCluster.
MOST_POLICIES = 25 - 3


def storage_is_of_the_region(region: str, storage: Storage) -> Iterator[Fault]:
    """Key and file system are in the institution's Region."""
    at = ("storage",)
    if storage.lustre and storage.lustre.kms_key_arn:
        key_path = (*at, "lustre", "kms_key_arn")
        yield from _arn_faults(key_path, storage.lustre.kms_key_arn, region, None)
    if storage.existing and not is_token(storage.existing.dns_name) and not is_token(region):
        given = storage.existing.dns_name
        own = f"{given.partition('.')[0]}.fsx.{region}.{facts.PARTITIONS[region].dns_suffix}"
        if given != own:
            yield Fault((*at, "existing", "dns_name"), f"{given} is not in {region}; write {own}")


def fleet_is_of_the_account(region: str, account: str, fleet: Fleet) -> Iterator[Fault]:
    """Policies, resource groups and secrets are in the institution's account and Region."""
    at = ("fleet",)
    database = fleet.accounting
    arns: list[tuple[KeyPath, str | None]] = [
        (
            (*at, "accounting", "password_secret_arn"),
            (database.password_secret_arn or None) if database else None,
        ),
        (
            (*at, "parallelcluster", "permissions_boundary_arn"),
            fleet.parallelcluster.permissions_boundary_arn,
        ),
    ]
    policies: dict[KeyPath, tuple[str, ...]] = {
        (*at, "head_node", "policies"): fleet.head_node.policies
    }
    for name, pool in fleet.login_nodes.items():
        policies[*at, "login_nodes", name, "policies"] = pool.policies
    for name, queue in fleet.queues.items():
        group = getattr(queue.capacity, "resource_group_arn", None)
        arns.append(((*at, "queues", name, "capacity", "resource_group_arn"), group))
        policies[*at, "queues", name, "policies"] = queue.policies
    for key_path, listed in policies.items():
        arns += [((*key_path, index), arn) for index, arn in enumerate(listed)]
        yield from _policy_list_faults(key_path, listed)
    for key_path, arn in arns:
        yield from _arn_faults(key_path, arn, region, account)


def alerts_are_of_the_account(
    name: str, region: str, account: str, alerts: Alerts | None
) -> Iterator[Fault]:
    """The secret is in account and Region, and routes name no other institution."""
    if alerts is None:
        return
    yield from _arn_faults(("alerts", "slack_secret_arn"), alerts.slack_secret_arn, region, account)
    for other in alerts.routes.institutions:
        if other != name:
            yield Fault.at(
                "alerts",
                "routes",
                "institutions",
                other,
                reason=f"{other!r} is not this institution, and only its alerts come here; "
                f"write {name}, or leave it out",
            )


def _policy_list_faults(key_path: KeyPath, policies: tuple[str, ...]) -> Iterator[Fault]:
    if len(policies) > MOST_POLICIES:
        yield Fault(
            key_path,
            f"{len(policies)} policies; a role takes {MOST_POLICIES} beside those that every node "
            "has: join some into one policy",
        )
    for index, arn in enumerate(policies):
        if arn in policies[:index]:
            yield Fault((*key_path, index), f"{arn} is listed twice; leave one out")


def _arn_faults(
    key_path: KeyPath, arn: str | None, region: str, account: str | None
) -> Iterator[Fault]:
    """Yield where an ARN is of another partition, Region or account; None stands for any."""
    if arn is None or any(map(is_token, (arn, region, account))):
        return
    _, partition, _, its_region, its_account, _ = arn.split(":", 5)
    own_partition = facts.PARTITIONS[region].name
    for what, given, own in (
        ("partition", partition, own_partition),
        ("Region", its_region or region, region),
        ("account", its_account, account or its_account),
    ):
        if given != own and not (what == "account" and given == "aws"):
            yield Fault(
                key_path,
                f"{arn} is of the {what} {given}, and the institution is of {own}; "
                f"use one of {own}",
            )
            return


def tags_are_allowed(tags: Mapping[str, str]) -> Iterator[Fault]:
    """Tags are few, written as AWS takes them, and none has a prefix that is reserved."""
    if len(tags) > MOST_TAGS - 10:
        yield Fault.at(
            "tags",
            reason=f"{len(tags)} tags, above {MOST_TAGS - 10}; a cluster takes {MOST_TAGS} "
            "with those that trainshed and ParallelCluster add",
        )
    seen: dict[str, str] = {}
    for key, value in tags.items():
        first = seen.setdefault(key.lower(), key)
        reasons = [
            *_prefix_reasons(key),
            *_text_reasons("key", key, least=1, most=_MOST_KEY),
            *_text_reasons("value", value, least=0, most=_MOST_VALUE),
        ]
        if first != key:
            reasons.append(
                f"differs from {first!r} in case alone, and IAM has one tag of a name; "
                "leave one out"
            )
        for reason in reasons:
            yield Fault.at("tags", key, reason=reason)


def _prefix_reasons(key: str) -> Iterator[str]:
    for prefix in ("aws:", "parallelcluster:", "trainshed:"):
        if key.lower().startswith(prefix):
            yield f"the prefix {prefix!r} is reserved; rename the tag"


def _text_reasons(what: str, text: str, *, least: int, most: int) -> Iterator[str]:
    if is_token(text):
        return
    if not least <= len(text) <= most:
        yield f"the {what} has {len(text)} characters; write one of {least} to {most}"
    odd = next((c for c in text if c not in _TAG_CHARACTERS and not _is_plain(c)), None)
    if odd is not None:
        yield (f"the {what} holds {odd!r}; use letters, digits, spaces and {_TAG_CHARACTERS} alone")


def _is_plain(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNZ"


def cluster_name_is_free(name: str, fleet: Fleet) -> Iterator[Fault]:
    """ParallelCluster makes a stack named like the cluster, beside the institution's own two."""
    stacks = stack_names(name)
    if fleet.backend != "parallelcluster":
        return
    if fleet.cluster_name and fleet.cluster_name.lower() in stacks:
        yield Fault.at(
            "fleet",
            "cluster_name",
            reason=f"{fleet.cluster_name!r} is the name of one of the institution's own stacks, "
            f"{' and '.join(stacks)}, and ParallelCluster makes a stack of the cluster's name; "
            "take another",
        )


def stack_names(name: str) -> tuple[str, str]:
    """Return the names of an institution's stacks."""
    return f"{name}-foundation", f"{name}-cluster"


ACCOUNT_RULES = (
    storage_is_of_the_region,
    fleet_is_of_the_account,
    alerts_are_of_the_account,
    tags_are_allowed,
    cluster_name_is_free,
)
