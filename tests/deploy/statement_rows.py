"""The statements of every role in the examples' templates, and which no life can ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.deploy.emulator.process import ROOT
from tests.deploy.privileges import Statement

TEMPLATES = ROOT / "tests" / "golden" / "templates"
_POLICIES = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
_HASH = re.compile(r"[0-9A-F]{8}$")
# Logical ids in which the name of a queue stands, which differs between examples.
_OF_A_QUEUE = {
    re.compile(r"^Alerts\w+BlockNoticesRole"): "AlertsBlockNoticesRole",
    re.compile(r"^ClusterFleetNodes\w+QueueSchedule"): "ClusterFleetNodesQueueSchedule",
}


@dataclass(frozen=True)
class Row:
    """Statements that the emulated lives do not ask for.

    Args:
        labels: Pattern of their labels.
        why: Why nothing asks here.
        test: The test that fails without one of them: file and function.
    """

    labels: str
    why: str
    test: str

    def holds(self, label: str) -> bool:
        """Tell whether a label is of this row."""
        return re.fullmatch(self.labels, label) is not None


_GOLDEN = "tests/synth/test_stacks.py::test_a_template_changes_only_with_its_golden_file"
_RIGHTS = "tests/synth/slurm_fleet/test_slurm_rights.py::test_its_rights_are_these"
ROWS: tuple[Row, ...] = (
    Row(
        r"pcluster ClusterFleetProvider(Ec2|Iam|LoginNode|Service|Stack)Policy "
        r"(Alarms|Ec2Read|Ec2Terminate|Ec2Write|FileSystems|Functions|LogGroups|LoginBalancers|"
        r"LoginGroups|LoginRead|LoginServiceRoles|Logs|OwnersRead|PolicyRead|Profiles|"
        r"ReservationGroups|RoleAttach|RoleDetach|RoleKeep|RolePass|RoleWrite|ScriptBuckets|Scripts|"
        r"Secrets|Tables|Watch|ZoneCreate|Zones)",
        "ParallelCluster and the CloudFormation of its own stack ask for it; the stand-in does not",
        _GOLDEN,
    ),
    Row(
        r"ClusterFleetProviderFrameworkframework"
        r"(isComplete\w+ [013]|onEvent\w+ [123]|onTimeout\w+ \d) lambda:\w+",
        "the CDK gives each function of its framework the rights of all, and to look at one "
        "that is not active",
        _GOLDEN,
    ),
    Row(
        r"pcluster ClusterFleetNodesPolicies(Compute|Head|Login) .*",
        "nodes of ParallelCluster ask for it, which do not run here",
        "tests/synth/fleets/test_parallelcluster_nodes.py::"
        "test_node_policies_read_their_own_scripts_and_nothing_else",
    ),
    Row(
        r"pcluster ClusterFleetBoundary .*",
        "a limit of ParallelCluster's roles: nobody has it as a right",
        "tests/synth/fleets/test_boundary.py::"
        "test_it_allows_whatever_parallelcluster_gives_its_roles",
    ),
    Row(
        r"bare ClusterFleetRoles(Compute|Head)Policy (PutMetrics|ReadTags|Sessions|WriteLogs)",
        "agents of AWS's image ask for it, which the lab's has not",
        _RIGHTS,
    ),
    Row(
        r"bare ClusterFleetRolesHeadPolicy StopFormerHead",
        "a second head node asks for it: test_head.py of the lab has one, without IAM",
        _RIGHTS,
    ),
    Row(
        r"bare ClusterFleetRolesHeadPolicy \d+ ssm:GetParameters",
        "the keeper reads whether EC2 warned of a Capacity Block's end, and the lab has no block",
        _GOLDEN,
    ),
    Row(
        r"bare ClusterFleetProvider(Look|Start)Policy StartHead",
        "asked for when the rollback of a new head node starts the former one again",
        _RIGHTS,
    ),
    Row(
        r"bare ClusterFleetRolesHeadPolicy (FenceNodes|FillGroups)",
        "the keeper asks for it when a node is outdated, too many, or down for minutes: "
        "tests/slurm has that, without IAM, and the sweep's life has a node too many",
        _RIGHTS,
    ),
    Row(
        r"bare ClusterFleetRolesHeadPolicy (EncryptAlarms|RaiseAlarms)",
        "the head node asks for it when a node is lost for good, and KMS is asked by SNS",
        "tests/synth/slurm_fleet/test_slurm_rights.py::"
        "test_the_head_node_publishes_where_a_topic_is_named",
    ),
    Row(
        r"bare ClusterFleetNodesQueueScheduleRoleDefaultPolicy Fill",
        "EventBridge Scheduler asks for it when a Capacity Block begins",
        "tests/synth/slurm_fleet/test_slurm_rights.py::"
        "test_a_schedule_fills_its_group_and_nothing_else",
    ),
    Row(
        r"bare ClusterFleetRolesLoginPolicy .*",
        "the lab has no login nodes; their statements are those of compute nodes",
        "tests/deploy/test_statements.py::test_login_nodes_have_the_rights_of_compute_nodes",
    ),
)


def labels(name: str) -> dict[str, Any]:
    """Return the statements of an example's templates by their labels."""
    templates = [
        json.loads((TEMPLATES / f"{name}-{part}.json").read_text())
        for part in ("foundation", "cluster")
    ]
    return {label: each for template in templates for label, each in _of(template)}


def _of(template: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    is_bare = any(
        each["Type"] == "Custom::TrainshedSlurmFleet" for each in template["Resources"].values()
    )
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] in _POLICIES:
            found = resource["Properties"]["PolicyDocument"]["Statement"]
            for number, each in enumerate(found):
                yield label(logical_id, each, number, is_bare), each
        for each in resource.get("Properties", {}).get("Policies", []):
            raise AssertionError(f"{logical_id} has a policy of its own: {each}")


def label(logical_id: str, statement: Mapping[str, Any], number: int, is_bare: bool) -> str:
    """Return what a statement is called in every example: backend, policy and statement."""
    policy = _HASH.sub("", logical_id)
    for pattern, name in _OF_A_QUEUE.items():
        policy = pattern.sub(name, policy)
    backend = ("bare " if is_bare else "pcluster ") if policy.startswith("ClusterFleet") else ""
    if policy.startswith(("ClusterFleetProviderFramework", "ClusterFleetProviderLogPolicy")):
        backend = ""  # the same in both
    action = statement["Action"]
    first = action if isinstance(action, str) else action[0]
    return f"{backend}{policy} {statement.get('Sid') or f'{number} {first}'}"


def label_of(statement: Statement, logical_ids: Iterable[str], is_bare: bool) -> str:
    """Return the label of a statement that an account has."""
    logical_id = next(each for each in logical_ids if each in statement.policy)
    return label(logical_id, json.loads(statement.document), statement.number, is_bare)


def is_elsewhere(name: str) -> bool:
    """Tell whether a row says why nothing asks for a statement."""
    return any(row.holds(name) for row in ROWS)
