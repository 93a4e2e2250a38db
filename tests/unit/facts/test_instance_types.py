from __future__ import annotations

import gzip
import json
import math
from dataclasses import FrozenInstanceError, replace
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import moto
import pytest

from trainshed.facts import (
    INSTANCE_TYPES,
    InstanceType,
    UnknownInstanceTypeError,
    instance_type,
    nearest,
)

# Types whose numbers come from documentation alone. Grows only with a source in the table's text.
NO_RECORDED_ANSWER = {"p6e-gb200.36xlarge"}

# Physical cores of the processor that each family runs on, by the "Processor" column of the EC2
# instance type specifications (read 2026-11-29) and the processor's own data sheet.
CORES_PER_PROCESSOR = {
    24: {"p4d", "p4de", "g4dn", "m5", "c5", "t3"},
    32: {"trn1", "trn1n", "m6i", "c6i", "r6i"},
    48: {"p5", "p5e", "p5en", "p6-b200", "p6-b300", "trn2", "g5", "g6", "g6e", "m7i", "c7i", "r7i"},
    64: {"m7g"},
    72: {"p6e-gb200"},
    96: {"m7a"},
}
# As ``slurmd -C`` showed them on real instances; the others follow the rule above.
MEASURED_SOCKETS = {"p4d.24xlarge": 2, "p4de.24xlarge": 2, "p5.48xlarge": 2, "c5.9xlarge": 1}

H200_NODE = InstanceType(
    name="p9.48xlarge",
    vcpus=192,
    memory_mib=2_097_152,
    sockets=2,
    cores_per_socket=48,
    threads_per_core=2,
    gpus=8,
    gpu_name="h200",
    gpu_memory_mib=144_384,
    network_cards=4,
    efa_interfaces=3,
    efa_cards=(1, 2, 3),
    interfaces_per_card=4,
    nvme_disks=8,
    nvme_disk_gb=3_800,
)


@cache
def recorded_answers() -> dict[str, Any]:
    """EC2's DescribeInstanceTypes, as moto keeps it."""
    path = Path(moto.__file__).parent / "ec2/resources/instance_types.json.gz"
    answers: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return answers


def facts_of(answer: dict[str, Any]) -> dict[str, object]:
    """What our table should say, from one recorded answer."""
    cpu, network = answer["VCpuInfo"], answer["NetworkInfo"]
    (architecture,) = answer["ProcessorInfo"]["SupportedArchitectures"]
    gpus = answer.get("GpuInfo", {}).get("Gpus", [])
    neuron = answer.get("NeuronInfo", {}).get("NeuronDevices", [])
    disks = answer.get("InstanceStorageInfo", {}).get("Disks", [])
    cards = network["NetworkCards"]
    (interfaces_per_card,) = {card["MaximumNetworkInterfaces"] for card in cards}
    return {
        "vcpus": cpu["DefaultVCpus"],
        "cores": cpu["DefaultCores"],
        "threads_per_core": cpu["DefaultThreadsPerCore"],
        "memory_mib": answer["MemoryInfo"]["SizeInMiB"],
        "architecture": architecture,
        "gpus": sum(gpu["Count"] for gpu in gpus),
        "gpu_name": "".join(gpu["Name"].lower() for gpu in gpus),
        "gpu_memory_mib": sum(gpu["MemoryInfo"]["SizeInMiB"] for gpu in gpus),
        "gpu_memory_total_mib": answer.get("GpuInfo", {}).get("TotalGpuMemoryInMiB", 0),
        "neuron_devices": sum(device["Count"] for device in neuron),
        "neuron_cores": sum(device["Count"] * device["CoreInfo"]["Count"] for device in neuron),
        "network_cards": network["MaximumNetworkCards"],
        "efa_interfaces": network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        "has_efa": network["EfaSupported"],
        "efa_cards": tuple(
            card["NetworkCardIndex"] for card in cards if "efa" in card["InterfaceTypes"]
        ),
        "interfaces_per_card": interfaces_per_card,
        "nvme_disks": sum(disk["Count"] for disk in disks),
        "nvme_disk_gb": sum(disk["SizeInGB"] for disk in disks),
        "capacity_block": "capacity-block" in answer["SupportedUsageClasses"],
    }


@pytest.mark.parametrize("name", sorted(INSTANCE_TYPES.keys() - NO_RECORDED_ANSWER))
def test_every_number_is_what_ec2_answers(name: str) -> None:
    expected = facts_of(recorded_answers()[name])
    facts = INSTANCE_TYPES[name]
    assert {fact: getattr(facts, fact) for fact in expected} == expected


