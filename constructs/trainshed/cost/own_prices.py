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
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..config.explain import explain
from ..config.faults import Fault, dotted
from ..config.load import ConfigError
from ..config.yaml_source import YamlError, YamlSource
from .amounts import Range
from .prices import ANYWHERE, Price


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


class OwnPrice(BaseModel):
    """A price that counts before the public one."""

    model_config = _CONFIG

    what: str
    """What it is for, as the table calls it: ``ec2:p5en.48xlarge``."""
    usd: Amount
    """US dollars a unit."""
    source: str
    """Where the price is from; it stands beside the item."""
    unit: str = "hour"
    """What one is."""
    regions: tuple[str, ...] = (ANYWHERE,)
    """Where it holds. Default: everywhere."""

    def price(self) -> Price:
        """Return it as the table has prices."""
        return Price(self.what, self.unit, self.usd, self.regions, self.source)


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
        faults = list(source.faults)
    except ValidationError as error:
        faults = [*source.faults, *explain(error, source.data, OwnPrices)]
    if faults:
        raise ConfigError("\n".join(_lines(source, faults)))
    return own


def _lines(source: YamlSource, faults: list[Fault]) -> Iterator[str]:
    placed: list[tuple[int, Any]] = sorted((source.line(f.key_path), f) for f in faults)
    for line, fault in placed:
        at = f"{dotted(fault.key_path)}: " if fault.key_path else ""
        yield f"{source.path}:{line}: {at}{fault.reason}"
