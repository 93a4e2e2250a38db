"""User data: four values in trainshed's own script, well below what EC2 takes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from trainshed.fleets.slurm_user_data import MARGIN_BYTES, MOST_BYTES, rendered

TEXT = "#!/bin/bash\nA='@CLUSTER@' B='@REGION@' C='@ROLE@' D='@QUEUE@'\n"
VALUES = {"cluster": "lab", "region": "us-east-2", "role": "compute", "queue": "train"}

Build = Callable[..., Any]


def texts(made: Any) -> list[str]:
    templates = made.of_type("AWS::EC2::LaunchTemplate").values()
    data = [each["Properties"]["LaunchTemplateData"] for each in templates]
    head = made.properties("AWS::EC2::Instance")
    found = [each["UserData"]["Fn::Base64"] for each in (*data, head) if "UserData" in each]
    assert len(found) == 2
    return [str(text) for text in found]


def test_it_is_below_what_ec2_takes_with_a_margin(plain: Any) -> None:
    sizes = [len(text.encode()) for text in texts(plain)]
    assert max(sizes) < MOST_BYTES - MARGIN_BYTES
    assert min(sizes) > 1000


def test_each_role_has_its_own(plain: Any) -> None:
    compute, head = texts(plain)
    assert "CLUSTER='lab' REGION='us-east-2' ROLE='compute' QUEUE='train'" in compute
    assert "CLUSTER='lab' REGION='us-east-2' ROLE='head' QUEUE=''" in head


def test_it_is_a_script_that_bash_reads(plain: Any) -> None:
    for text in texts(plain):
        done = subprocess.run(
            ["/bin/bash", "-n"], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_every_value_is_put_in_its_place() -> None:
    assert rendered(TEXT, **VALUES) == (
        "#!/bin/bash\nA='lab' B='us-east-2' C='compute' D='train'\n"
    )


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (TEXT.replace("@QUEUE@", ""), "CLUSTER, REGION, ROLE"),
        (TEXT + "@QUEUE@", "CLUSTER, QUEUE, QUEUE, REGION, ROLE"),
        (TEXT + "@NAME@", "CLUSTER, NAME, QUEUE, REGION, ROLE"),
    ],
    ids=["missing", "twice", "unknown"],
)
def test_a_script_with_other_places_is_refused(text: str, places: str) -> None:
    with pytest.raises(ValueError, match="the bootstrap script has the places") as refused:
        rendered(text, **VALUES)
    assert str(refused.value) == (
        f"the bootstrap script has the places {places}; write each of CLUSTER, QUEUE, REGION, ROLE "
        "once"
    )


def test_a_script_that_is_too_long_is_refused() -> None:
    long = TEXT + "#" * 15_000
    size = len(rendered(TEXT, **VALUES)) + 15_000
    with pytest.raises(ValueError, match="the user data has") as refused:
        rendered(long, **VALUES)
    assert str(refused.value) == (
        f"the user data has {size} bytes, above 14336; EC2 takes 16384: move some of it to a "
        "script that the node fetches"
    )