def test_only_these_types_have_no_recorded_answer() -> None:
    assert INSTANCE_TYPES.keys() - recorded_answers().keys() == NO_RECORDED_ANSWER


def test_every_type_is_one_that_ec2_knows() -> None:
    ec2: Any = botocore.session.get_session().get_service_model("ec2")
    assert INSTANCE_TYPES.keys() <= set(ec2.shape_for("InstanceType").enum)


def test_the_grace_blackwell_type_is_as_ec2_documents_it() -> None:
    assert instance_type("p6e-gb200.36xlarge") == InstanceType(
        name="p6e-gb200.36xlarge",
        vcpus=144,
        memory_mib=960 * 1024,
        sockets=2,
        cores_per_socket=72,
        threads_per_core=1,
        architecture="arm64",
        gpus=4,
        gpu_name="b200",
        gpu_memory_mib=185 * 1024,
        network_cards=17,
        efa_interfaces=16,
        efa_cards=tuple(range(1, 17)),
        interfaces_per_card=1,
        nvme_disks=3,
        nvme_disk_gb=7_500,
        nvlink=True,
        capacity_block=True,
        ultraserver=True,
    )


@pytest.mark.parametrize("family", ["g4dn", "g5", "g6", "g6e"])
def test_every_size_of_a_gpu_family_is_there(family: str) -> None:
    sizes = {name for name in recorded_answers() if name.partition(".")[0] == family}
    assert {name for name in INSTANCE_TYPES if name.partition(".")[0] == family} == sizes


@pytest.mark.parametrize("facts", INSTANCE_TYPES.values(), ids=INSTANCE_TYPES)
def test_cores_fill_the_fewest_processors_that_hold_them(facts: InstanceType) -> None:
    (cores,) = [
        cores for cores, families in CORES_PER_PROCESSOR.items() if facts.family in families
    ]
    assert facts.sockets == math.ceil(facts.cores / cores)
    assert facts.sockets == MEASURED_SOCKETS.get(facts.name, facts.sockets)


def test_only_gpus_of_the_p_families_have_nvlink() -> None:
    linked = {name for name, facts in INSTANCE_TYPES.items() if facts.nvlink}
    several = {name for name, facts in INSTANCE_TYPES.items() if facts.gpus > 1}
    assert linked == {name for name in several if name.startswith("p")}


def test_only_one_type_is_part_of_ultraservers() -> None:
    assert [n for n, facts in INSTANCE_TYPES.items() if facts.ultraserver] == ["p6e-gb200.36xlarge"]


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("p4d.24xlarge", (4, range(4), 15)),
        ("p4de.24xlarge", (4, range(4), 15)),
        ("p5.4xlarge", (1, range(1), 4)),
        ("p5.48xlarge", (32, range(32), 2)),
        ("p5e.48xlarge", (32, range(32), 2)),
        ("p5en.48xlarge", (16, range(16), 4)),
        ("p6-b200.48xlarge", (8, range(8), 4)),
        ("p6-b300.48xlarge", (17, range(1, 17), 4)),
        ("g5.48xlarge", (1, range(1), 7)),
        ("g6.12xlarge", (1, range(1), 8)),
        ("g6e.24xlarge", (2, range(2), 10)),
        ("g6e.48xlarge", (4, range(4), 10)),
    ],
)
def test_cards_and_efa_cards_and_interfaces_a_card(
    name: str, layout: tuple[int, range, int]
) -> None:
    facts = instance_type(name)
    cards, efa_cards, per_card = layout
    assert facts.network_cards == cards
    assert facts.efa_cards == tuple(efa_cards)
    assert facts.interfaces_per_card == per_card


def test_derived_facts_of_a_gpu_type() -> None:
    facts = instance_type("p5en.48xlarge")
    assert facts.family == "p5en"
    assert facts.is_gpu
    assert facts.has_efa
    assert facts.is_multi_card
    assert facts.cores == 96
    assert facts.cpus_per_gpu == 24
    assert facts.gpu_memory_total_mib == 1_155_072


def test_derived_facts_of_a_type_without_gpus() -> None:
    facts = instance_type("m7i.large")
    assert not facts.is_gpu
    assert not facts.has_efa
    assert not facts.is_multi_card
    assert facts.cpus_per_gpu == 0
    assert facts.gpu_memory_total_mib == 0


def test_vcpus_that_do_not_divide_evenly_are_left_over() -> None:
    assert replace(H200_NODE, gpus=7).cpus_per_gpu == 27


def test_neuron_devices_are_not_gpus() -> None:
    facts = instance_type("trn2.48xlarge")
    assert (facts.neuron_devices, facts.neuron_cores, facts.gpus) == (16, 128, 0)


