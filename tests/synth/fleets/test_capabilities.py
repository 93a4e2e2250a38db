"""What each backend can do, and how an impossible wish is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trainshed.fleets.fleet import CAPABILITIES, Backend, Capability, require


def test_every_backend_has_a_row() -> None:
    assert set(CAPABILITIES) == set(Backend)


def test_every_capability_is_somebodys() -> None:
    assert frozenset().union(*CAPABILITIES.values()) == set(Capability)


def test_a_possible_wish_passes() -> None:
    require("parallelcluster", Capability.LOGIN_NODES, key="login_nodes")


@pytest.mark.parametrize(
    ("backend", "capability", "message"),
    [
        (
            "parallelcluster",
            Capability.OWN_PROLOG_AND_EPILOG,
            "slurm.prolog asks for Prolog and Epilog of your own in slurm.conf, which "
            "parallelcluster has not; backend slurm has it, or leave the key out",
        ),
        (
            "slurm",
            Capability.SCALE_TO_ZERO,
            "slurm.prolog asks for nodes that come with jobs and go when idle, which slurm has "
            "not; backend parallelcluster has it, or leave the key out",
        ),
    ],
    ids=["parallelcluster", "slurm"],
)
def test_an_impossible_wish_names_the_backends_that_can(
    backend: str, capability: Capability, message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        require(backend, capability, key="slurm.prolog")
    assert str(caught.value) == message


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="'pbs' is not a valid Backend"):
        require("pbs", Capability.LOGIN_NODES, key="login_nodes")


def test_the_table_is_read_without_the_cdk() -> None:
    code = "import sys; import trainshed.fleets.fleet; print('aws_cdk' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "False\n"
