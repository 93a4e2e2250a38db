from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["launch", "subnets"])
def test_launch_modules_load_first_and_without_the_cdk(module: str) -> None:
    code = (
        f"import trainshed.{module}, trainshed.config, sys; "
        "print({'aws_cdk', 'jsii', 'boto3'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "set()"), done.stderr
