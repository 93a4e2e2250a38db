"""Our judgement of an update beside ParallelCluster's own."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest
import yaml

from tests.peers.pcluster import rig
from trainshed.pcluster import schema
from trainshed.review.effects import Effect, worst
from trainshed.review.update_changes import UPDATE_KEYS
from trainshed.review.update_policy import Judge

pytestmark = pytest.mark.slow

FIXTURES = rig.ROOT / "tests/peers/pcluster/fixtures"
P5EN: dict[str, Any] = yaml.safe_load((FIXTURES / "p5en.yaml").read_text())
STRATEGIES = ("DRAIN", "TERMINATE", "COMPUTE_FLEET_STOP")
RUNS, FLEET_RUNS, STOPPED = (True, True), (True, False), (False, False)
ALLOWED_WHILE_ALL_RUNS = {
    Effect.UNTOUCHED,
    Effect.LIVE,
    Effect.DRAINS_NODES,
    Effect.REPLACES_NODES,
}

Config = dict[str, Any]


def at(config: Any, *path: str | int) -> Any:
    for key in path:
        config = config[key]
    return config


def queue(config: Config, index: int = 0) -> Config:
    return at(config, "Scheduling", "SlurmQueues", index)  # type: ignore[no-any-return]


def resource(config: Config) -> Config:
    return at(queue(config), "ComputeResources", 0)  # type: ignore[no-any-return]


def settings(config: Config) -> Config:
    return at(config, "Scheduling", "SlurmSettings")  # type: ignore[no-any-return]


def pool(config: Config) -> Config:
    return at(config, "LoginNodes", "Pools", 0)  # type: ignore[no-any-return]


OTHER_RESERVATION = {"CapacityReservationId": "cr-0123456789abcdef1"}
OTHER_LUSTRE = {
    "MountDir": "/fsx2",
    "Name": "fsx2",
    "StorageType": "FsxLustre",
    "FsxLustreSettings": {"FileSystemId": "fs-0123456789abcdef1"},
}
NEW_QUEUE = {**queue(P5EN), "Name": "more"}
# What a platform engineer does, and what it does under DRAIN.
CHANGES: dict[str, tuple[Callable[[Config], object], Effect]] = {
    "nothing": (lambda c: None, Effect.UNTOUCHED),
    "grow": (lambda c: resource(c).update(MinCount=6, MaxCount=6), Effect.LIVE),
    "grow only the most": (lambda c: resource(c).update(MaxCount=6), Effect.LIVE),
    "grow only the least": (lambda c: resource(c).update(MinCount=6), Effect.STOPS_FLEET),
    "shrink": (lambda c: resource(c).update(MinCount=2, MaxCount=2), Effect.STOPS_FLEET),
    "shrink only the least": (lambda c: resource(c).update(MinCount=2), Effect.STOPS_FLEET),
    "another reservation": (
        lambda c: resource(c).update(CapacityReservationTarget=OTHER_RESERVATION),
        Effect.DRAINS_NODES,
    ),
    "another way to buy": (lambda c: queue(c).update(CapacityType="ONDEMAND"), Effect.DRAINS_NODES),
    "queue policy": (
        lambda c: at(queue(c), "Iam", "AdditionalIamPolicies").append({"Policy": "arn:x"}),
        Effect.LIVE,
    ),
    "queue script": (
        lambda c: at(queue(c), "CustomActions", "OnNodeStart").update(Script="s3://b/y.sh"),
        Effect.DRAINS_NODES,
    ),
    "script becomes a sequence": (
        lambda c: at(queue(c), "CustomActions").update(
            OnNodeStart={"Sequence": [{"Script": "s3://b/y.sh"}]}
        ),
        Effect.DRAINS_NODES,
    ),
    "queue image": (lambda c: queue(c).update(Image={"CustomAmi": "ami-1"}), Effect.DRAINS_NODES),
    "include file": (
        lambda c: settings(c).update(CustomSlurmSettingsIncludeFile="s3://b/s.conf"),
        Effect.LIVE,
    ),
    "custom settings": (
        lambda c: settings(c)["CustomSlurmSettings"].append({"MaxJobCount": 5000}),
        Effect.LIVE,
    ),
    "whole nodes": (lambda c: queue(c).update(JobExclusiveAllocation=True), Effect.LIVE),
    "scratch directory": (
        lambda c: at(queue(c), "ComputeSettings", "LocalStorage", "EphemeralVolume").update(
            MountDir="/scratch"
        ),
        Effect.DRAINS_NODES,
    ),
    "root volume": (
        lambda c: at(queue(c), "ComputeSettings", "LocalStorage", "RootVolume").update(Size=600),
        Effect.DRAINS_NODES,
    ),
    "health check": (lambda c: queue(c)["HealthChecks"]["Gpu"].update(Enabled=False), Effect.LIVE),
    "EFA off": (lambda c: resource(c).update(Efa={"Enabled": False}), Effect.DRAINS_NODES),
    "another file system beside": (
        lambda c: c["SharedStorage"].append(OTHER_LUSTRE),
        Effect.LIVE,
    ),
    "no file system": (lambda c: c.pop("SharedStorage"), Effect.LIVE),
    "a disk of its own": (
        lambda c: c["SharedStorage"].append(
            {"MountDir": "/d", "Name": "d", "StorageType": "Ebs", "EbsSettings": {}}
        ),
        Effect.STOPS_LOGIN_NODES,
    ),
    "home elsewhere": (
        lambda c: c["SharedStorage"].append({**OTHER_LUSTRE, "MountDir": "/home"}),
        Effect.REFUSED,
    ),
    "another mount directory": (
        lambda c: c["SharedStorage"][0].update(MountDir="/data"),
        Effect.STOPS_FLEET,
    ),
    "another file system in place": (
        lambda c: c["SharedStorage"][0]["FsxLustreSettings"].update(FileSystemId="fs-1"),
        Effect.REFUSED,
    ),
    "another queue": (lambda c: c["Scheduling"]["SlurmQueues"].append(NEW_QUEUE), Effect.LIVE),
    "a queue less": (lambda c: c["Scheduling"]["SlurmQueues"].pop(), Effect.STOPS_FLEET),
    "a queue renamed": (lambda c: queue(c).update(Name="gpus"), Effect.STOPS_FLEET),
    "a resource renamed": (lambda c: resource(c).update(Name="p5"), Effect.STOPS_FLEET),
    "another instance type": (
        lambda c: resource(c).update(InstanceType="p5.48xlarge"),
        Effect.STOPS_FLEET,
    ),
    "memory not scheduled": (
        lambda c: settings(c).update(EnableMemoryBasedScheduling=False),
        Effect.STOPS_FLEET,
    ),
    "idle time": (lambda c: settings(c).update(ScaledownIdletime=30), Effect.STOPS_FLEET),
    "no database": (lambda c: settings(c).pop("Database"), Effect.STOPS_FLEET),
    "another database": (
        lambda c: settings(c)["Database"].update(Uri="other:3306"),
        Effect.STOPS_FLEET,
    ),
    "only the strategy": (
        lambda c: settings(c).update(QueueUpdateStrategy="TERMINATE"),
        Effect.LIVE,
    ),
    "another subnet": (
        lambda c: queue(c)["Networking"].update(SubnetIds=["subnet-1"]),
        Effect.DRAINS_NODES,
    ),
    "a subnet more": (
        lambda c: queue(c)["Networking"]["SubnetIds"].append("subnet-1"),
        Effect.LIVE,
    ),
    "a placement group": (
        lambda c: queue(c, 1)["Networking"].update(PlacementGroup={"Enabled": True}),
        Effect.DRAINS_NODES,
    ),
    "legacy interfaces": (
        lambda c: c["DevSettings"].update(EfaInterfaceType="efa"),
        Effect.STOPS_FLEET,
    ),
    "another head type": (
        lambda c: c["HeadNode"].update(InstanceType="m7i.4xlarge"),
        Effect.REFUSED,
    ),
    "another head script": (
        lambda c: at(c, "HeadNode", "CustomActions", "OnNodeConfigured", "Sequence", 0).update(
            Script="s3://b/y.sh"
        ),
        Effect.REFUSED,
    ),
    "another head update script": (
        lambda c: at(c, "HeadNode", "CustomActions", "OnNodeUpdated").update(Script="s3://b/y.sh"),
        Effect.LIVE,
    ),
    "head policy": (
        lambda c: at(c, "HeadNode", "Iam", "AdditionalIamPolicies").append({"Policy": "arn:x"}),
        Effect.LIVE,
    ),
    "head SSH range": (
        lambda c: c["HeadNode"].update(Ssh={"AllowedIps": "10.0.0.0/8"}),
        Effect.LIVE,
    ),
    "head key": (
        lambda c: c["HeadNode"].update(Ssh={"KeyName": "k"}),
        Effect.LIVE,
    ),
    "another image": (lambda c: c["Image"].update(CustomAmi="ami-1"), Effect.REFUSED),
    "another system": (lambda c: c["Image"].update(Os="ubuntu2404"), Effect.REFUSED),
    "tag value": (lambda c: c["Tags"][0].update(Value="x"), Effect.LIVE),
    "tag more": (lambda c: c["Tags"].append({"Key": "n", "Value": "x"}), Effect.LIVE),
    "permissions boundary": (lambda c: c["Iam"].update(PermissionsBoundary="arn:q"), Effect.LIVE),
    "resource prefix": (lambda c: c["Iam"].update(ResourcePrefix="/a/b"), Effect.REFUSED),
    "login count": (lambda c: pool(c).update(Count=3), Effect.LIVE),
    "login type": (lambda c: pool(c).update(InstanceType="m7i.large"), Effect.STOPS_LOGIN_NODES),
    "login pool more": (
        lambda c: c["LoginNodes"]["Pools"].append({**pool(c), "Name": "other"}),
        Effect.LIVE,
    ),
    "no login nodes": (lambda c: c.pop("LoginNodes"), Effect.STOPS_LOGIN_NODES),
    "detailed monitoring": (
        lambda c: c["Monitoring"].update(DetailedMonitoring=False),
        Effect.STOPS_FLEET,
    ),
    "log retention": (
        lambda c: c["Monitoring"]["Logs"]["CloudWatch"].update(RetentionInDays=30),
        Effect.LIVE,
    ),
    "bootstrap timeout": (
        lambda c: c["DevSettings"]["Timeouts"].update(HeadNodeBootstrapTimeout=1000),
        Effect.REFUSED,
    ),
    "another Region": (lambda c: c.update(Region="us-east-1"), Effect.REFUSED),
}


def changed(name: str, strategy: str) -> tuple[Config, Config]:
    base, head = copy.deepcopy(P5EN), copy.deepcopy(P5EN)
    settings(head)["QueueUpdateStrategy"] = strategy
    CHANGES[name][0](head)
    return base, head


def effect(base: Config, head: Config) -> Effect:
    judge = Judge(base, head)
    return worst(judge.judge(change) for change in judge.changes)


@cache
def verdicts() -> dict[tuple[str, str], list[bool]]:
    """ParallelCluster's answers to every change under every strategy, in one process."""
    keys = [(name, strategy) for name in CHANGES for strategy in STRATEGIES]
    return dict(zip(keys, ask(changed(*key) for key in keys), strict=True))


