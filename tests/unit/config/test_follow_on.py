"""One fault is told once: rules do not judge by what is faulty itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import examples
from trainshed.cli.checked import load_checked
from trainshed.config import ConfigError

NO_NUMBER = "must be a whole number, got 'x'; write it without quotes or unit"
HOST = "    host: slurm.cluster-abc.us-east-1.rds.amazonaws.com:3306\n"
NEXT = "# next_queue: reserved    #", "next_queue: reserved  #"
FULL = (examples.FOLDER / "full.yaml").read_text()
FULL_POLICY = FULL[FULL.index("  policy:  ") : FULL.index("  monitoring:")]
SNU01 = "      snu01: {account: snu, more_accounts: [priority], uid: 2002}\n"
UBUNTU = "      ubuntu: {account: snu, uid: 1000}\n"
ALONE = {
    "a queue that the policy and another queue name": (
        "full",
        [NEXT, ("max_nodes: 2\n      capacity:", "max_nodes: x\n      capacity:")],
        [f"fleet.queues.reserved.max_nodes: {NO_NUMBER}"],
    ),
    "the end of a block that the gate and a partition are for": (
        "full",
        [("        end: 2027-03-01T11:30:00Z\n", "")],
        ["fleet.queues.block.capacity.end: required, but not given"],
    ),
    "a database that a policy needs": (
        "full",
        [(HOST, "")],
        ["fleet.accounting.host: required, but not given; or write create: {}"],
    ),
    "what a partition may preempt": (
        "full",
        [("priority_tier: 250 ", "priority_tier: x ")],
        [f"fleet.policy.partitions.train.priority_tier: {NO_NUMBER}"],
    ),
    "an instance type of its own": (
        "full",
        [("    vcpus: 192\n", "    vcpus: x\n")],
        [f"instance_types.p9.48xlarge.vcpus: {NO_NUMBER}"],
    ),
    "the backend": (
        "bare",
        [("backend: slurm", "backend: slrum")],
        [
            "fleet.backend: 'slrum' is not one of parallelcluster, slurm; did you mean 'slurm'?",
        ],
    ),
    "a policy of an unknown key alone": (
        "full",
        [(FULL_POLICY, "  policy: {a: 1}\n")],
        [
            "fleet.policy.a: unknown key; the keys here are accounts, partitions, preset, qos, "
            "scheduler, users",
        ],
    ),
    "a tier under another name": (
        "full",
        [("priority_tier: 250 ", "priority_teir: 250 ")],
        [
            "fleet.policy.partitions.train.priority_teir: unknown key; did you mean "
            "'priority_tier'?",
        ],
    ),
    "a lock": (
        "bare",
        [("      ami_id: ami-0123456789abcdef0\n", "")],
        ["fleet.image.lock.ami_id: required, but not given"],
    ),
    "the instance type of all queues": (
        "kait",
        [("instance_type: p5en.48xlarge", "instance_type: p5en.48xlrge")],
        [
            "fleet.queues.compute.instance_type: 'p5en.48xlrge' is not in the table of instance "
            "types; did you mean 'p5en.48xlarge' or 'p5e.48xlarge' or 'p5.48xlarge'? a new type "
            "can be described under instance_types",
        ],
    ),
}


@pytest.mark.parametrize(("name", "edits", "faults"), ALONE.values(), ids=list(ALONE))
def test_a_fault_brings_no_other(
    tmp_path: Path, name: str, edits: list[tuple[str, str]], faults: list[str]
) -> None:
    assert told(tmp_path, name, edits) == faults


def told(folder: Path, name: str, edits: list[tuple[str, str]]) -> list[str]:
    text = (examples.FOLDER / f"{name}.yaml").read_text()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_checked(path)
    return [line.split(": ", 1)[1] for line in str(refused.value).splitlines()]


def test_what_does_not_hang_on_a_fault_is_told_beside_it(tmp_path: Path) -> None:
    edits = [
        ("max_nodes: 2\n      capacity:", "max_nodes: x\n      capacity:"),
        ("instance_type: g6.12xlarge", "instance_type: g6.12xlrge"),
        ("    layer_bucket: full-mirror\n", ""),
    ]
    assert [line.split(": ", 1)[0] for line in told(tmp_path, "full", edits)] == [
        "fleet.queues.reserved.max_nodes",
        "fleet.queues.spot.instance_type",
        "fleet.parallelcluster.layer_key",
    ]


BESIDE = {
    "another user": (
        "kait",
        [(SNU01, f"{SNU01}{UBUNTU}      k: {{acount: snu}}\n")],
        ["users.ubuntu", "users.ubuntu.uid", "users.k.account", "users.k.acount"],
    ),
    "another account": (
        "kait",
        [
            (SNU01, f"{SNU01}{UBUNTU}"),
            ("      kaist: {", "      x: {descripton: X}\n      kaist: {"),
        ],
        ["accounts.x.description", "accounts.x.descripton", "users.ubuntu", "users.ubuntu.uid"],
    ),
    "a partition": (
        "kait",
        [(SNU01, f"{SNU01}{UBUNTU}    partitions: {{debug: {{max_time: 1200}}}}\n")],
        ["users.ubuntu", "users.ubuntu.uid", "partitions.debug.max_time"],
    ),
    "an account that is not above it": (
        "kait",
        [
            (
                "      kaist: {",
                "      x: {descripton: X}\n      free: {description: F, qos: [normal]}"
                "\n      kaist: {",
            ),
        ],
        ["accounts.x.description", "accounts.x.descripton", "accounts.free.qos"],
    ),
}


@pytest.mark.parametrize(("name", "edits", "keys"), BESIDE.values(), ids=list(BESIDE))
def test_a_fault_in_a_policy_is_told_beside_one_that_it_does_not_hang_on(
    tmp_path: Path, name: str, edits: list[tuple[str, str]], keys: list[str]
) -> None:
    lines = [line.split(": ", 1)[0] for line in told(tmp_path, name, edits)]
    assert sorted(lines) == sorted(f"fleet.policy.{key}" for key in keys)


def test_an_account_is_not_judged_without_what_it_has_of_the_one_above(tmp_path: Path) -> None:
    accounts = """\
      top: {description: T, qos: 5}
      under: {description: U, parent: top}
      kaist: {"""
    assert told(tmp_path, "kait", [("      kaist: {", accounts)]) == [
        "fleet.policy.accounts.top.qos: must be a list, got 5; write [5]",
    ]


@pytest.mark.parametrize(
    ("edit", "keys"),
    [
        (
            ("instance_type: p5en.48xlarge", "instance_type: p9.48xlarge"),
            ["queues.compute.instance_type"],
        ),
        ((SNU01, f"{SNU01}{UBUNTU}"), ["policy.users.ubuntu", "policy.users.ubuntu.uid"]),
    ],
    ids=["an instance type", "a user"],
)
def test_what_no_backend_decides_is_told_beside_a_wrong_one(
    tmp_path: Path, edit: tuple[str, str], keys: list[str]
) -> None:
    edits = [("backend: parallelcluster", "backend: slrum"), edit]
    assert [line.split(": ", 1)[0] for line in told(tmp_path, "kait", edits)] == [
        "fleet.backend",
        *(f"fleet.{key}" for key in keys),
    ]


def test_a_name_of_no_queue_is_told_beside_a_queue_that_is_faulty(tmp_path: Path) -> None:
    edits = [
        ("max_nodes: 2\n      capacity:", "max_nodes: x\n      capacity:"),
        ("queues: [block, reserved]", "queues: [block, resrved]"),
    ]
    assert [line.split(": ", 1)[0] for line in told(tmp_path, "full", edits)] == [
        "fleet.queues.reserved.max_nodes",
        "fleet.policy.partitions.train.queues",
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [("{kait: hardened}", "{'kait': 'hardened'}"), ("[{a: 1}]", "[{'a': 1}]"), ("5", "5")],
    ids=["keys", "a list", "a number"],
)
def test_a_preset_that_is_no_name_is_refused_with_the_presets(
    tmp_path: Path, written: str, shown: str
) -> None:
    assert told(tmp_path, "kait", [("preset: kait-hardened", f"preset: {written}")]) == [
        f"fleet.policy: preset is {shown}; use one of kait-hardened, kait-seed"
    ]