def test_facts_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(instance_type("p5.48xlarge"), "gpus", 9)  # noqa: B010
    with pytest.raises(TypeError):
        INSTANCE_TYPES["p5.48xlarge"] = H200_NODE  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "p5.48xlrge",
            "instance type 'p5.48xlrge' is not in the table; did you mean 'p5.48xlarge'? "
            "describe it under instance_types if it is new",
        ),
        (
            "quantum",
            "instance type 'quantum' is not in the table; "
            "describe it under instance_types if it is new",
        ),
    ],
    ids=["misspelt", "strange"],
)
def test_an_unknown_name_is_refused(name: str, message: str) -> None:
    with pytest.raises(UnknownInstanceTypeError) as refusal:
        instance_type(name)
    assert str(refusal.value) == message
    assert refusal.value.name == name
    assert refusal.value.nearest == nearest(name)
    assert isinstance(refusal.value, ValueError)


@pytest.mark.parametrize(
    ("name", "closest"),
    [
        ("P5EN.48xlarge", "p5en.48xlarge"),
        ("p5en", "p5en.48xlarge"),
        ("p5en.24xlarge", "p5en.48xlarge"),
        ("p6-b20.48xlarge", "p6-b200.48xlarge"),
        ("g4dn.8xlarg", "g4dn.8xlarge"),
    ],
    ids=["capitals", "family alone", "size that is not made", "family misspelt", "size misspelt"],
)
def test_the_closest_name_comes_first(name: str, closest: str) -> None:
    assert nearest(name)[0] == closest


def test_at_most_three_names_are_close() -> None:
    assert len(nearest("m7i.xlarge")) == 3


def test_a_described_type_is_found() -> None:
    assert instance_type("p9.48xlarge", described={"p9.48xlarge": H200_NODE}) is H200_NODE


def test_a_described_type_wins_over_the_table() -> None:
    mine = replace(instance_type("p5.48xlarge"), capacity_block=False)
    assert instance_type("p5.48xlarge", described={"p5.48xlarge": mine}) is mine


def test_a_described_type_may_be_what_was_meant() -> None:
    assert nearest("p9.48xlrge", described={"p9.48xlarge": H200_NODE})[0] == "p9.48xlarge"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "p9"}, "instance type 'p9': name is not a family, a dot and a size"),
        (
            {"vcpus": 190},
            "instance type 'p9.48xlarge': 2 sockets x 48 cores x 2 threads is 192 vcpus, not 190",
        ),
        (
            {"memory_mib": 0},
            "instance type 'p9.48xlarge': vcpus, memory_mib, network_cards and "
            "interfaces_per_card are at least 1",
        ),
        (
            {"gpu_name": ""},
            "instance type 'p9.48xlarge': gpus, gpu_name and gpu_memory_mib go together: "
            "give all three or none",
        ),
        (
            {"neuron_cores": 2},
            "instance type 'p9.48xlarge': neuron_devices and neuron_cores go together: "
            "give both or neither",
        ),
        (
            {"nvme_disks": 0},
            "instance type 'p9.48xlarge': nvme_disks and nvme_disk_gb go together: "
            "give both or neither",
        ),
        (
            {"efa_cards": (1, 2, 4)},
            "instance type 'p9.48xlarge': efa_cards names [4]; the network cards are 0 to 3",
        ),
        (
            {"efa_cards": (1, 3, 2)},
            "instance type 'p9.48xlarge': efa_cards is not in rising order, each card once",
        ),
        (
            {"efa_interfaces": 4},
            "instance type 'p9.48xlarge': efa_interfaces is 4 on 3 efa_cards; "
            "a card carries at most one",
        ),
        (
            {"efa_interfaces": 0},
            "instance type 'p9.48xlarge': efa_interfaces is 0 on 3 efa_cards; "
            "a card carries at most one",
        ),
        (
            {"vcpus": 190, "gpus": 0},
            "instance type 'p9.48xlarge': 2 sockets x 48 cores x 2 threads is 192 vcpus, not 190; "
            "gpus, gpu_name and gpu_memory_mib go together: give all three or none",
        ),
    ],
    ids=[
        "name",
        "threads",
        "nothing",
        "gpu",
        "neuron",
        "nvme",
        "card that is not there",
        "order of cards",
        "more EFAs than cards",
        "EFA cards without EFA",
        "two faults",
    ],
)
def test_a_description_that_contradicts_itself_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        replace(H200_NODE, **changes)
    assert str(refusal.value) == message


def test_fewer_efas_than_cards_can_be_described() -> None:
    assert replace(H200_NODE, efa_interfaces=1).efa_interfaces == 1
