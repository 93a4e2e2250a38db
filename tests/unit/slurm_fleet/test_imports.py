"""The pure parts of the bare fleet load without the CDK."""

from __future__ import annotations

import subprocess
import sys


def test_the_cdk_is_not_imported() -> None:
    code = (
        "import sys, trainshed.slurm_fleet, trainshed.slurm_fleet.rules, trainshed.cli.checked\n"
        "print([name for name in ('aws_cdk', 'boto3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
