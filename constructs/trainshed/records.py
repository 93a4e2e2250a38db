"""The base of every record that an institution file and Python code write alike.

Modules of records are the only ones without ``from __future__ import annotations``, which makes
texts of the fields' types: pydantic would compile each of them again at every start.
"""

import re
import struct
from enum import StrEnum
from typing import Any, Self

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

    # Not a validator: one before the fields would take strictness for JSON from all of them.
    def __new__(cls, **given: Any) -> Self:
        """Refuse numbers that are CDK tokens, which pydantic would quote as -1.88e+289."""
        unknown = [name for name, value in given.items() if is_number_token(value)]
        if unknown:
            raise ValueError(
                f"{' and '.join(unknown)}: a number that is known only at deploy time, and "
                "numbers are checked at synth; write the number itself"
            )
        return super().__new__(cls)


def is_number_token(value: object) -> bool:
    """Tell whether a number is a CDK token, a value that is known only at deploy time."""
    # aws-cdk-lib 2.262, core/lib/private/encoding.js: the first two bytes of such a double.
    return isinstance(value, float) and struct.pack(">d", value).startswith(b"\xfb\xff")


# aws-cdk-lib 2.275, Stack.availability_zones, Vpc.from_lookup and MachineImage.lookup: what stands
# in for the answers until the command line has asked AWS and synthesises once more.
_STAND_INS = frozenset(
    {
        *("dummy1a", "dummy1b", "dummy1c", "1.2.3.4/5", "vpc-12345"),
        *("p-12345", "p-67890", "s-12345", "s-67890", "ami-1234"),
    }
)
# The same for StringParameter.value_from_lookup.
_OF_A_PARAMETER = re.compile(r"dummy-value-for-[A-Za-z0-9/._-]+")


def is_stand_in(value: str) -> bool:
    """Tell whether a text stands in for a lookup that was not made yet."""
    return value in _STAND_INS or _OF_A_PARAMETER.fullmatch(value) is not None


def is_token(value: object) -> bool:
    """Tell whether a text is a CDK token, a value that is known only at deploy time."""
    return isinstance(value, str) and "${Token[" in value
