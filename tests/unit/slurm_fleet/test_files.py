"""The files that the nodes of a bare fleet fetch."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from trainshed import facts
from trainshed.alerts import NodeAgent
from trainshed.alerts.agent import NodeRole
from trainshed.config import Fleet, OnDemand, Queue, SlurmOptions
from trainshed.slurm import SlurmPolicy
from trainshed.slurm_fleet import cluster_files, policy_of
from trainshed.slurm_fleet.policy import policy_warnings

MakeFleet = Callable[..., Fleet]


def files(fleet: Fleet) -> dict[str, str]:
    return cluster_files(fleet, cluster_name="lab", mount_dir="/fsx", types=facts.INSTANCE_TYPES)


def settings(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if line[:1].isalpha())


def test_every_file_is_there(make_fleet: MakeFleet) -> None:
    assert sorted(files(make_fleet())) == [
        "cgroup.conf",
        "cloudwatch-agent-compute.json",
        "cloudwatch-agent-head.json",
        "cloudwatch-agent-login.json",
        "expect/p5en.48xlarge.json",
        "gres.conf",
        "policy.json",
        "slurm.conf",
    ]


def test_slurm_conf_is_of_this_head_node_and_its_state_volume(make_fleet: MakeFleet) -> None:
    conf = settings(files(make_fleet())["slurm.conf"])
    assert conf["ClusterName"] == "lab"
    assert conf["SlurmctldHost"] == "head(head.lab.trainshed.internal)"
    assert conf["AccountingStorageHost"] == "head.lab.trainshed.internal"
    assert conf["StateSaveLocation"] == "/state/slurmctld"
    assert conf["SlurmctldParameters"] == "enable_configless"


def test_without_a_policy_each_queue_is_a_partition_open_to_all(make_fleet: MakeFleet) -> None:
    queue = Queue(
        instance_type="p5en.48xlarge",
        capacity=OnDemand(),
        max_nodes=2,
        min_nodes=2,
        whole_node=True,
    )
    fleet = make_fleet(queues={**make_fleet().queues, "debug": queue})
    text = files(fleet)["slurm.conf"]
    lines = [line for line in text.splitlines() if line.startswith("PartitionName=")]
    shown = [dict(part.split("=", 1) for part in line.split()) for line in lines]
    assert [(p["PartitionName"], p["Nodes"], p["Default"], p["OverSubscribe"]) for p in shown] == [
        ("debug", "debug_nodes", "NO", "EXCLUSIVE"),
        ("train", "train_nodes", "YES", "NO"),
        ("trainshed", "train_nodes,debug_nodes", "NO", "NO"),
    ]
    assert not any("AllowAccounts" in p or "QOS" in p for p in shown)
    assert settings(text)["AccountingStorageEnforce"] == "none"
    assert settings(text)["PreemptType"] == "preempt/none"


def test_a_policy_of_the_record_is_taken_as_it_is(make_fleet: MakeFleet) -> None:
    policy = SlurmPolicy(preset="kait-hardened")
    assert policy_of(make_fleet(policy=policy)) is policy
    document = json.loads(files(make_fleet(policy=policy))["policy.json"])
    assert document["cluster"] == "lab"
    assert "normal_qos" in document["qos"]


def test_agents_send_what_alarms_look_for(make_fleet: MakeFleet) -> None:
    made = files(make_fleet())
    for role, disks in ((NodeRole.HEAD, ("/", "/state")), (NodeRole.COMPUTE, ("/",))):
        written: dict[str, Any] = json.loads(made[f"cloudwatch-agent-{role}.json"])
        collected = written.pop("logs")["logs_collected"]["files"]["collect_list"]
        assert written == NodeAgent("lab", role, disks).configuration()
        assert {log["log_group_name"] for log in collected} == {"/trainshed/lab/slurm"}


def test_nodes_are_expected_to_have_what_their_type_has(make_fleet: MakeFleet) -> None:
    expected = json.loads(files(make_fleet())["expect/p5en.48xlarge.json"])
    assert (expected["gpus"], expected["efa_interfaces"], expected["mounts"]) == (8, 16, ["/fsx"])


def test_nodes_started_without_efa_are_expected_to_have_none(make_fleet: MakeFleet) -> None:
    queue = make_fleet().queues["train"].model_copy(update={"efa": False})
    made = files(make_fleet(queues={"train": queue}))
    assert json.loads(made["expect/p5en.48xlarge.json"])["efa_interfaces"] == 0


def test_settings_of_the_record_are_lines_of_slurm_conf(make_fleet: MakeFleet) -> None:
    more = SlurmOptions(extra_slurm_settings={"Epilog": "/a.sh", "MaxJobCount": 50_000})
    conf = settings(files(make_fleet(slurm=more))["slurm.conf"])
    assert (conf["Epilog"], conf["MaxJobCount"]) == ("/a.sh", "50000")
    assert conf["Prolog"] == "/opt/trainshed/current/health/prolog.sh"


def test_a_prolog_of_the_record_takes_the_place_of_trainsheds(make_fleet: MakeFleet) -> None:
    own = SlurmOptions(extra_slurm_settings={"prolog": "/own.sh"})
    lines = files(make_fleet(slurm=own))["slurm.conf"].splitlines()
    assert [line for line in lines if line.lower().startswith("prolog=")] == ["Prolog=/own.sh"]
    assert "SchedulerParameters=nohold_on_prolog_fail" in lines


def test_what_trainsheds_programs_did_is_said_where_a_record_has_its_own(
    make_fleet: MakeFleet,
) -> None:
    own = SlurmOptions(
        extra_slurm_settings={"Prolog": "/p.sh", "taskprolog": "/t.sh", "RebootProgram": "/r.sh"}
    )
    fleet = make_fleet(slurm=own)
    current = "/opt/trainshed/current"
    assert policy_warnings(fleet, facts.INSTANCE_TYPES) == [
        "fleet.slurm.extra_slurm_settings.Prolog: /p.sh takes the place of trainshed's check of "
        f"the node before each job, {current}/health/prolog.sh: let yours end with "
        f"exec {current}/health/prolog.sh",
        "fleet.slurm.extra_slurm_settings.taskprolog: /t.sh takes the place of trainshed's, which "
        "gives tasks what NCCL and EFA need of their node's environment, "
        f"{current}/task_prolog.sh: let yours end with exec {current}/task_prolog.sh",
        "fleet.slurm.extra_slurm_settings.RebootProgram: /r.sh takes the place of "
        "/usr/sbin/reboot: nodes that are mended by a reboot now rest on yours",
    ]
    assert policy_warnings(make_fleet(), facts.INSTANCE_TYPES) == []


def test_an_empty_prolog_is_told_as_what_it_takes_away(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(slurm=SlurmOptions(extra_slurm_settings={"Prolog": ""}))
    assert policy_warnings(fleet, facts.INSTANCE_TYPES) == [
        "fleet.slurm.extra_slurm_settings.Prolog: is empty and takes away trainshed's check of the "
        "node before each job, /opt/trainshed/current/health/prolog.sh: leave the key out to keep "
        "it",
    ]
    lines = files(fleet)["slurm.conf"].splitlines()
    assert "SchedulerParameters=nohold_on_prolog_fail" in lines


def test_a_prolog_whose_path_begins_as_trainsheds_is_another_one(make_fleet: MakeFleet) -> None:
    ours = "/opt/trainshed/current/health/prolog.sh"
    for own, warnings in ((f"{ours}.off", 1), (ours, 0)):
        fleet = make_fleet(slurm=SlurmOptions(extra_slurm_settings={"Prolog": own}))
        assert len(policy_warnings(fleet, facts.INSTANCE_TYPES)) == warnings
