from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from trainshed.cli import picture

ROOT = Path(__file__).parents[3]
KAIT = str(ROOT / "institutions" / "kait.yaml")


def _run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    picture.add_arguments(parser)
    return picture.run(parser.parse_args(arguments))


def test_it_prints_the_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(KAIT) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "kait.svg").read_text()


def test_it_writes_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "kait.svg"
    assert _run(KAIT, "--out", str(out)) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert out.read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')


def test_a_faulty_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.yaml").write_text("nme: bad\n")
    assert _run(str(tmp_path / "bad.yaml")) == 1
    assert "bad.yaml:1: nme: unknown key" in capsys.readouterr().err
