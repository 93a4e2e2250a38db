from __future__ import annotations

import dataclasses

import pytest

from trainshed import facts
from trainshed.launch import (
    PRIMARY_INTERFACE,
    EfaStyle,
    InterfaceType,
    NetworkInterface,
    addresses_per_node,
    check_interfaces,
    efa_interfaces,
)

EFA_TYPES = sorted(name for name, facts_of in facts.INSTANCE_TYPES.items() if facts_of.has_efa)


def interface(card: int, device: int, kind: InterfaceType = "efa-only") -> NetworkInterface:
    return NetworkInterface(card, device, kind)


@pytest.mark.parametrize("style", ["efa-only", "efa"])
@pytest.mark.parametrize("name", EFA_TYPES)
def test_the_layout_of_every_type_is_one_that_ec2_takes(name: str, style: EfaStyle) -> None:
    instance_type = facts.instance_type(name)
    layout = efa_interfaces(instance_type, style=style)
    check_interfaces(instance_type, layout)
    assert layout[0] in (PRIMARY_INTERFACE, interface(0, 0, "efa"))
    assert sum(i.has_efa for i in layout) == instance_type.efa_interfaces


@pytest.mark.parametrize("name", EFA_TYPES)
def test_efa_only_interfaces_take_no_address(name: str) -> None:
    assert addresses_per_node(facts.instance_type(name)) == 1


@pytest.mark.parametrize("style", ["efa-only", "efa"])
def test_types_without_efa_have_the_primary_interface_alone(style: EfaStyle) -> None:
    others = [t for t in facts.INSTANCE_TYPES.values() if not t.has_efa]
    assert others
    assert {efa_interfaces(t, style=style) for t in others} == {(PRIMARY_INTERFACE,)}


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("m7i.2xlarge", 1),
        ("g6.12xlarge", 1),
        ("p4d.24xlarge", 4),
        ("p5.48xlarge", 32),
        ("p5en.48xlarge", 16),
        ("p6-b300.48xlarge", 17),
        ("p6e-gb200.36xlarge", 9),
    ],
)
def test_the_older_style_takes_an_address_an_interface(name: str, addresses: int) -> None:
    assert addresses_per_node(facts.instance_type(name), style="efa") == addresses


@pytest.mark.parametrize(
    ("name", "style", "layout"),
    [
        ("m7i.2xlarge", "efa-only", [PRIMARY_INTERFACE]),
        ("m7i.2xlarge", "efa", [PRIMARY_INTERFACE]),
        ("g6.12xlarge", "efa-only", [PRIMARY_INTERFACE, interface(0, 1)]),
        ("g6.12xlarge", "efa", [interface(0, 0, "efa")]),
        (
            "p4d.24xlarge",
            "efa-only",
            [PRIMARY_INTERFACE, interface(0, 1), interface(1, 0), interface(2, 0), interface(3, 0)],
        ),
        (
            "p4d.24xlarge",
            "efa",
            [interface(0, 0, "efa"), *(interface(card, 1, "efa") for card in (1, 2, 3))],
        ),
        (
            "p5.48xlarge",
            "efa-only",
            [PRIMARY_INTERFACE, interface(0, 1), *(interface(card, 0) for card in range(1, 32))],
        ),
        (
            "p5.48xlarge",
            "efa",
            [interface(0, 0, "efa"), *(interface(card, 1, "efa") for card in range(1, 32))],
        ),
        (
            "p6-b200.48xlarge",
            "efa-only",
            [PRIMARY_INTERFACE, interface(0, 1), *(interface(card, 0) for card in range(1, 8))],
        ),
        (
            "p6-b300.48xlarge",
            "efa-only",
            [PRIMARY_INTERFACE, *(interface(card, 0) for card in range(1, 17))],
        ),
        (
            "p6-b300.48xlarge",
            "efa",
            [PRIMARY_INTERFACE, *(interface(card, 0, "efa") for card in range(1, 17))],
        ),
        (
            "p6e-gb200.36xlarge",
            "efa",
            [
                PRIMARY_INTERFACE,
                *(interface(c, 0, "efa-only" if c % 2 else "efa") for c in range(1, 17)),
            ],
        ),
    ],
)
def test_each_family_has_its_own_layout(
    name: str, style: EfaStyle, layout: list[NetworkInterface]
) -> None:
    assert list(efa_interfaces(facts.instance_type(name), style=style)) == layout


