"""Names of a file as construct ids."""

from __future__ import annotations


def construct_words(name: str) -> str:
    """Return a name with dashes as words without: ``TrainH200`` for ``train-h200``."""
    return "".join(word.capitalize() for word in name.split("-"))
