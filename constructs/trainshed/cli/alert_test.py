"""``trainshed alert-test``: one message of each kind through the real topic to Slack."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import boto3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the institution file")
    parser.add_argument(
        "--topic-arn", metavar="ARN", help="default: the output AlertTopicArn of the cluster stack"
    )


def run(options: argparse.Namespace) -> int:
    """Send the drill. Return 0, or 1 where there is no topic to send it to."""
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    from ..alerts import rehearsal
    from ..config import ConfigError, load

    try:
        institution = load(options.file)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    session = boto3.Session(region_name=institution.region)
    stack = f"{institution.name}-cluster"
    try:
        topic = options.topic_arn or _output(session, stack, "AlertTopicArn")
        if topic is None:
            print(f"{stack} has no alerts; add a section 'alerts' and deploy", file=sys.stderr)
            return 1
        _, region, _ = rehearsal.place_of(topic)
        sent = rehearsal.send(session.client("sns", region), topic, institution.name)
    except ValueError as error:
        print(f"alert-test: {error}", file=sys.stderr)
        return 1
    except (BotoCoreError, ClientError) as error:
        print(f"alert-test: {error}; credentials and Region of {stack}?", file=sys.stderr)
        return 1
    print(f"{sent} messages sent to {topic}; they reach Slack within a minute, marked DRILL")
    return 0


def _output(session: boto3.Session, stack: str, key: str) -> str | None:
    (found,) = session.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    outputs = {o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", [])}
    return outputs.get(key)
