"""A file with prices and assumptions of your own, in YAML or JSON.

::

    prices:
      - what: ec2:p5en.48xlarge        # names as in trainshed.cost.price_data
        usd: 41.2                      # or [38, 45]: somewhere between
        source: our contract of 2026
    assumptions:
      bucket_gib: 50000
      busy_hours: [300, 500]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from ..config.explain import explain, nearest
from ..config.faults import Fault, dotted
from ..config.load import ConfigError
from ..config.yaml_source import YamlError, YamlSource
from .amounts import Range
from .estimate import HOURS_A_MONTH
from .prices import ANYWHERE, PRICES, Price


def _amount(value: object) -> object:
    """Take a number, or a list of the lowest and the highest one."""
    if isinstance(value, Range):
        return value
    numbers = value if isinstance(value, list) else [value]
    right = len(numbers) in (1, 2) and all(
        isinstance(n, int | float) and not isinstance(n, bool) for n in numbers
    )
    if not right:
        raise ValueError(f"{json.dumps(value)} is not an amount; write 12.5, or [10, 15]")
    return Range.of(*(Decimal(str(n)) for n in numbers))


Amount = Annotated[Range, BeforeValidator(_amount)]
_CONFIG = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Assumptions(BaseModel):
    """What a cluster uses in a month and its file does not say."""

    model_config = _CONFIG

    busy_hours: Amount = Range.of(0, 730)
    """Hours a month that each node above ``min_nodes`` runs."""
    spot_share: Amount = Range.of("0.15", 1)
    """Spot price as a share of the On-Demand price: catalogues of 2026 have 0.17 to 1."""
    bucket_gib: Amount | None = None
    """GiB in S3. Default: as much as the new file system holds."""
    nat_gb: Amount = Range.of(100, 1000)
    """GB a month through the NAT gateway: packages and images. S3 is reached past it."""
    endpoint_gb: Amount = Range.of(100, 1000)
    """GB a month through the interface endpoints of an isolated network."""
    logs_gb_per_node: Amount = Range.of("0.1", 2)
    """GB of logs a month from each node."""
    flow_logs_gb: Amount = Range.of(1, 20)
    """GB a month of the VPC's flow log."""
    alarms: Amount | None = None
    """CloudWatch alarms. Default: 4 to 8 of ParallelCluster, 13 to 20 more with alerts."""

    @field_validator("busy_hours")
    @classmethod
    def _within_a_month(cls, value: Range) -> Range:
        if value.high > HOURS_A_MONTH:
            raise ValueError(f"{value.high} hours are more than the {HOURS_A_MONTH} of a month")
        return value

    @field_validator("spot_share")
    @classmethod
    def _at_most_the_whole(cls, value: Range) -> Range:
        if value.high > 1:
            raise ValueError(f"{value.high} is a share of the On-Demand price; 1 at most")
        return value


# EC2 user guide "Instance type naming conventions", read 2026-11-29.
_TYPE = r"[a-z][a-z0-9-]*\.(nano|micro|small|medium|large|\d*xlarge|metal(-\d+xl)?)"
# What is named by a rule, with its unit; everything else is a name of the table.
_NAMES = {
    rf"ec2:{_TYPE}": "hour",
    r"ec2:[a-z][a-z0-9-]*\.\*": "vCPU-hour",
    rf"capacity-block:{_TYPE}": "hour",
    r"fsx:(scratch_[12]|persistent_[12]):(ssd|hdd):(\d+|\*)": "GB-month",
}


def _unit(what: str) -> str | None:
    """Return the unit of a price; None where nothing has this name."""
    by_rule = (unit for rule, unit in _NAMES.items() if re.fullmatch(rule, what))
    return next(by_rule, None) or next((p.unit for p in PRICES.prices if p.what == what), None)


class OwnPrice(BaseModel):
    """A price that counts before the public one."""

    model_config = _CONFIG

    what: str
    """What it is for, as the table calls it: ``ec2:p5en.48xlarge``."""
    usd: Amount
    """US dollars a unit."""
    source: str
    """Where the price is from; it stands beside the item."""
    unit: str = ""
    """What one is. Default: what it is in the table, and nothing else."""
    regions: tuple[str, ...] = (ANYWHERE,)
    """Where it holds. Default: everywhere."""

    def price(self) -> Price:
        """Return it as the table has prices."""
        return Price(self.what, _unit(self.what) or self.unit, self.usd, self.regions, self.source)


class OwnPrices(BaseModel):
    """The whole file."""

    model_config = _CONFIG

    prices: tuple[OwnPrice, ...] = ()
    """Prices that count before the public ones."""
    assumptions: Assumptions = Field(default_factory=Assumptions)
    """What a month is like."""


def read_own_prices(path: Path) -> OwnPrices:
    """Read a file with prices and assumptions.

    Raises:
        ConfigError: With every fault, a line each.
    """
    try:
        source = YamlSource.read(path)
    except YamlError as error:
        raise ConfigError(str(error)) from None
    try:
        own = OwnPrices.model_validate(source.data if source.data is not None else {})
        faults = [*source.faults, *_misnamed(own)]
    except ValidationError as error:
        faults = [*source.faults, *explain(error, source.data, OwnPrices)]
    if faults:
        raise ConfigError("\n".join(_lines(source, faults)))
    return own


def _misnamed(own: OwnPrices) -> Iterator[Fault]:
    """Yield prices that no item could ever have, or by another unit than it is counted in."""
    for at, price in enumerate(own.prices):
        unit = _unit(price.what)
        if unit is None:
            advice = nearest(price.what, sorted({each.what for each in PRICES.prices}))
            reason = f"nothing is priced as {price.what!r}{advice}"
            yield Fault.at("prices", at, "what", reason=reason)
        elif price.unit not in ("", unit):
            reason = f"{price.what} is counted by {unit}, not by {price.unit}"
            yield Fault.at("prices", at, "unit", reason=reason)


def _lines(source: YamlSource, faults: list[Fault]) -> Iterator[str]:
    placed: list[tuple[int, Any]] = sorted((source.line(f.key_path), f) for f in faults)
    for line, fault in placed:
        at = f"{dotted(fault.key_path)}: " if fault.key_path else ""
        yield f"{source.path}:{line}: {at}{fault.reason}"
