"""Network interfaces of an instance at launch, for each kind of instance with EFA. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from .. import facts

InterfaceType = Literal["interface", "efa", "efa-only"]
EfaStyle = Literal["efa-only", "efa"]


@dataclass(frozen=True, slots=True, order=True)
class NetworkInterface:
    """One network interface of an instance at launch.

    Args:
        network_card_index: Card, from 0.
        device_index: Place on the card, from 0; the primary interface is card 0, device 0.
        interface_type: ``interface`` carries IP, ``efa`` IP and EFA, ``efa-only`` no IP.
    """

    network_card_index: int
    device_index: int
    interface_type: InterfaceType = "interface"

    @property
    def has_address(self) -> bool:
        """Whether it takes a private IPv4 address of the subnet."""
        return self.interface_type != "efa-only"

    @property
    def has_efa(self) -> bool:
        """Whether it carries EFA traffic."""
        return self.interface_type != "interface"


PRIMARY_INTERFACE = NetworkInterface(0, 0)
"""All that an instance without EFA needs."""


def efa_interfaces(
    instance_type: facts.InstanceType, *, style: EfaStyle = "efa-only"
) -> tuple[NetworkInterface, ...]:
    """Return the interfaces that give an instance all its EFA bandwidth.

    Args:
        instance_type: The instance type; without EFA it gets the primary interface alone.
        style: ``efa-only``: one address a node, as AWS advises. ``efa``: the older layout, where
            each interface takes an address as well; for software that wants IP on every card.
    """
    # EC2 user guide "Maximize network bandwidth on instances with multiple network cards", read
    # 2026-11-29: card 0 device 0 is ENA; if card 0 carries EFA, EFA-only at its device 1; on
    # every other card EFA-only at device 0. The older page had EFA with ENA at device 0 of card 0
    # and at device 1 of the others.
    with_ports = instance_type.interfaces_per_card > 1
    primary_has_efa = 0 in instance_type.efa_cards
    others = [card for card in instance_type.efa_cards if card]
    if style == "efa-only" and (with_ports or not primary_has_efa):
        first = [NetworkInterface(0, 1, "efa-only")] if primary_has_efa else []
        rest = [NetworkInterface(card, 0, "efa-only") for card in others]
        return (PRIMARY_INTERFACE, *first, *rest)
    primary = NetworkInterface(0, 0, "efa" if primary_has_efa else "interface")
    device = 1 if with_ports and primary_has_efa else 0
    rest = [NetworkInterface(c, device, _efa_with_ip(instance_type, style, c)) for c in others]
    return (primary, *rest)


def _efa_with_ip(
    instance_type: facts.InstanceType, style: EfaStyle, card: int
) -> Literal["efa", "efa-only"]:
    # aws-parallelcluster 3.16.1, templates/queues_stack.py, read 2026-11-29: the odd cards of
    # p6e-gb200 carry nothing but EFA.
    odd_card_of_gb200 = instance_type.family == "p6e-gb200" and card % 2 == 1
    return "efa-only" if style == "efa-only" or odd_card_of_gb200 else "efa"


def addresses_per_node(instance_type: facts.InstanceType, *, style: EfaStyle = "efa-only") -> int:
    """Return how many private IPv4 addresses a node with EFA takes from its subnet."""
    return sum(i.has_address for i in efa_interfaces(instance_type, style=style))


def check_interfaces(
    instance_type: facts.InstanceType, interfaces: Sequence[NetworkInterface]
) -> None:
    """Check interfaces that somebody wrote by hand.

    Raises:
        ValueError: EC2 would refuse them, or they waste bandwidth; a line for each fault.
    """
    faults = [
        *_primary_faults(interfaces),
        *_slot_faults(instance_type, interfaces),
        *_efa_faults(instance_type, [i for i in interfaces if i.interface_type != "interface"]),
    ]
    if faults:
        raise ValueError("\n".join(f"{instance_type.name}: {fault}" for fault in faults))


def _primary_faults(interfaces: Iterable[NetworkInterface]) -> Iterator[str]:
    primary = [i for i in interfaces if (i.network_card_index, i.device_index) == (0, 0)]
    if not primary:
        yield ("no interface is card 0, device 0; add one of type interface, for the node's IP")
    elif primary[0].interface_type == "efa-only":
        yield (
            "card 0, device 0 is efa-only and cannot carry the node's IP; "
            "make it interface, and card 0, device 1 efa-only"
        )


def _slot_faults(
    instance_type: facts.InstanceType, interfaces: Iterable[NetworkInterface]
) -> Iterator[str]:
    cards, per_card = instance_type.network_cards, instance_type.interfaces_per_card
    slots = Counter((i.network_card_index, i.device_index) for i in interfaces)
    for (card, device), times in sorted(slots.items()):
        if times > 1:
            yield f"card {card}, device {device} is given {times} times; each takes one interface"
        if not 0 <= card < cards:
            yield f"there is no card {card}; cards are {_span(range(cards))}"
        if not 0 <= device < per_card:
            yield (
                f"card {card}, device {device} is above its {per_card} interfaces a card; "
                f"device indexes are {_span(range(per_card))}"
            )
    for kind in sorted({str(i.interface_type) for i in interfaces} - set(get_args(InterfaceType))):
        yield f"{kind!r} is not an interface type; use interface, efa or efa-only"


def _efa_faults(
    instance_type: facts.InstanceType, efas: Sequence[NetworkInterface]
) -> Iterator[str]:
    if efas and not instance_type.has_efa:
        table = facts.INSTANCE_TYPES.values()
        others = [t.name for t in table if t.family == instance_type.family and t.has_efa]
        instead = f"of its family {', '.join(others)} have" if others else "none of its family has"
        yield f"has no Elastic Fabric Adapter; {instead} it"
        return
    if len(efas) > instance_type.efa_interfaces:
        yield f"{len(efas)} EFA interfaces are asked for and {instance_type.efa_interfaces} exist"
    for card, times in sorted(Counter(i.network_card_index for i in efas).items()):
        if times > 1:
            yield f"card {card} has {times} EFA interfaces; give each its own network card"
        if card < instance_type.network_cards and card not in instance_type.efa_cards:
            yield f"card {card} carries no EFA; those that do are {_span(instance_type.efa_cards)}"


def _span(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]} only"
