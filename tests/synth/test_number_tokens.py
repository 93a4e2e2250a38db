"""Numbers that are known only at deploy time."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest

from trainshed.config import Lustre, OnDemand, Queue
from trainshed.records import Record

WORDS = (
    "a number that is known only at deploy time, and numbers are checked at synth; "
    "write the number itself"
)


@pytest.mark.parametrize(
    ("record", "given", "names"),
    [
        pytest.param(Lustre, {"capacity_gib": 0}, "capacity_gib", id="capacity"),
        pytest.param(
            Queue,
            {
                "instance_type": "p5.48xlarge",
                "max_nodes": 0,
                "min_nodes": 0,
                "capacity": OnDemand(),
            },
            "max_nodes and min_nodes",
            id="nodes",
        ),
    ],
)
def test_a_number_that_is_known_at_deploy_time_is_refused_in_words(
    record: type[Record], given: dict[str, Any], names: str
) -> None:
    token = cdk.Token.as_number({"Ref": "Parameter"})
    given = {key: token if value == 0 else value for key, value in given.items()}
    with pytest.raises(ValueError) as refused:
        record(**given)
    assert str(refused.value) == f"{names}: {WORDS}"
