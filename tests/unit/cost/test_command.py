from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from trainshed.cli import cost

ROOT = Path(__file__).parents[3]
MINIMAL, FULL = (str(ROOT / "institutions" / f"{name}.yaml") for name in ("minimal", "full"))


def _run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    cost.add_arguments(parser)
    return cost.run(parser.parse_args(arguments))


def test_it_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(MINIMAL) == 0
    assert capsys.readouterr().out.startswith("### Cost of a month: minimal, us-east-1\n")


def test_it_prints_what_changes(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(FULL, "--before", MINIMAL) == 0
    assert capsys.readouterr().out.startswith("| Item | USD a month before | after |\n")


def test_it_takes_prices_of_your_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text("prices:\n- {what: ec2:m7i.2xlarge, usd: 2, source: our contract}\n")
    assert _run(MINIMAL, "--prices", str(own)) == 0
    assert "| Head node, m7i.2xlarge | 730 hours | 1,460 | yes | 1 |" in capsys.readouterr().out


@pytest.mark.parametrize("argument", ["file", "prices"])
def test_a_faulty_file_is_named(
    argument: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("nme: bad\n")
    assert (_run(str(bad)) if argument == "file" else _run(MINIMAL, "--prices", str(bad))) == 1
    assert f"{bad}:1: nme: unknown key" in capsys.readouterr().err
