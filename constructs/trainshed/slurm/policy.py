"""The whole Slurm policy of a cluster as one record, complete or over a preset."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..faults import refuse
from ..records import OnChange, Record
from .keys import fault_at
from .presets import PRESETS
from .records import Account, Partition, Qos, User
from .references import reference_faults
from .scheduler import Scheduler
from .texts import PartitionName, SlurmName, UserName

PresetName = Literal["kait-seed", "kait-hardened"]


class SlurmPolicy(Record):
    """Partitions, limits, accounts, users and scheduling of one cluster.

    With ``preset``, every value that is not given here is the preset's; an entry set to null
    leaves the preset's entry out. Loading works that out at once: a loaded policy holds every
    value itself, and its ``preset`` is None. Lists replace the preset's lists.

    Raises:
        FaultsError: A name refers to nothing, or two values exclude each other; all at once.
    """

    preset: Annotated[PresetName | None, OnChange.LIVE] = None
    """Preset whose values hold where this record is silent. Default: none."""
    partitions: Annotated[dict[PartitionName, Partition], OnChange.LIVE] = Field(
        default_factory=dict
    )
    """Partitions by name."""
    qos: Annotated[dict[SlurmName, Qos], OnChange.LIVE] = Field(default_factory=dict)
    """Qualities of service by name."""
    accounts: Annotated[dict[SlurmName, Account], OnChange.LIVE] = Field(default_factory=dict)
    """Accounts by name."""
    users: Annotated[dict[UserName, User], OnChange.LIVE] = Field(default_factory=dict)
    """Users by Unix name. Who never was here cannot run a job; who leaves can, until
    ``slurm_accounts.py apply --delete`` on the head node.
    """
    scheduler: Annotated[Scheduler, OnChange.LIVE] = Scheduler()
    """What is one value for the whole cluster."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Let entries be null, which leaves the preset's out, and name a part of them only."""
        reference = handler(core_schema)
        entries = handler.resolve_ref_schema(reference)["properties"]
        for name in ("partitions", "qos", "accounts"):
            entry = entries[name]["additionalProperties"]
            entries[name]["additionalProperties"] = {"anyOf": [entry, {"type": "null"}]}
            handler.resolve_ref_schema(entry).pop("required", None)
        return reference

    @model_validator(mode="before")
    @classmethod
    def _over_preset(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        values = _plain(given)
        preset = values.pop("preset", None)
        if preset is None:
            return values
        if not isinstance(preset, str) or preset not in PRESETS:
            known = ", ".join(sorted(PRESETS))
            raise ValueError(f"preset is {given['preset']!r}; use one of {known}")
        return _merged(PRESETS[preset], values)

    @model_validator(mode="after")
    def _refers_to_what_exists(self) -> Self:
        refuse(fault_at(self, text) for text in reference_faults(self))
        return self


def _plain(value: Any) -> Any:
    """Turn records into mappings and lists into the tuples that strict records take."""
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(exclude_unset=True))
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    return value


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = {key: _plain(value) for key, value in base.items()}
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = _merged(result[key], value)
        elif value is None and isinstance(result.get(key), Mapping):
            del result[key]
        else:
            result[key] = value
    return result
