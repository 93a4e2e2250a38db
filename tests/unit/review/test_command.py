"""``trainshed review``: what it prints, what it writes and how it ends."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.review.assemblies import FOUNDATION, KAIT, Stacks, kait, of_type, write
from trainshed.cli import _in_words as in_words
from trainshed.cli.review import add_arguments, run


def call(*arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args([str(each) for each in arguments]))


def open_ssh(stacks: Stacks) -> None:
    rule = {"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
    group = of_type(stacks[FOUNDATION], "AWS::EC2::SecurityGroup", "Egress")
    group["Properties"]["SecurityGroupIngress"] = [rule]


@pytest.fixture
def assemblies(tmp_path: Path) -> Sequence[Path]:
    """KAIT as it is, and with port 22 open to the world."""
    head = kait()
    open_ssh(head)
    return write(tmp_path / "base", kait()), write(tmp_path / "head", head)


def test_an_unchanged_institution_is_one_line(
    assemblies: Sequence[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(assemblies[0], assemblies[0]) == 0
    assert capsys.readouterr().out == "**kait**: nothing changes.\n"


def test_what_is_stopped_ends_with_2_a_sentence_and_the_way_out(
    assemblies: Sequence[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*assemblies) == 2
    place = "kait-foundation/NetworkEgressSecurityGroupC2F89228"
    assert capsys.readouterr().err == (
        f"stopped: {place}: Port 22 opens to the whole internet: tcp 22 from the whole internet, "
        f"0.0.0.0/0.\n  if it is meant: --accept 'open-ssh:{place}'\n"
    )


def test_what_is_acknowledged_passes_and_is_on_record(
    assemblies: Sequence[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*assemblies, "--accept", "open-ssh") == 0
    shown = capsys.readouterr()
    assert "Acknowledged, `open-ssh` at" in shown.out
    assert shown.err == ""


def test_an_acknowledgement_that_nothing_needs_is_told(
    assemblies: Sequence[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(assemblies[0], assemblies[0], "--accept", "lose-data") == 0
    assert capsys.readouterr().err == "--accept lose-data: nothing here needs it\n"


def test_files_are_written_and_the_verdict_is_printed(
    assemblies: Sequence[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comment, page, cost = (tmp_path / name for name in ("review.md", "review.html", "cost.md"))
    picture = tmp_path / "kait.svg"
    cost.write_text("12,000 USD")
    picture.write_text('<?xml version="1.0"?><svg role="img" aria-label="KAIT"></svg>')
    arguments = ["--section", f"kait:Cost={cost}", "--section", f"other:Cost={picture}"]
    arguments += ["--picture", f"kait={picture}", "--markdown", str(comment), "--html", str(page)]
    assert call(*assemblies, *arguments) == 2
    assert capsys.readouterr().out == ("kait: live. Applied while jobs run; no node is touched.\n")
    assert "### Cost\n\n12,000 USD" in comment.read_text()
    assert '<svg role="img" aria-label="KAIT"></svg>' in page.read_text()
    assert "<?xml" not in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "nowhere"], "nowhere is no assembly and no institution file"),
        ([KAIT, KAIT, "--section", "cost.md"], "--section is 'cost.md'; write Cost=cost.md"),
    ],
    ids=["no assembly", "no title"],
)
def test_what_cannot_be_read_ends_with_1(
    arguments: Sequence[str | Path], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["--picture", "gone.svg"], "gone.svg"),
        (["--section", "Cost=nope.md"], "nope.md"),
        (["--html", "nowhere/page.html"], "nowhere/page.html"),
        (["--markdown", "nowhere/page.md"], "nowhere/page.md"),
    ],
    ids=["no picture", "no section", "no folder of a page", "no folder of a comment"],
)
def test_a_path_that_is_not_there_is_told_as_every_command_does(
    arguments: Sequence[str], place: str
) -> None:
    with pytest.raises(FileNotFoundError) as refused:
        call(KAIT, KAIT, *arguments)
    assert in_words(refused.value) == (
        f"trainshed: {place} cannot be written or read: No such file or directory; use another"
    )


def test_a_section_that_is_no_text_names_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cost = tmp_path / "cost.md"
    cost.write_bytes(b"\xff")
    assert call(KAIT, KAIT, "--section", f"Cost={cost}") == 1
    shown = capsys.readouterr().err
    assert shown.startswith(f"{cost} is no text: ") and shown.endswith("; use another\n")


def test_a_faulty_file_tells_its_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kait.yaml"
    path.write_text(KAIT.read_text().replace("230400", "1300"))
    assert call(KAIT, path) == 1
    assert f"{path}:" in capsys.readouterr().err