def test_a_single_interface_on_an_efa_card_has_both() -> None:
    one_port = dataclasses.replace(facts.instance_type("g6.12xlarge"), interfaces_per_card=1)
    assert efa_interfaces(one_port) == (interface(0, 0, "efa"),)


P5_MORE = [PRIMARY_INTERFACE, interface(0, 1), *(interface(c, 0) for c in range(1, 32))]
# The number is that of the pitfall in the project's list.
REFUSED_LAYOUTS = {
    "A1 more EFA interfaces than the type has": (
        "p6-b200.48xlarge",
        [PRIMARY_INTERFACE, *(interface(card % 8, 1 + card // 8) for card in range(9))],
        "p6-b200.48xlarge: 9 EFA interfaces are asked for and 8 exist\n"
        "p6-b200.48xlarge: card 0 has 2 EFA interfaces; give each its own network card",
    ),
    "A1 a card that the type does not have": (
        "p6-b200.48xlarge",
        [PRIMARY_INTERFACE, interface(31, 0)],
        "p6-b200.48xlarge: there is no card 31; cards are 0 to 7",
    ),
    "A1 a card of a type with one": (
        "g6.12xlarge",
        [PRIMARY_INTERFACE, interface(1, 0)],
        "g6.12xlarge: there is no card 1; cards are 0 only",
    ),
    "A2 device indexes that grow with the card": (
        "p5.48xlarge",
        [interface(0, 0, "efa"), interface(1, 1), interface(2, 2)],
        "p5.48xlarge: card 2, device 2 is above its 2 interfaces a card; device indexes are 0 to 1",
    ),
    "A3 EFA on the card of p6-b300 that has none": (
        "p6-b300.48xlarge",
        [PRIMARY_INTERFACE, interface(0, 1)],
        "p6-b300.48xlarge: card 0 carries no EFA; those that do are 1 to 16",
    ),
    "A4 a primary interface without IP": (
        "p5.48xlarge",
        [interface(0, 0), interface(1, 0)],
        "p5.48xlarge: card 0, device 0 is efa-only and cannot carry the node's IP; "
        "make it interface, and card 0, device 1 efa-only",
    ),
    "A4 no primary interface": (
        "p5.48xlarge",
        [interface(1, 0)],
        "p5.48xlarge: no interface is card 0, device 0; "
        "add one of type interface, for the node's IP",
    ),
    "A5 two interfaces in one place": (
        "p5.48xlarge",
        [PRIMARY_INTERFACE, interface(1, 0), interface(1, 0)],
        "p5.48xlarge: card 1, device 0 is given 2 times; each takes one interface\n"
        "p5.48xlarge: card 1 has 2 EFA interfaces; give each its own network card",
    ),
    "A5 every EFA interface on card 0": (
        "p4d.24xlarge",
        [PRIMARY_INTERFACE, *(interface(0, device) for device in (1, 2, 3, 4))],
        "p4d.24xlarge: card 0 has 4 EFA interfaces; give each its own network card",
    ),
    "A12 EFA on a type without it": (
        "m7i.2xlarge",
        [PRIMARY_INTERFACE, interface(0, 1)],
        "m7i.2xlarge: has no Elastic Fabric Adapter; of its family m7i.48xlarge have it",
    ),
    "A12 EFA on a family without it": (
        "t3.large",
        [PRIMARY_INTERFACE, interface(0, 1)],
        "t3.large: has no Elastic Fabric Adapter; none of its family has it",
    ),
    "a kind of interface that EC2 does not know": (
        "p5.48xlarge",
        [*P5_MORE[:-1], NetworkInterface(31, 0, "efaonly")],  # type: ignore[arg-type]
        "p5.48xlarge: 'efaonly' is not an interface type; use interface, efa or efa-only",
    ),
}


@pytest.mark.parametrize(
    ("name", "interfaces", "message"), REFUSED_LAYOUTS.values(), ids=list(REFUSED_LAYOUTS)
)
def test_a_layout_that_ec2_refuses_is_refused(
    name: str, interfaces: list[NetworkInterface], message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        check_interfaces(facts.instance_type(name), interfaces)
    assert str(refusal.value) == message


def test_the_layout_of_a_p5_written_by_hand_is_taken() -> None:
    check_interfaces(facts.instance_type("p5.48xlarge"), P5_MORE)


def test_the_types_with_efa_are_those_for_training() -> None:
    assert {"p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge", "trn2.48xlarge"} <= set(EFA_TYPES)
