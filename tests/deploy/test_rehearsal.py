"""The rows for a real account (`make test-aws`) run against the emulator in AWS's place."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.deploy import account
from tests.deploy.emulator.process import ACCOUNT, REGION, ROOT, Emulator
from tests.sweep import SWEEP

_FIXED = ("PYTEST_", "TRAINSHED_")


def test_the_rows_for_a_real_account_pass_and_name_what_was_retained(emulator: Emulator) -> None:
    environment = {
        **{k: v for k, v in emulator.environment().items() if not k.startswith(_FIXED)},
        "HOME": str(Path.home()),
        "TRAINSHED_AWS_ACCOUNT": ACCOUNT,
        "TRAINSHED_AWS_REGION": REGION,
        "TRAINSHED_AWS_ZONE": f"{REGION}b",
    }
    before = account.inventory(emulator)
    # Twice in the sweep, since what the first retains is there when the second comes.
    for _ in range(2 if SWEEP else 1):
        done = subprocess.run(
            ["make", "-o", ".venv/.ready", "test-aws"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert "4 passed" in done.stdout
        told = done.stdout.partition("paid for until it is deleted:")[2]
        there = emulator.client("fsx").describe_file_systems()["FileSystems"]
        assert {f"AWS::FSx::FileSystem {each['FileSystemId']}" for each in there} & {
            line.strip() for line in told.splitlines()
        }
    left = {each.partition(" ")[0] for each in account.inventory(emulator) - before}
    assert left <= {"ec2", "fsx", "iam", "logs", "s3"}
