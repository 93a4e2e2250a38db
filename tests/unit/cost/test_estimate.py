from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal

import pytest

from trainshed.config import Institution, OnDemand
from trainshed.cost import (
    PRICES,
    REGIONS,
    Difference,
    Estimate,
    Item,
    OwnPrice,
    OwnPrices,
    Range,
    cost_table,
    difference_table,
    monthly_cost,
)
from trainshed.network.endpoints import INTERFACE_ENDPOINTS as MADE_ENDPOINTS

Make = Callable[..., Institution]


def _item(estimate: Estimate, what: str) -> Item:
    found = [item for item in estimate.items if what in item.what]
    assert len(found) == 1, [item.what for item in estimate.items]
    return found[0]


@pytest.mark.parametrize("name", ["kait", "minimal", "full"])
def test_estimates_of_the_examples(
    name: str, example: Callable[[str], Institution], golden: Callable[[str, object], None]
) -> None:
    golden(f"cost/{name}.md", cost_table(monthly_cost(example(name))))


def test_pricing_does_not_import_the_cdk() -> None:
    code = (
        "import sys, trainshed.cost; print([m for m in ('aws_cdk', 'boto3') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_isolated_network_pays_for_its_endpoints(
    example: Callable[[str], Institution],
) -> None:
    estimate = monthly_cost(example("full"))
    item = _item(estimate, "Interface endpoints")
    assert item.quantity == Range.of(len(MADE_ENDPOINTS) * 730)
    assert not [item for item in estimate.items if "NAT" in item.what]


def test_a_node_that_comes_with_jobs_costs_from_nothing_to_all_the_month(institution: Make) -> None:
    item = _item(monthly_cost(institution()), "nodes while jobs run, queue gpu")
    assert item.usd == Range.of(0, Decimal("4.6016") * 2 * 730)
    assert not item.idle


def test_busy_hours_narrow_that_down(institution: Make) -> None:
    own = OwnPrices.model_validate({"assumptions": {"busy_hours": 200}})
    item = _item(monthly_cost(institution(), own), "nodes while jobs run, queue gpu")
    assert item.usd == Range.of(Decimal("4.6016") * 2 * 200)


def test_two_queues_on_one_reservation_pay_for_it_once(institution: Make) -> None:
    queues = """
    a: {instance_type: p5.48xlarge, max_nodes: 2, capacity: &r
        {kind: targeted_reservation, reservation_id: cr-0123456789abcdef0, nodes: 8}}
    b: {instance_type: p5.48xlarge, max_nodes: 3, capacity: *r}
    """
    item = _item(monthly_cost(institution(queues)), "Reservation of queue a, b, p5.48xlarge")
    assert item.quantity == Range.of(8 * 730)
    assert item.idle


def test_a_reservation_of_unknown_size_is_taken_as_large_as_its_queue(institution: Make) -> None:
    queues = """
    a: {instance_type: p5.48xlarge, max_nodes: 2, capacity:
        {kind: targeted_reservation, reservation_id: cr-0123456789abcdef0}}
    """
    item = _item(monthly_cost(institution(queues)), "Reservation")
    assert (item.quantity, item.assumed) == (Range.of(1460), "size not given, 2 nodes assumed")


def test_a_capacity_block_has_a_price_of_its_own(institution: Make) -> None:
    queues = """
    a: {instance_type: p5en.48xlarge, max_nodes: 4, capacity: {kind: capacity_block,
        reservation_id: cr-0123456789abcdef0, end: '2027-03-01T11:30:00Z'}}
    """
    item = _item(monthly_cost(institution(queues)), "Capacity Block of queue a")
    assert item.usd == Range.of("36.18", "41.61") * Range.of(4 * 730)
    assert item.assumed.endswith("charged at purchase, until 2027-03-01")


def test_what_is_offered_bounds_the_spot_price(institution: Make) -> None:
    queues = """
    a: {instance_type: g6.12xlarge, max_nodes: 1, min_nodes: 1,
        capacity: {kind: spot, max_price_usd_per_hour: 2.3008}}
    """
    item = _item(monthly_cost(institution(queues)), "Spot nodes that always run, queue a")
    assert item.usd == Range.of("0.15", "0.5") * Range.of(Decimal("4.6016") * 730)


@pytest.mark.parametrize(
    ("lustre", "what", "dollars"),
    [
        ("{capacity_gib: 2400, throughput_mb_s_per_tib: 1000}", "FSx for Lustre", 1440),
        ("{capacity_gib: 1200, deployment_type: scratch_2}", "FSx for Lustre", 168),
        (
            "{capacity_gib: 6000, deployment_type: persistent_1, storage_type: hdd, "
            "throughput_mb_s_per_tib: 12}",
            "FSx for Lustre",
            150,
        ),
        (
            "{capacity_gib: 1200, throughput_mb_s_per_tib: 125, metadata_iops: 3000}",
            "FSx metadata IOPS",
            82.5,
        ),
    ],
    ids=["persistent_2", "scratch", "hdd", "metadata"],
)
def test_file_systems_are_paid_by_size_and_throughput(
    lustre: str, what: str, dollars: float, institution: Make
) -> None:
    estimate = monthly_cost(institution(storage=f"lustre: {lustre}"))
    assert _item(estimate, what).usd == Range.of(str(dollars))


def test_what_has_no_price_is_listed_and_in_no_total(institution: Make) -> None:
    elsewhere = {"region": "sa-east-1", "network": {"zone": "sa-east-1a", "vpc": {}}}
    estimate = monthly_cost(institution(**elsewhere))
    assert estimate.total == Range.of(0)
    text = cost_table(estimate)
    assert (
        "- Head node, m7i.2xlarge: no price of ec2:m7i.2xlarge in sa-east-1; "
        "give one with --prices" in text
    )
    assert "NaN" not in text


