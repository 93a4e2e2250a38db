"""Files and settings rendered from a policy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from trainshed.facts import INSTANCE_TYPES, instance_type
from trainshed.facts.parallelcluster import denied_settings
from trainshed.slurm import (
    PRESETS,
    BareCluster,
    NodeGroup,
    NodeShape,
    SlurmPolicy,
    accounting_document,
    cgroup_conf,
    gres_conf,
    parallelcluster_settings,
    policy_table,
    slurm_conf,
)
from trainshed.slurm.parallelcluster import refuse_denied

P5EN = NodeShape(192, 2_097_152, 2, 48, 2, 8, "h200")
COMPUTE = NodeGroup("compute", P5EN, 16)
HEAD = BareCluster("kait", "head")
HARDENED = SlurmPolicy(preset="kait-hardened")
INSTITUTIONS = {
    "accounts": {
        "kaist": {"description": "KAIST", "parent": "general", "fairshare": 30, "gpus": 64},
        "snu": {"description": "Seoul National University", "parent": "priority"},
    },
    "users": {
        "kim": {"account": "kaist", "uid": 2001},
        "lee": {"account": "snu", "more_accounts": ["kaist"], "fairshare": 2},
        "ops": {"account": "snu", "admin": "Operator"},
    },
}


def policy(preset: str) -> SlurmPolicy:
    """Return a preset with two institutions and three users."""
    return SlurmPolicy.model_validate({"preset": preset, **INSTITUTIONS})


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_the_files_of_a_preset_are_as_reviewed(
    preset: str, golden: Callable[[str, object], None]
) -> None:
    chosen = policy(preset)
    golden(f"slurm/{preset}/slurm.conf", slurm_conf(chosen, [COMPUTE], HEAD))
    golden(f"slurm/{preset}/gres.conf", gres_conf([COMPUTE]))
    golden(f"slurm/{preset}/cgroup.conf", cgroup_conf(chosen))
    golden(f"slurm/{preset}/policy.md", policy_table(chosen, [COMPUTE]))
    golden(
        f"slurm/{preset}/accounting.json", accounting_document(chosen, [COMPUTE], cluster="kait")
    )
    for name, database in (("", True), ("-without-database", False)):
        settings, queues = parallelcluster_settings(chosen, [COMPUTE], database=database)
        golden(
            f"slurm/{preset}/parallelcluster{name}.json",
            json.dumps({"CustomSlurmSettings": settings, "SlurmQueues": queues}, indent=1),
        )


def test_rendering_does_not_depend_on_the_order_of_an_institution_file() -> None:
    forward = policy("kait-hardened")
    values = json.loads(forward.model_dump_json())
    backward = SlurmPolicy.model_validate_json(json.dumps(_reversed(values)))
    assert slurm_conf(backward, [COMPUTE], HEAD) == slurm_conf(forward, [COMPUTE], HEAD)
    assert policy_table(backward) == policy_table(forward)
    assert json.dumps(accounting_document(backward, [COMPUTE], cluster="kait")) == json.dumps(
        accounting_document(forward, [COMPUTE], cluster="kait")
    )


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(item) for key, item in reversed(value.items())}
    return value


@pytest.mark.parametrize("database", [True, False])
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_nothing_that_parallelcluster_keeps_is_rendered(preset: str, database: bool) -> None:
    settings, queues = parallelcluster_settings(policy(preset), [COMPUTE], database=database)
    written = [key for setting in settings for key in setting]
    assert denied_settings(written, "SlurmConf", database=database) == []
    assert denied_settings(queues["compute"], "Queue") == []


def test_a_denied_setting_is_refused_in_an_entry_of_many_keys() -> None:
    with pytest.raises(
        ValueError,
        match="CustomSlurmSettings has TASKPLUGIN, which ParallelCluster keeps for itself; "
        "leave it out",
    ):
        refuse_denied({"PartitionName": "a", "TASKPLUGIN": "task/none"}, database=False)


def test_the_native_partition_is_closed_to_users() -> None:
    _, queues = parallelcluster_settings(HARDENED, [COMPUTE])
    assert queues == {"compute": {"Default": "NO", "RootOnly": "YES", "Hidden": "YES"}}


def test_partitions_lie_over_the_node_sets_of_their_queues() -> None:
    groups = [COMPUTE, NodeGroup("small", P5EN, 2)]
    chosen = SlurmPolicy.model_validate(
        {"preset": "kait-hardened", "partitions": {"debug": {"queues": ["small"]}}}
    )
    settings, _ = parallelcluster_settings(chosen, groups)
    nodes = {s["PartitionName"]: s["Nodes"] for s in settings if "PartitionName" in s}
    assert nodes["debug"] == "small_nodes"
    assert nodes["normal"] == "compute_nodes,small_nodes"


def test_parallelclusters_own_scheduler_parameters_are_kept() -> None:
    chosen = SlurmPolicy.model_validate({"scheduler": {"parameters": ["bf_continue"]}})
    settings, _ = parallelcluster_settings(chosen, [COMPUTE])
    (line,) = [s["SchedulerParameters"] for s in settings if "SchedulerParameters" in s]
    assert line == "nohold_on_prolog_fail,bf_continue"


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ((22, 5), "SchedulerParameters=nohold_on_prolog_fail,preempt_send_user_signal\n"),
        ((23, 11), "PreemptParameters=send_user_signal\n"),
    ],
)
def test_the_users_signal_is_asked_for_in_the_words_of_the_version(
    version: tuple[int, int], line: str
) -> None:
    assert line in slurm_conf(HARDENED, [COMPUTE], replace(HEAD, slurm_version=version))


def test_before_the_database_knows_the_qos_partitions_are_closed_and_name_none() -> None:
    text = slurm_conf(HARDENED, [COMPUTE], HEAD, with_qos=False)
    lines = [line for line in text.splitlines() if line.startswith("PartitionName=")]
    assert len(lines) == 5
    assert all(" State=DOWN " in line for line in lines[:4])
    assert "QOS=" not in "".join(lines) and "AllowAccounts" not in text


def test_a_partition_named_like_a_queue_is_refused() -> None:
    chosen = SlurmPolicy.model_validate({"partitions": {"compute": {}}})
    with pytest.raises(ValueError, match=r"partitions\.compute has the name of a queue"):
        parallelcluster_settings(chosen, [COMPUTE])


def test_trainsheds_own_partition_is_hidden_over_every_node_and_preempts_nobody() -> None:
    cpu = NodeGroup("cpu", NodeShape(48, 196_608, 1, 24, 2), 2)
    (line,) = re.findall(
        "^PartitionName=trainshed .*$", slurm_conf(HARDENED, [COMPUTE, cpu], HEAD), re.M
    )
    assert line == (
        "PartitionName=trainshed Nodes=compute_nodes,cpu_nodes Default=NO State=UP "
        "MaxTime=UNLIMITED DefaultTime=00:10:00 PriorityTier=1 PriorityJobFactor=1 "
        "OverSubscribe=NO PreemptMode=OFF RootOnly=YES Hidden=YES"
    )


def test_a_job_whose_prolog_fails_is_not_held_and_nodes_are_looked_at() -> None:
    text = slurm_conf(HARDENED, [COMPUTE], HEAD)
    assert "SchedulerParameters=nohold_on_prolog_fail\n" in text
    assert "Prolog=/opt/trainshed/current/health/prolog.sh\n" in text
    assert "HealthCheckInterval=65\nHealthCheckNodeState=ANY\n" in text
    assert "TaskProlog=/opt/trainshed/current/task_prolog.sh\n" in text
    assert "RebootProgram=/usr/sbin/reboot\n" in text
    without = replace(HEAD, prolog=None, task_prolog=None, reboot_program=None, health_check=None)
    bare = slurm_conf(HARDENED, [COMPUTE], without)
    assert "RebootProgram" not in bare
    assert "Prolog" not in bare and "HealthCheck" not in bare and "nohold" not in bare


def test_nodes_that_join_are_never_called_down_by_slurm_itself() -> None:
    assert "SlurmdTimeout=0\n" in slurm_conf(HARDENED, [COMPUTE], HEAD)
    fixed = replace(COMPUTE, node_names="gpu[1-4]")
    assert "SlurmdTimeout" not in slurm_conf(HARDENED, [fixed], HEAD)


def test_trainsheds_own_partition_can_be_left_out() -> None:
    text = slurm_conf(HARDENED, [COMPUTE], replace(HEAD, checks_partition=None))
    assert "PartitionName=trainshed" not in text


def test_a_partition_named_like_trainsheds_own_is_refused() -> None:
    chosen = SlurmPolicy.model_validate({"partitions": {"trainshed": {}}})
    with pytest.raises(
        ValueError,
        match=r"^partitions\.trainshed has the name of trainshed's own partition, which "
        r"slurm\.conf has too; rename it$",
    ):
        slurm_conf(chosen, [COMPUTE], HEAD)


def test_an_unknown_queue_is_refused_with_the_known_ones() -> None:
    chosen = SlurmPolicy.model_validate({"partitions": {"a": {"queues": ["fats"]}}})
    with pytest.raises(ValueError, match=r"partitions\.a\.queues names fats; use one of compute"):
        slurm_conf(chosen, [COMPUTE], HEAD)


def test_defaults_per_gpu_are_the_share_of_the_leanest_node() -> None:
    lean = NodeGroup("lean", NodeShape(48, 196_608, 1, 24, 2, 4, "l4"), 2)
    text = slurm_conf(HARDENED, [replace(COMPUTE, node_names="a[1-2]"), lean], HEAD)
    assert "DefCpuPerGPU=12\n" in text
    assert "DefMemPerGPU=46694\n" in text
    assert "DefMemPerCPU=3891\n" in text


def test_a_partition_of_richer_nodes_has_defaults_of_its_own() -> None:
    lean = NodeGroup("lean", NodeShape(48, 196_608, 1, 24, 2, 4, "l4"), 2)
    chosen = SlurmPolicy.model_validate(
        {"preset": "kait-hardened", "partitions": {"priority": {"queues": ["compute"]}}}
    )
    settings, _ = parallelcluster_settings(chosen, [COMPUTE, lean])
    lines = {s["PartitionName"]: s for s in settings if "PartitionName" in s}
    assert lines["priority"]["DefCpuPerGPU"] == 24
    assert lines["priority"]["DefMemPerGPU"] == 249_036
    assert "DefCpuPerGPU" not in lines["normal"]


def test_caps_of_cpus_and_memory_follow_those_of_gpus() -> None:
    document = accounting_document(HARDENED, [COMPUTE], cluster="kait")
    assert document["qos"]["priority_qos"]["MaxTRESPerUser"] == ("cpu=384,gres/gpu=16,mem=3984576M")


def test_nodes_of_a_partition_are_a_limit_of_its_qos() -> None:
    document = accounting_document(HARDENED, [COMPUTE], cluster="kait")
    assert document["qos"]["debug_qos"]["GrpTRES"] == "cpu=192,gres/gpu=8,mem=1992294M"


def test_a_cap_that_follows_gpus_needs_some() -> None:
    cpu_only = NodeGroup("cpu", NodeShape(48, 196_608, 1, 24, 2), 2)
    with pytest.raises(
        ValueError,
        match=r"qos\.normal_qos\.cpus_follow_gpus needs nodes with GPUs, and no queue of its",
    ):
        accounting_document(HARDENED, [cpu_only], cluster="kait")


def test_accounts_below_an_allowed_account_may_enter_too() -> None:
    text = slurm_conf(policy("kait-hardened"), [COMPUTE], HEAD)
    assert text.count("AllowAccounts=priority,snu ") == 2


def test_a_node_with_fixed_names_is_written_and_a_joining_one_is_a_feature() -> None:
    fixed = replace(COMPUTE, node_names="gpu[1-4]")
    assert "NodeSet=compute_nodes Nodes=gpu[1-4]\n" in slurm_conf(HARDENED, [fixed], HEAD)
    assert "NodeSet=compute_nodes Feature=compute\n" in slurm_conf(HARDENED, [COMPUTE], HEAD)


def test_joining_nodes_with_different_gpus_are_refused() -> None:
    other = NodeGroup("small", NodeShape(48, 196_608, 1, 24, 2, 4, "l4"), 2)
    with pytest.raises(ValueError, match="queues have 4 l4, 8 h200; nodes that join"):
        gres_conf([COMPUTE, other])


def test_an_extra_key_that_the_policy_writes_is_refused() -> None:
    with pytest.raises(
        ValueError, match="extra has killwait, which the policy writes; change the policy"
    ):
        slurm_conf(HARDENED, [COMPUTE], replace(HEAD, extra={"killwait": 5}))


def test_a_topology_over_joining_nodes_is_refused() -> None:
    tree = replace(HEAD, extra={"TopologyPlugin": "topology/tree"})
    with pytest.raises(
        ValueError,
        match=r"^extra has TopologyPlugin, and nodes join by themselves: Slurm then refuses every "
        "job, as no switch has them; leave it out, or give the queues fixed node names$",
    ):
        slurm_conf(HARDENED, [COMPUTE], tree)
    fixed = replace(COMPUTE, node_names="gpu[1-4]")
    assert "TopologyPlugin=topology/tree\n" in slurm_conf(HARDENED, [fixed], tree)


def test_a_shape_whose_cores_do_not_add_up_is_refused() -> None:
    with pytest.raises(ValueError, match="cpus is 192, but sockets 2 x cores 24 x threads 2"):
        NodeShape(192, 1024, 2, 24, 2)


def test_a_gpu_type_in_upper_case_is_refused() -> None:
    with pytest.raises(ValueError, match="gpus is 8 and gpu_type 'H200'"):
        replace(P5EN, gpu_type="H200")


def test_the_shape_of_a_node_comes_from_the_instance_table() -> None:
    assert NodeShape.of_instance(instance_type("p5en.48xlarge")) == P5EN
    assert NodeShape.of_instance(instance_type("m7i.2xlarge")).gpus == 0


def test_every_instance_type_of_the_table_has_a_shape() -> None:
    for name in INSTANCE_TYPES:
        shape = NodeShape.of_instance(instance_type(name))
        assert shape.cpus_per_gpu * shape.gpus <= shape.cpus
