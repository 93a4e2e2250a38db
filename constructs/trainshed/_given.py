"""Arguments of the wrong kind, refused in words instead of by the first attribute they lack."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .config.explain import reason_of
from .records import Record, is_number_token, is_token


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


def check_present(**arguments: object) -> None:
    """Refuse None for what a construct stands on, such as a lookup that found nothing.

    Args:
        arguments: What was given, by the names of the arguments.

    Raises:
        ValueError: One is None; the message names all that are.
    """
    missing = [name for name, value in arguments.items() if value is None]
    if missing:
        be, whose, use = ("are", "their", "them") if len(missing) > 1 else ("is", "its", "one")
        raise ValueError(
            f"{' and '.join(missing)} {be} None, and none is made in {whose} place; pass {use}"
        )


def check_all_present(**arguments: object) -> None:
    """Refuse None for a list or a mapping, and for anything in one.

    Args:
        arguments: What was given, by the names of the arguments. What can be read once is left as
            it is, and so is a text.

    Raises:
        ValueError: One is None, or has one; the message names it.
    """
    check_present(**arguments)
    for name, values in arguments.items():
        if isinstance(values, Mapping):
            check_present(**{f"{name}[{key!r}]": value for key, value in values.items()})
        elif isinstance(values, Collection) and not isinstance(values, str):
            check_present(**{f"{name}[{key}]": value for key, value in enumerate(values)})


def check_records(name: str, values: Mapping[str, object], record: type[Record]) -> None:
    """Refuse a mapping that holds anything but records.

    Raises:
        ValueError: One of them is something else.
    """
    for key, value in values.items():
        check_record(f"{name}[{key!r}]", value, record)


def check_value(name: str, value: object, kind: Any) -> None:
    """Refuse a value that the institution file would refuse for the same key; tokens pass.

    Args:
        name: Name of the argument.
        value: What was given for it.
        kind: Annotated type of the key.

    Raises:
        ValueError: It is none of those values.
    """
    if is_token(value) or is_number_token(value):
        return
    try:
        _adapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        raise ValueError(f"{name}: {reason_of(error)}") from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
