from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainshed.config import ConfigError
from trainshed.cost import PRICES, Range, read_own_prices

DOC = Path(__file__).parents[3] / "docs" / "cost.md"


def _write(folder: Path, text: str) -> Path:
    path = folder / "prices.yaml"
    path.write_text(text)
    return path


def test_the_file_in_the_documentation_is_read(tmp_path: Path) -> None:
    text = re.findall(r"```yaml\n(.*?)```", DOC.read_text(), re.DOTALL)[0]
    own = read_own_prices(_write(tmp_path, text))
    assert own.prices[0].usd == Range.of("41.2")
    assert own.prices[1].unit == "GB-month"
    assert own.assumptions.busy_hours == Range.of(300, 500)


def test_json_is_read_too(tmp_path: Path) -> None:
    own = read_own_prices(_write(tmp_path, '{"assumptions": {"bucket_gib": 5.5}}'))
    assert own.assumptions.bucket_gib == Range.of("5.5")


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert read_own_prices(_write(tmp_path, "")).prices == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "assumptions:\n  busy_hour: 3\n",
            "2: assumptions.busy_hour: unknown key; did you mean 'busy_hours'?",
        ),
        (
            "prices:\n- {what: ec2:p5.48xlarge, usd: [1, 2, 3], source: us}\n",
            "2: prices[0].usd: [1, 2, 3] is not an amount; write 12.5, or [10, 15]",
        ),
        (
            "assumptions:\n  alarms: [9, 1]\n",
            "2: assumptions.alarms: a range goes upwards from 0 or more, got 9 to 1",
        ),
        ("prices:\n- {what: nat:hour, usd: 1}\n", "2: prices[0].source: required, but not given"),
        ("assumptions:\n  nat_gb: true\n", "2: assumptions.nat_gb: true is not an amount; "),
        (
            "prices:\n- {what: ec2:p5en.48xlargee, usd: 1, source: us}\n",
            "2: prices[0].what: nothing is priced as 'ec2:p5en.48xlargee'; "
            "did you mean 'ec2:p5en.48xlarge'?",
        ),
        (
            "prices:\n- {what: nat:hours, usd: 1, source: us}\n",
            "2: prices[0].what: nothing is priced as 'nat:hours'; did you mean 'nat:hour'?",
        ),
        (
            "prices:\n- {what: 'fsx:persistent_2:ssd:125', usd: 1, unit: hour, source: us}\n",
            "2: prices[0].unit: fsx:persistent_2:ssd:125 is counted by GB-month, not by hour",
        ),
        (
            "assumptions:\n  busy_hours: [300, 900]\n",
            "2: assumptions.busy_hours: 900 hours are more than the 730 of a month",
        ),
        (
            "assumptions:\n  spot_share: 30\n",
            "2: assumptions.spot_share: 30 is a share of the On-Demand price; 1 at most",
        ),
    ],
    ids=[
        *("key", "amount", "downwards", "missing", "boolean"),
        *("no type", "no name", "another unit", "hours", "share"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, reason: str, tmp_path: Path) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(ConfigError, match=re.escape(f"{path}:{reason}")):
        read_own_prices(path)


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"prices\.yaml"):
        read_own_prices(_write(tmp_path, "a: [1"))


@pytest.mark.parametrize(
    ("what", "unit"),
    [
        ("ec2:p9.48xlarge", "hour"),
        ("ec2:m7i.*", "vCPU-hour"),
        ("capacity-block:p6-b300.48xlarge", "hour"),
        ("fsx:persistent_2:ssd:125", "GB-month"),
        ("ebs:gp3", "GB-month"),
    ],
)
def test_a_price_has_the_unit_that_its_item_is_counted_in(
    what: str, unit: str, tmp_path: Path
) -> None:
    text = f"prices:\n- {{what: '{what}', usd: 1, source: us}}\n"
    (price,) = read_own_prices(_write(tmp_path, text)).prices
    assert price.price().unit == unit


def test_every_name_of_the_table_can_be_written(tmp_path: Path) -> None:
    rows = {(price.what, price.unit) for price in PRICES.prices}
    text = "prices:\n" + "".join(
        f"- {{what: '{what}', unit: '{unit}', usd: 1, source: us}}\n" for what, unit in rows
    )
    assert len(read_own_prices(_write(tmp_path, text)).prices) == len(rows)
