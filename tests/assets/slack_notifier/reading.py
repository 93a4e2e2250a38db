"""What somebody who reads the channels saw."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.assets.slack_notifier.conftest import Notifications

NAME = re.compile(r"Something about (a\d+)\b")
_MOMENT = re.compile(r"<!date\^(\d+)\^")


def entries(posts: list[dict[str, Any]]) -> Iterator[tuple[str, set[int]]]:
    """Yield alarm and moments for each entry that a reader saw, in order."""
    for post in posts:
        parts = post["blocks"][1:] if "alerts: " in post["text"] else [post]
        for part in parts:
            text = json.dumps(part, ensure_ascii=False)
            if name := NAME.search(text):
                yield name[1], {int(moment) for moment in _MOMENT.findall(text)}


def shown_moments(notifications: Notifications) -> dict[str, list[set[int]]]:
    """Return the moments of each alarm's entries, in order."""
    shown: dict[str, list[set[int]]] = defaultdict(list)
    for name, moments in entries(notifications.slack.posts):
        shown[name].append(moments)
    return shown


def lost(notifications: Notifications, sent: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return what was sent and is in no entry."""
    shown = shown_moments(notifications)
    return {(name, moment) for name, moment in sent if moment not in set().union(*shown[name])}
