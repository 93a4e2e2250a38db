"""The file ``.metadata`` of a torch.distributed.checkpoint, read without torch.

It is a pickle. Nothing of it is run: what it names becomes an empty stand-in, and only what it
says of files is looked at (``_StorageInfo`` of torch/distributed/checkpoint/filesystem.py:
relative_path, offset, length; read 2026-11-29).
"""

from __future__ import annotations

import collections
import io
import pickle
from collections.abc import Iterator
from typing import Any

_HARMLESS: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
    ("builtins", "slice"): slice,
}


class _StandIn:
    """Whatever a pickle names; keeps what it was made of."""

    name = ""

    def __new__(cls, *_: object, **__: object) -> _StandIn:
        return super().__new__(cls)

    def __init__(self, *_: object, **__: object) -> None:
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        harmless = _HARMLESS.get((module_name, global_name))
        return harmless or type(global_name, (_StandIn,), {"name": global_name})

    def persistent_load(self, pid: Any) -> Any:
        return None


def needed_bytes(content: bytes) -> dict[str, int]:
    """Return the least size of each file that a checkpoint consists of.

    Args:
        content: Bytes of ``.metadata``.

    Raises:
        ValueError: It cannot be read, or names no file.
    """
    try:
        # The reader makes stand-ins only; nothing that the pickle names is imported or called.
        stored = list(_stored(_Reader(io.BytesIO(content)).load()))
    except Exception as error:  # A torn pickle fails in any way there is.
        raise ValueError(f".metadata cannot be read: {error!r}") from error
    sizes: dict[str, int] = {}
    for path, end in stored:
        sizes[path] = max(sizes.get(path, 0), end)
    if not sizes:
        raise ValueError(".metadata names no file")
    return sizes


def _stored(metadata: object) -> Iterator[tuple[str, int]]:
    """Return path and end of each piece."""
    state = getattr(metadata, "state", None)
    pieces = state.get("storage_data") if isinstance(state, dict) else None
    for piece in pieces.values() if isinstance(pieces, dict) else ():
        fields = getattr(piece, "state", None)
        if isinstance(fields, dict) and "relative_path" in fields:
            yield (
                str(fields["relative_path"]),
                int(fields.get("offset", 0)) + int(fields.get("length", 0)),
            )
