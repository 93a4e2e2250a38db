"""From an alarm to a message in Slack: SNS, SQS, the notifier's own zip and Slack's protocol."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.assets.slack_notifier.slack_server import Message, SlackServer
from tests.deploy import account
from tests.deploy.cdk import of
from tests.deploy.emulator.process import Emulator
from tests.deploy.institutions import alerts, small
from tests.waiting import wait_until


@dataclass
class Watched:
    """A cluster with alerts, and where they arrive."""

    emulator: Emulator
    slack: SlackServer
    topic: str
    file: Path

    def alarm(self, ending: str) -> str:
        """Return the name of the alarm of the stack whose logical id begins so."""
        ids = account.physical_ids(self.emulator, "alerted-cluster")
        return next(id for logical, id in ids.items() if logical.startswith(ending))

    def message(self, text: str) -> Message:
        """Wait for the message with a text."""

        def look() -> Message | None:
            return next((each for each in self.slack.messages if text in each.text), None)

        return wait_until(look, f"a message with {text!r} in {self.slack.text()}")


@pytest.fixture(scope="module")
def watched(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    work = tmp_path_factory.mktemp("alerted")
    with SlackServer() as slack:
        secret = emulator.client("secretsmanager").create_secret(
            Name="alerted/slack", SecretString=slack.api_secret()
        )
        of(emulator, work, small("alerted", alerts=alerts(secret["ARN"]))).deploy()
        topic = account.outputs(emulator, "alerted-cluster")["AlertTopicArn"]
        yield Watched(emulator, slack, topic, work / "institutions" / "alerted.yaml")


def test_an_alarm_becomes_a_message_and_its_end_mends_it(watched: Watched) -> None:
    name = watched.alarm("AlertsFsxDiskFull")
    client = watched.emulator.client("cloudwatch")
    client.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="90 of 90 percent")
    message = watched.message("alerted")
    assert message.channel.startswith("C0")
    before = message.updates
    client.set_alarm_state(AlarmName=name, StateValue="OK", StateReason="10 percent")
    wait_until(lambda: message.updates > before, "the message to be mended")


def test_a_drill_of_the_cli_arrives(watched: Watched) -> None:
    done = subprocess.run(
        ["trainshed", "alert-test", str(watched.file)],
        env=watched.emulator.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"messages sent to {watched.topic}" in done.stdout
    wait_until(lambda: shown(watched.slack) >= DRILLED or None, "a message of each kind", 120)


DRILLED = {
    "a critical alarm",
    "a composite alarm",
    "a budget",
    "a plain text",
    "JSON of an unknown",
}


def shown(slack: SlackServer) -> set[str]:
    """Return what of the drill is to be seen, in messages of its own or of several."""
    return {what for what in DRILLED if f"DRILL: {what}" in slack.text()}