def ask(pairs: Iterator[tuple[Config, Config]]) -> list[list[bool]]:
    states = [RUNS, FLEET_RUNS, STOPPED]
    cases = [{"base": base, "head": head, "states": states} for base, head in pairs]
    answers: list[list[bool]] = json.loads(
        rig.run("tests.peers.pcluster.patch_driver", json.dumps(cases))
    )
    return answers


def disagreement(ours: Effect, theirs: list[bool]) -> str | None:
    """Say where we and ParallelCluster differ; None where we do not."""
    while_all_runs, without_login_nodes, while_all_stands = theirs
    said = {
        "allowed while all runs": (ours in ALLOWED_WHILE_ALL_RUNS, while_all_runs),
        "allowed while all stands": (ours != Effect.REFUSED, while_all_stands),
    }
    if ours == Effect.STOPS_LOGIN_NODES:
        said["allowed without login nodes"] = (True, without_login_nodes)
    wrong = [
        f"{what}: we {we}, ParallelCluster {they}"
        for what, (we, they) in said.items()
        if we != they
    ]
    return f"{ours.value}; {'; '.join(wrong)}" if wrong else None


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", CHANGES)
def test_we_allow_what_parallelcluster_allows(name: str, strategy: str) -> None:
    assert disagreement(effect(*changed(name, strategy)), verdicts()[name, strategy]) is None


