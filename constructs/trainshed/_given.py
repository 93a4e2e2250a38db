"""Arguments of the wrong kind, refused in words instead of by the first attribute they lack."""

from __future__ import annotations

from collections.abc import Mapping

from .records import Record


def check_record(name: str, value: object, record: type[Record]) -> None:
    """Refuse what is not the record that a construct takes, such as the mapping it is made of.

    Args:
        name: Name of the argument.
        value: What was given for it.
        record: The record of ``trainshed.config`` that it has to be.

    Raises:
        ValueError: It is something else.
    """
    if isinstance(value, record):
        return
    made = f"trainshed.config.{record.__name__}"
    use = f"{made}(**{name})" if isinstance(value, dict) and name.isidentifier() else f"{made}(...)"
    raise ValueError(f"{name} is a {type(value).__name__}; use {use}")


def check_records(name: str, values: Mapping[str, object], record: type[Record]) -> None:
    """Refuse a mapping that holds anything but records.

    Raises:
        ValueError: One of them is something else.
    """
    for key, value in values.items():
        check_record(f"{name}[{key!r}]", value, record)
