"""The rows for a real account (`make test-aws`) run against the emulator in AWS's place."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.deploy import account
from tests.deploy.emulator.process import ACCOUNT, REGION, ROOT, Emulator

_FIXED = ("PYTEST_", "TRAINSHED_")


def test_the_rows_for_a_real_account_pass_and_name_what_was_retained(emulator: Emulator) -> None:
    environment = {
        **{k: v for k, v in emulator.environment().items() if not k.startswith(_FIXED)},
        "TRAINSHED_AWS_ACCOUNT": ACCOUNT,
        "TRAINSHED_AWS_REGION": REGION,
        "TRAINSHED_AWS_ZONE": f"{REGION}b",
    }
    rows = ["tests/deploy/test_on_aws.py", "-m", "aws", "-rA", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *rows],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
    # The file system, by its logical id.
    assert re.search(r"paid for until it is deleted: .*'Storage[0-9A-F]{8}'", done.stdout)
    assert not account.exists(emulator, "trainshed-test-foundation")