@pytest.mark.parametrize("name", CHANGES)
def test_the_effect_under_drain_is_the_one_we_tell(name: str) -> None:
    assert effect(*changed(name, "DRAIN")) == CHANGES[name][1]


def sample(field: Mapping[str, Any], key: str, number: int) -> Any:
    """Return a value for a key of the schema; another number gives another value."""
    if "oneOf" in field:
        return sample(field["oneOf"][0], key, number)
    if "properties" in field:
        return {name: sample(each, name, number) for name, each in field["properties"].items()}
    if "enum" in field and len(field["enum"]) > number:
        return field["enum"][number]
    match field.get("type"):
        case "array":
            return [sample(field["items"], key, number)]
        case "boolean":
            return bool(number)
        case "integer" | "number":
            return number + 1
        case "object":
            return {"Any": str(number)}
        case _:
            return f"text-{number}"


def full() -> Config:
    """A configuration with every key of the schema; named items have the same names in all."""
    config: Config = sample(schema(), "", 0)
    settings(config)["QueueUpdateStrategy"] = "DRAIN"
    at(config, "SharedStorage", 0)["StorageType"] = "FsxLustre"
    pool(config)["Count"] = 2
    return config


def spots(field: Mapping[str, Any], path: tuple[str | int, ...] = ()) -> Iterator[Any]:
    """Yield the path of every key, with its schema."""
    for key, each in field.get("properties", {}).items():
        yield (*path, key), each
        if "properties" in each:
            yield from spots(each, (*path, key))
        elif "properties" in each.get("items", {}):
            yield from spots(each["items"], (*path, key, 0))


def sweep() -> Iterator[tuple[str, Config, Config]]:
    """Yield every key changed, removed and added, one at a time."""
    names = set(UPDATE_KEYS.values())
    for path, field in spots(schema()):
        label = ".".join(map(str, path))
        base, head = full(), full()
        at(head, *path[:-1])[path[-1]] = sample(field, str(path[-1]), 1)
        yield f"change {label}", base, head
        if path[-1] in names:
            continue
        without = full()
        del at(without, *path[:-1])[path[-1]]
        yield f"remove {label}", full(), without
        yield f"add {label}", without, full()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_we_agree_on_every_key_of_the_schema(strategy: str) -> None:
    cases = list(sweep())
    assert len(cases) > 850
    for _, _, head in cases:
        slurm = (head.get("Scheduling") or {}).get("SlurmSettings")
        if slurm is not None:
            slurm["QueueUpdateStrategy"] = strategy
    answers = ask((base, head) for _, base, head in cases)
    wrong = {
        name: found
        for (name, base, head), theirs in zip(cases, answers, strict=True)
        if (found := disagreement(effect(base, head), theirs))
    }
    assert wrong == {}
