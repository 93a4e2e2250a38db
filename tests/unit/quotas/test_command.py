from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from trainshed.cli import quotas

ROOT = Path(__file__).parents[3]


def _run(file: Path) -> int:
    parser = argparse.ArgumentParser()
    quotas.add_arguments(parser)
    return quotas.run(parser.parse_args([str(file)]))


def test_it_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(ROOT / "institutions" / "kait.yaml") == 0
    assert capsys.readouterr().out.startswith("### Quotas in ap-northeast-2\n")


def test_a_faulty_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.yaml").write_text("nme: bad\n")
    assert _run(tmp_path / "bad.yaml") == 1
    assert "bad.yaml:1: nme: unknown key" in capsys.readouterr().err
