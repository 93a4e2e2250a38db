"""What a node's launch template says of where the instance comes from, and of its interfaces.

Pure: ``trainshed.config`` leans on this module, so it knows the capacity records by type only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .interfaces import NetworkInterface

if TYPE_CHECKING:
    from ..config.capacity import Capacity, TargetedReservation


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """Where EC2 takes an instance from. :func:`launch_options` makes them from a queue's capacity.

    Args:
        market: How the instance is paid for.
        preference: Which reservations the launch may use, where it names none of its own.
        reservation_id: The reservation or block that the launch targets.
        resource_group_arn: The group of reservations that the launch targets.
        max_price_usd_per_hour: Most to pay for a Spot instance; None is the On-Demand price.
        placement_group: Name of the cluster placement group.

    Raises:
        ValueError: EC2 would refuse the launch; a line for each fault.
    """

    market: Literal["on-demand", "spot", "capacity-block"] = "on-demand"
    preference: Literal["none", "open", "capacity-reservations-only"] | None = None
    reservation_id: str | None = None
    resource_group_arn: str | None = None
    max_price_usd_per_hour: float | None = None
    placement_group: str | None = None

    def __post_init__(self) -> None:
        faults = list(_option_faults(self))
        if faults:
            raise ValueError("\n".join(faults))


def _option_faults(options: LaunchOptions) -> Iterator[str]:
    targets = [t for t in (options.reservation_id, options.resource_group_arn) if t is not None]
    if len(targets) == 2:
        yield "reservation_id and resource_group_arn are both given; a launch targets one of them"
    if targets and options.preference not in (None, "capacity-reservations-only"):
        yield (
            f"preference is {options.preference} beside a target, {targets[0]}; "
            "leave it out or use capacity-reservations-only"
        )
    if options.market == "capacity-block":
        if options.reservation_id is None:
            yield "market is capacity-block without reservation_id; give the id of the block"
        if options.placement_group is not None:
            yield (
                f"placement_group is {options.placement_group} with a Capacity Block; "
                "remove it, a block is already placed"
            )
    if options.market == "spot" and (targets or options.preference):
        named = targets[0] if targets else f"preference {options.preference}"
        yield f"market is spot with {named}; Spot instances never run in a reservation"
    if options.market != "spot" and options.max_price_usd_per_hour is not None:
        yield (
            f"max_price_usd_per_hour is {options.max_price_usd_per_hour:g} with market "
            f"{options.market}; only spot has a highest price"
        )


def launch_options(capacity: Capacity, *, placement_group: str | None = None) -> LaunchOptions:
    """Return the launch options of a queue's capacity.

    Args:
        capacity: Where the instances come from.
        placement_group: Name of a cluster placement group of the stack. Default: the group that
            the reservation was made in, or none.

    Raises:
        ValueError: The group does not go with the capacity, or the reservation is not made yet.
    """
    if capacity.kind == "capacity_block":
        return LaunchOptions(
            market="capacity-block",
            reservation_id=capacity.reservation_id,
            placement_group=placement_group,
        )
    if capacity.kind == "targeted_reservation":
        return _targeted(capacity, placement_group)
    if capacity.kind == "open_reservation":
        return LaunchOptions(preference="open", placement_group=placement_group)
    if capacity.kind == "spot":
        return LaunchOptions(
            market="spot",
            max_price_usd_per_hour=capacity.max_price_usd_per_hour,
            placement_group=placement_group,
        )
    if capacity.placement_group and placement_group is None:
        raise ValueError(
            "placement_group is true and no group is given; make an ec2.PlacementGroup "
            "with strategy CLUSTER and give its name"
        )
    # "none" keeps it from using up the open reservations of others in the account.
    return LaunchOptions(preference="none", placement_group=placement_group)


def _targeted(capacity: TargetedReservation, placement_group: str | None) -> LaunchOptions:
    if capacity.create is not None:
        raise ValueError(
            "the reservation is still to be made; make a trainshed.capacity.CapacityReservation "
            "and use its attribute capacity"
        )
    own = capacity.placement_group
    if own and placement_group not in (None, own):
        raise ValueError(
            f"placement_group is {placement_group} and the reservation was made in {own}; "
            f"its instances run nowhere else: use {own}"
        )
    return LaunchOptions(
        reservation_id=capacity.reservation_id,
        resource_group_arn=capacity.resource_group_arn,
        # A group that is full lets a launch go on as On-Demand unless told otherwise; a single
        # reservation does not.
        preference="capacity-reservations-only" if capacity.resource_group_arn else None,
        placement_group=own or placement_group,
    )


def launch_template_data(
    options: LaunchOptions,
    interfaces: Sequence[NetworkInterface],
    *,
    security_group_ids: Sequence[str],
    subnet_id: str | None = None,
) -> dict[str, Any]:
    """Return these parts of ``LaunchTemplateData``, in CloudFormation's casing.

    No interface has a key for a public address, since instances with several interfaces get none,
    and the security groups stand inside the interfaces, since EC2 refuses them beside.

    Args:
        options: Where EC2 takes the instance from.
        interfaces: Network interfaces, such as those of :func:`efa_interfaces`.
        security_group_ids: Security groups of every interface.
        subnet_id: Subnet of every interface. Default: left to the Auto Scaling group.
    """
    place = {"SubnetId": subnet_id} if subnet_id else {}
    placement = {"GroupName": options.placement_group} if options.placement_group else None
    parts = {
        "InstanceMarketOptions": _market(options),
        "CapacityReservationSpecification": _reservation(options),
        "Placement": placement,
        "NetworkInterfaces": [
            {
                "NetworkCardIndex": interface.network_card_index,
                "DeviceIndex": interface.device_index,
                "InterfaceType": interface.interface_type,
                "Groups": list(security_group_ids),
                "DeleteOnTermination": True,
                **place,
            }
            for interface in interfaces
        ],
    }
    return {key: part for key, part in parts.items() if part}


def _market(options: LaunchOptions) -> dict[str, Any]:
    if options.market == "on-demand":
        return {}
    if options.market == "capacity-block":
        return {"MarketType": "capacity-block"}
    price = options.max_price_usd_per_hour
    return {
        "MarketType": "spot",
        "SpotOptions": {
            "SpotInstanceType": "one-time",
            **({} if price is None else {"MaxPrice": f"{price:.6f}".rstrip("0").rstrip(".")}),
        },
    }


def _reservation(options: LaunchOptions) -> dict[str, Any]:
    target = {
        "CapacityReservationId": options.reservation_id,
        "CapacityReservationResourceGroupArn": options.resource_group_arn,
    }
    given = {key: value for key, value in target.items() if value}
    return {
        **({"CapacityReservationPreference": options.preference} if options.preference else {}),
        **({"CapacityReservationTarget": given} if given else {}),
    }
