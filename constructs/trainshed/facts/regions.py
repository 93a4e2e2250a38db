"""AWS's partitions and their Regions.

Source: botocore 1.44.8, ``data/partitions.json``, read 2026-11-29; the tests compare the two. A
Region that opens later has to be added here, and is refused until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of AWS with accounts, ARNs and domain of its own.

    Args:
        name: As ARNs begin: ``arn:aws-cn:``.
        dns_suffix: End of the names of its services.
        regions: Its Regions.
    """

    name: str
    dns_suffix: str
    regions: frozenset[str]


_REGIONS = """
aws amazonaws.com
    af-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1
    ap-south-2 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5
    ap-southeast-6 ap-southeast-7 ca-central-1 ca-west-1 eu-central-1 eu-central-2 eu-north-1
    eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3 il-central-1 me-central-1 me-south-1
    me-west-1 mx-central-1 sa-east-1 sa-west-1 us-east-1 us-east-2 us-west-1 us-west-2
aws-cn amazonaws.com.cn cn-north-1 cn-northwest-1
aws-eusc amazonaws.eu eusc-de-east-1
aws-iso c2s.ic.gov us-iso-east-1 us-iso-west-1
aws-iso-b sc2s.sgov.gov us-isob-east-1 us-isob-west-1
aws-iso-e cloud.adc-e.uk eu-isoe-west-1
aws-iso-f csp.hci.ic.gov us-isof-east-1 us-isof-south-1
aws-us-gov amazonaws.com us-gov-east-1 us-gov-west-1
"""


def _read(table: str) -> Mapping[str, Partition]:
    """Turn the table into the partition of each Region."""
    partitions = {}
    for line in table.replace("\n    ", " ").strip().splitlines():
        name, dns_suffix, *regions = line.split()
        partition = Partition(name, dns_suffix, frozenset(regions))
        partitions.update(dict.fromkeys(regions, partition))
    return MappingProxyType(dict(sorted(partitions.items())))


PARTITIONS: Mapping[str, Partition] = _read(_REGIONS)
"""By Region: the partition that it is in."""