def test_existing_parts_are_named_and_not_counted(institution: Make) -> None:
    existing = """
    existing: {file_system_id: fs-0123456789abcdef0, mount_name: fsx,
               dns_name: fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com,
               security_group_id: sg-0123456789abcdef0}
    links: {A: {path: /a, prefix: a/, direction: import, bucket: my-bucket}}
    """
    unknown = [item.what for item in monthly_cost(institution(storage=existing)).unknown]
    assert "Existing file system" in unknown
    assert "S3 Standard" in unknown


def test_a_price_of_your_own_counts_before_the_public_one(institution: Make) -> None:
    own = OwnPrices(prices=(OwnPrice(what="ec2:m7i.2xlarge", usd=Range.of(1), source="contract"),))
    item = _item(monthly_cost(institution(), own), "Head node")
    assert (item.usd, item.source) == (Range.of(730), "contract")


def test_idle_cost_is_below_the_total(institution: Make) -> None:
    estimate = monthly_cost(institution())
    assert estimate.idle_total.high < estimate.total.high
    assert estimate.idle_total.low == estimate.total.low


def test_the_same_file_costs_the_same(institution: Make) -> None:
    estimate = monthly_cost(institution())
    difference = Difference(estimate, monthly_cost(institution()))
    assert difference.changes == ()
    assert difference_table(difference).startswith("The cost of a month stays as it is: ")


def test_a_change_is_shown_before_and_after(institution: Make) -> None:
    larger = "lustre: {capacity_gib: 2400, throughput_mb_s_per_tib: 125}"
    before, after = monthly_cost(institution()), monthly_cost(institution(storage=larger))
    lines = difference_table(Difference(before, after)).splitlines()
    assert lines[2] == "| FSx for Lustre, persistent_2 ssd, 125 MB/s per TiB | 174 | 348 |"
    assert len(lines) == 5


def test_what_comes_and_goes_has_a_dash(institution: Make) -> None:
    queues = "new: {instance_type: g5.xlarge, max_nodes: 1, capacity: {kind: on_demand}}"
    difference = Difference(monthly_cost(institution()), monthly_cost(institution(queues)))
    rows = {change.what: (change.before, change.after) for change in difference.changes}
    assert rows["On-Demand nodes while jobs run, queue gpu, g6.12xlarge"][1] is None
    assert rows["On-Demand nodes while jobs run, queue new, g5.xlarge"][0] is None
    text = difference_table(difference)
    assert "| On-Demand nodes while jobs run, queue gpu, g6.12xlarge | 0" in text
    assert text.count("\N{EM DASH}") == 2


def test_every_price_says_where_and_when_it_was_read() -> None:
    assert {"us-east-1", "us-east-2", "us-west-2", "ap-northeast-2"} <= set(REGIONS)
    for price in PRICES.prices:
        assert price.source.endswith("(read 2026-11-29)"), price
        assert price.usd.high > 0, price


def test_no_price_is_given_twice_for_a_region() -> None:
    given = [(p.what, region) for p in PRICES.prices for region in p.regions]
    assert len(given) == len(set(given))


def test_a_range_goes_upwards() -> None:
    with pytest.raises(ValueError, match="a range goes upwards from 0 or more, got 2 to 1"):
        Range.of(2, 1)


def test_a_total_says_that_something_in_it_has_no_price(
    example: Callable[[str], Institution],
) -> None:
    institution = example("minimal")
    complete = monthly_cost(institution)
    (name,) = institution.fleet.queues

    def with_nodes(number: int) -> Institution:
        queue = institution.fleet.queues[name].model_copy(
            update={"instance_type": "trn2.48xlarge", "max_nodes": number}
        )
        fleet = institution.fleet.model_copy(update={"queues": {name: queue}})
        return institution.model_copy(update={"fleet": fleet})

    few, many = monthly_cost(with_nodes(2)), monthly_cost(with_nodes(100))
    assert "| **Total** |" in cost_table(complete)
    assert "| **Total of what has a price** |" in cost_table(few)
    assert "| **Total** |" not in cost_table(few)
    difference = difference_table(Difference(few, many))
    row = "trn2.48xlarge | not known (0-1,460) | not known (0-73,000) |"
    assert row in difference.replace("\N{EN DASH}", "-")
    assert "| **Total of what has a price** |" in difference
    same = difference_table(Difference(few, few))
    assert same.endswith(" USD, without what has no price.\n")


def test_a_database_that_is_made_costs_its_least_always_and_more_under_load(
    example: Callable[[str], Institution],
) -> None:
    items = {item.what: item for item in monthly_cost(example("kait")).items}
    always, load = items["Slurm database, what always runs"], items["Slurm database under load"]
    assert (always.quantity, always.idle) == (Range.of(365), True)
    assert (load.quantity, load.idle) == (Range.of(0, 2555), False)


def test_a_bare_fleet_costs_what_it_has(example: Callable[[str], Institution]) -> None:
    bare = example("bare")
    on_demand = {
        name: queue.model_copy(update={"capacity": OnDemand()})
        for name, queue in bare.fleet.queues.items()
    }
    fleet = bare.fleet.model_copy(update={"queues": on_demand})
    items = {i.what: i for i in monthly_cost(bare.model_copy(update={"fleet": fleet})).items}
    assert items["On-Demand nodes that always run, queue train, p5en.48xlarge"].quantity == (
        Range.of(4 * 730)
    )
    assert items["Disk of Slurm's state, gp3"].quantity == Range.of(100)
    assert {"Secret of munge", "Private DNS zone of the cluster"} <= set(items)
    assert not {"Dashboard", "Load balancers of login nodes"} & set(items)
