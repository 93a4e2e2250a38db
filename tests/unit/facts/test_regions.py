"""Partitions and Regions are those that botocore knows."""

from __future__ import annotations

from botocore.loaders import Loader

from trainshed import facts


def test_every_region_of_botocore_is_known_with_its_partition_and_domain() -> None:
    recorded = {
        region: (partition["id"], partition["outputs"]["dnsSuffix"])
        for partition in Loader().load_data("partitions")["partitions"]
        for region in partition["regions"]
        if not region.endswith("-global")
    }
    known = {region: (p.name, p.dns_suffix) for region, p in facts.PARTITIONS.items()}
    assert known == recorded


def test_a_partition_names_the_regions_that_lead_to_it() -> None:
    assert all(region in partition.regions for region, partition in facts.PARTITIONS.items())


def test_every_region_of_the_zone_ids_is_known() -> None:
    assert set(facts.ZONE_ID_PREFIXES) <= set(facts.PARTITIONS)
