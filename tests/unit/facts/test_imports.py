from __future__ import annotations

import subprocess
import sys

HEAVY = {"aws_cdk", "boto3", "botocore", "jsii", "moto", "pydantic", "yaml"}


def test_facts_import_nothing_but_the_standard_library() -> None:
    program = "import sys, trainshed.facts; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert "trainshed.facts.lustre" in modules
    assert HEAVY.isdisjoint(modules)
