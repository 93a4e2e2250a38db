"""A creation and an update that fail are rolled back, say why, and leave the way open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy import account
from tests.deploy.cdk import CdkError, of
from tests.deploy.emulator.process import Emulator
from tests.deploy.institutions import small

# The stand-in of ParallelCluster makes a stack that fails for a cluster with this tag.
FAILS = {"stand-in:fails": "true"}
REASON = "HeadNode"


def test_a_failed_creation_leaves_the_foundation_and_no_cluster(
    emulator: Emulator, tmp_path: Path
) -> None:
    name = "stillborn"
    stacks = (f"{name}-foundation", f"{name}-cluster")
    cdk = of(emulator, tmp_path, small(name, tags=FAILS))
    with pytest.raises(CdkError, match=REASON):
        cdk.deploy()
    assert account.statuses(emulator, *stacks) == ["CREATE_COMPLETE", "ROLLBACK_COMPLETE"]
    assert not account.exists(emulator, name)
    of(emulator, tmp_path, small(name)).deploy()
    assert account.statuses(emulator, *stacks)[1] == "CREATE_COMPLETE"
    assert account.statuses(emulator, name) == ["CREATE_COMPLETE"]


def test_a_failed_update_leaves_the_cluster_as_it_was(emulator: Emulator, tmp_path: Path) -> None:
    name = "unlucky"
    of(emulator, tmp_path, small(name)).deploy()
    before = account.physical_ids(emulator, f"{name}-cluster")
    configuration = account.parameters(emulator, name)
    with pytest.raises(CdkError, match=REASON):
        of(emulator, tmp_path, small(name, tags=FAILS)).deploy()
    assert account.statuses(emulator, f"{name}-cluster") == ["UPDATE_ROLLBACK_COMPLETE"]
    assert account.statuses(emulator, name) == ["UPDATE_ROLLBACK_COMPLETE"]
    assert account.physical_ids(emulator, f"{name}-cluster") == before
    assert account.parameters(emulator, name) == configuration
    of(emulator, tmp_path, small(name, tags={"Team": "hpc"})).deploy()
    assert account.statuses(emulator, f"{name}-cluster") == ["UPDATE_COMPLETE"]
    assert account.statuses(emulator, name) == ["UPDATE_COMPLETE"]
