"""The rig judges as ParallelCluster does, and can fail."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.peers.pcluster import rig
from tests.peers.pcluster.rig import Case, Verdict, validate

pytestmark = pytest.mark.slow

FIXTURES = rig.ROOT / "tests/peers/pcluster/fixtures"
KAIT = yaml.safe_load((FIXTURES / "kait.yaml").read_text())
P5EN = yaml.safe_load((FIXTURES / "p5en.yaml").read_text())
RESERVATION, BLOCK = "cr-0123456789abcdef0", "cr-0123456789abcdefb"
WORLD: Mapping[str, Any] = {
    "reservations": {
        RESERVATION: {"type": "p5en.48xlarge", "count": 4},
        BLOCK: {"type": "p5en.48xlarge", "count": 4, "kind": "capacity-block"},
    }
}
QUEUE = ("Scheduling", "SlurmQueues", 0)
RESOURCE = (*QUEUE, "ComputeResources", 0)
GROUP, FILE_SYSTEM = "sg-0123456789abcdef0", "fs-0123456789abcdef0"


def case(change: Mapping[Any, Any], base: Mapping[str, Any] = P5EN, **world: Any) -> Case:
    """Return a fixture with some keys set, by path, in an account with some facts changed."""
    config = copy.deepcopy(dict(base))
    for path, value in change.items():
        at: Any = config
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
    return Case(config, {**WORLD, **world})


KAIT_WITH_ADDRESS = {("HeadNode", "Networking", "ElasticIp"): "52.15.1.2"}
BROKEN: dict[str, tuple[Case, str]] = {
    "capacity type": (
        case({(*QUEUE, "CapacityType"): "RESERVED"}),
        "Must be one of: CAPACITY_BLOCK, ONDEMAND, SPOT.",
    ),
    "unknown key": (case({("HeadNode", "Foo"): 1}), "Unknown field."),
    "RSA key": (
        case({}, KAIT, key_type="rsa"),
        "ERROR KeyPairValidator: ubuntu2204 does not support RSA keys.",
    ),
    "address by its allocation": (
        case({}, KAIT),
        "ERROR ElasticIpValidator: Invalid value for IP address: eipalloc-0123456789abcdef0",
    ),
    "block of unequal counts": (
        case({(*RESOURCE, "MinCount"): 2}),
        "ERROR ComputeResourceSizeValidator: Max count must be set to the same value of min count",
    ),
    "no block": (
        case({(*RESOURCE, "CapacityReservationTarget"): {"CapacityReservationId": RESERVATION}}),
        f"ERROR CapacityReservationValidator: Capacity reservation {RESERVATION} is not a Capacity",
    ),
    "more nodes than reserved": (
        case({(*RESOURCE, "MinCount"): 8, (*RESOURCE, "MaxCount"): 8}),
        "ERROR CapacityReservationSizeValidator: ",
    ),
    "reservation that does not exist": (
        case({}, reservations={}),
        f"The capacity reservation '{BLOCK}' does not exist",
    ),
    "reservation in another zone": (
        case({}, zones={"subnet-0123456789abcdef1": "us-east-2b"}),
        "must use the same availability zone as subnet subnet-0123456789abcdef1",
    ),
    "type that does not exist": (
        case({("HeadNode", "InstanceType"): "p9.48xlarge"}),
        "The following supplied instance types do not exist: [p9.48xlarge]",
    ),
    "type without EFA": (
        case(
            {
                ("Scheduling", "SlurmQueues", 1, "ComputeResources", 0): {
                    "Name": "m7i",
                    "InstanceType": "m7i.4xlarge",
                    "MaxCount": 1,
                    "Efa": {"Enabled": True},
                }
            }
        ),
        "ERROR EfaValidator: Instance type 'm7i.4xlarge' does not support EFA.",
    ),
    "file system that shuts the nodes out": (
        case({}, group_rules={GROUP: []}),
        "ERROR ExistingFsxNetworkingValidator: ",
    ),
    "file system in another VPC": (
        case({}, file_system_vpcs={FILE_SYSTEM: "vpc-0000000000000dead"}),
        "ERROR ExistingFsxNetworkingValidator: Currently only support using FSx file storage",
    ),
    "AMI of another version": (
        case({}, ami_version="3.13.0"),
        "ERROR CustomAmiTagValidator: The custom AMI was created with pcluster 3.13.0",
    ),
    "AMI larger than the root volume": (
        case({}, ami_size_gib=600),
        "ERROR RootVolumeSizeValidator: ",
    ),
    "public subnet for many cards": (
        case({}, public_subnets=["subnet-0123456789abcdef1"]),
        "ERROR MultiNetworkInterfacesInstancesValidator: ",
    ),
    "name too long for accounting": (
        Case(P5EN, WORLD, name="x" * 41),
        "ERROR ClusterNameValidator: ",
    ),
}
GOOD = {
    "the seed, with an address": case(KAIT_WITH_ADDRESS, KAIT),
    "p5en": case({}),
    "p5en on Ubuntu 24.04 and the official AMI": case({("Image",): {"Os": "ubuntu2404"}}),
    "p6-b300 block in Seoul": case(
        {
            ("Region",): "ap-northeast-2",
            (*RESOURCE, "InstanceType"): "p6-b300.48xlarge",
            ("Scheduling", "SlurmQueues"): [
                {
                    **P5EN["Scheduling"]["SlurmQueues"][0],
                    "ComputeResources": [
                        {
                            "Name": "b300",
                            "InstanceType": "p6-b300.48xlarge",
                            "MinCount": 2,
                            "MaxCount": 2,
                            "Efa": {"Enabled": True},
                            "CapacityReservationTarget": {"CapacityReservationId": BLOCK},
                        }
                    ],
                }
            ],
        },
        region="ap-northeast-2",
        reservations={BLOCK: {"type": "p6-b300.48xlarge", "count": 2, "kind": "capacity-block"}},
    ),
    "file system that lets the nodes' group in": case(
        {},
        group_rules={GROUP: [GROUP, "sg-00000000000000f5a"], "sg-00000000000000f5a": [GROUP]},
        file_system_groups={FILE_SYSTEM: ["sg-00000000000000f5a"]},
    ),
}
EXPECTED_WARNINGS = {
    "the seed, with an address": ["DetailedMonitoring", "EfaPlacementGroup"],
    "p5en": ["DetailedMonitoring", "EfaPlacementGroup", "KeyPair"],
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    """Every case at once: one process is enough."""
    cases = {name: each for name, (each, _) in BROKEN.items()} | GOOD
    return dict(zip(cases, validate(list(cases.values())), strict=True))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_configuration_is_caught(verdicts: dict[str, Verdict], name: str) -> None:
    assert BROKEN[name][1] in "\n".join(verdicts[name].errors)


@pytest.mark.parametrize("name", GOOD)
def test_a_good_configuration_passes(verdicts: dict[str, Verdict], name: str) -> None:
    assert verdicts[name].errors == []


@pytest.mark.parametrize("name", EXPECTED_WARNINGS)
def test_nothing_but_the_known_warnings_is_said(verdicts: dict[str, Verdict], name: str) -> None:
    types = [finding.type.removesuffix("Validator") for finding in verdicts[name].findings]
    assert sorted(types) == EXPECTED_WARNINGS[name]


def test_what_was_judged_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = validate([GOOD["p5en"]])
    monkeypatch.setattr(rig, "run", None)
    assert validate([GOOD["p5en"]]) == first


def test_a_call_without_an_answer_ends_the_run() -> None:
    storage = {"MountDir": "/efs", "Name": "efs", "StorageType": "Efs"}
    existing = {**storage, "EfsSettings": {"FileSystemId": "fs-0123456789abcdef0"}}
    with pytest.raises(RuntimeError, match=r"the canned AWS has no answer to: efs\.Describe"):
        validate([case({("SharedStorage",): [existing]})])
