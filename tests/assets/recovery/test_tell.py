"""How the head node tells people: by a topic that is in its document, or in a parameter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assets.node.keeper.recovery import loop
from assets.node.keeper.slurm import SlurmError

TOPIC = "arn:aws:sns:us-east-2:111122223333:alerts"
NAMED = {"region": "us-east-2", "alarm_topic_parameter": "/trainshed/kait/alarm-topic"}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was run; Parameter Store knows the topic."""
    lines: list[str] = []

    def run(command: Sequence[str], text: str = "") -> str:
        lines.append(" ".join(command))
        return f"{TOPIC}\n" if "get-parameter" in command else ""

    monkeypatch.setattr(loop, "run", run)
    return lines


def test_a_topic_of_the_document_is_published_to(ran: list[str]) -> None:
    loop.teller({"region": "us-east-2", "alarm_topic_arn": TOPIC})("Queue a", "is left")
    published = f"aws sns publish --region us-east-2 --topic-arn {TOPIC}"
    assert ran == [f"{published} --subject Queue a --message is left"]


def test_a_topic_of_a_parameter_is_read_each_time(ran: list[str]) -> None:
    tell = loop.teller(NAMED)
    assert ran == []
    tell("Queue a", "is left")
    assert ran[0].startswith(
        "aws ssm get-parameter --region us-east-2 --name /trainshed/kait/alarm-topic"
    )
    assert f"--topic-arn {TOPIC}" in ran[1]


def test_without_a_topic_the_journal_has_it(
    ran: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    loop.teller({"region": "us-east-2"})("Queue a", "is left")
    assert ran == []
    assert '"subject": "Queue a"' in capsys.readouterr().out


def test_a_parameter_that_cannot_be_read_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: Sequence[str], text: str = "") -> str:
        raise SlurmError("ParameterNotFound")

    monkeypatch.setattr(loop, "run", run)
    loop.teller(NAMED)("Queue a", "is left")
    assert "ParameterNotFound" in capsys.readouterr().out
