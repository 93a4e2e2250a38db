"""The base of every record that an institution file and Python code write alike."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema


class OnChange(StrEnum):
    """What changing a field does to a running cluster. Every field of every record carries one.

    ``Annotated[int, OnChange.REPLACES_NODES]``; the JSON schema shows it as ``x-on-change``.
    """

    LIVE = "live"
    """Applied while jobs run; no node is touched."""
    DRAINS_NODES = "drains nodes"
    """Nodes finish their jobs, then come back with the new setting."""
    STOPS_FLEET = "stops the fleet"
    """The compute fleet has to be stopped first; running jobs end."""
    REPLACES_NODES = "replaces nodes"
    """Nodes are terminated and made again; what is on their disks is lost."""
    REPLACES_DATA = "replaces data"
    """A new, empty file system or bucket is made; the old one is retained and no longer used."""
    REFUSED = "refused"
    """AWS cannot change it in place: a new cluster beside the old one, on the same data."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler(core_schema)
        schema["x-on-change"] = self.value
        return schema


class Record(BaseModel):
    """A frozen record that refuses unknown keys and silent conversions.

    The text below a field is its description, in the reference page and in editors; the schema
    reads it from the source, since pydantic would at each start.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def is_token(value: object) -> bool:
    """Tell whether a text is a CDK token, a value that is known only at deploy time."""
    return isinstance(value, str) and "${Token[" in value
