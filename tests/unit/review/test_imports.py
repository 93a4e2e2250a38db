from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.review.assemblies import ROOT


@pytest.mark.parametrize("module", ["trainshed.review", "trainshed.cli.review"])
def test_a_review_imports_neither_the_cdk_nor_cfn_lint(module: str) -> None:
    heavy = {"aws_cdk", "jsii", "boto3", "botocore", "cfnlint"}
    code = f"import sys, {module}; print(sorted({heavy!r} & set(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert output.stdout == "[]\n"
