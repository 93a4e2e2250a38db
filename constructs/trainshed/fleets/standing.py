"""Where a fleet stands: its name, which no other has, its Region, and its way out."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from constructs import IConstruct

from .. import facts
from .._given import check_present
from .._stacks import stack_facts
from ..records import is_token

_Place = tuple[str, str, str]
_names: WeakKeyDictionary[IConstruct, dict[_Place, IConstruct]] = WeakKeyDictionary()


def check_standing(
    fleet: IConstruct, cluster_name: str, *, network: object, storage: object
) -> None:
    """Refuse a fleet that has no ground, whose name another has, or whose network is elsewhere.

    Raises:
        ValueError: It is so.
    """
    check_present(network=network, storage=storage)
    _check_region(fleet, network)
    _take_name(fleet, cluster_name)


def _take_name(fleet: IConstruct, cluster_name: str) -> None:
    """Refuse a second cluster of one name in an app's account and Region.

    Parameters, policies and log groups are called after it, so that the second one would fail
    midway through its deployment. Names are compared without regard to case, as IAM does.

    Raises:
        ValueError: Another fleet has the name.
    """
    known = stack_facts(fleet)
    account, region = known.account, known.region
    if is_token(account) or is_token(region):
        # Stacks that are told neither may be deployed apart.
        account = region = known.stack.node.path
    names = _names.setdefault(fleet.node.root, {})
    first = names.setdefault((account, region, cluster_name.lower()), fleet)
    if first is not fleet:
        raise ValueError(
            f"cluster_name is {cluster_name!r}, which {first.node.path} has in the same account "
            "and Region; take another"
        )


def _check_region(fleet: IConstruct, network: object) -> None:
    """Refuse a network that is known to be in another Region than the stack of the fleet.

    Raises:
        ValueError: It is.
    """
    zone = getattr(network, "zone", None)
    if zone is None:
        return
    try:
        facts.check_zone(zone, stack_facts(fleet).region)
    except ValueError as error:
        raise ValueError(
            f"the network's {error}, as the stack of {fleet.node.path}; a fleet stands where its "
            "network is"
        ) from None


def is_isolated(network: object, given: bool | None) -> bool:
    """Return whether nodes cannot reach the internet; a network that knows is asked."""
    return getattr(network, "internet", "nat") == "isolated" if given is None else given
