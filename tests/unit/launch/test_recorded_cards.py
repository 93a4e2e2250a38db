"""Interface layouts against EC2's own answers, as moto keeps them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import moto
import pytest

from trainshed import facts
from trainshed.launch import EfaStyle, efa_interfaces


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    path = Path(moto.__file__).parent / "ec2/resources/instance_types.json.gz"
    answers: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return answers


@pytest.mark.parametrize("style", ["efa-only", "efa"])
def test_every_card_takes_the_interfaces_that_are_put_on_it(
    recorded: dict[str, Any], style: EfaStyle
) -> None:
    compared = 0
    for name, instance_type in facts.INSTANCE_TYPES.items():
        if name not in recorded or not instance_type.has_efa:
            continue
        network = recorded[name]["NetworkInfo"]
        cards = {card["NetworkCardIndex"]: card for card in network["NetworkCards"]}
        layout = efa_interfaces(instance_type, style=style)
        for interface in layout:
            card = cards[interface.network_card_index]
            assert interface.interface_type in card["InterfaceTypes"], name
            assert interface.device_index < card["MaximumNetworkInterfaces"], name
        efas = sum(interface.has_efa for interface in layout)
        assert efas == network["EfaInfo"]["MaximumEfaInterfaces"], name
        compared += 1
    assert compared > 20
