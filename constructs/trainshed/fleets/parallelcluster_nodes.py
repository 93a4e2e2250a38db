"""What the nodes of a ParallelCluster cluster run at boot, and may do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from aws_cdk import RemovalPolicy
from constructs import Construct

from .._stacks import stack_facts
from ..config.fleet import Fleet
from ..facts import InstanceType
from ..pcluster import NodeActions, Script, boot
from ..slurm.fleet_rules import node_groups
from .node_policies import NodePolicies
from .node_scripts import NodeScript, ScriptList, ScriptObjects, node_script
from .parallelcluster_policy import ParallelClusterPolicy
from .parallelcluster_programs import ClusterPrograms, Programs


class FleetStorage(Protocol):
    """What a fleet needs of its file system; :class:`trainshed.storage.LustreStorage` has it."""

    @property
    def file_system_id(self) -> str:
        """Id of the FSx for Lustre file system."""

    @property
    def mount_dir(self) -> str:
        """Where every node mounts it."""

    @property
    def efa(self) -> bool:
        """Nodes can reach it over EFA."""


class ParallelClusterNodes(Construct):
    """Scripts and policies of head node, login nodes and queues.

    Args:
        cluster_name: Name of the cluster.
        fleet: The fleet.
        storage: The shared file system.
        known_types: Facts of instance types by name.
        head_scripts: Further scripts of the head node, after trainshed's own.
    """

    policies: NodePolicies
    """Policies by kind of node."""
    head_actions: NodeActions
    """Scripts of the head node."""
    login_actions: NodeActions
    """Scripts of the login nodes."""
    queue_actions: Mapping[str, NodeActions]
    """Scripts of the compute nodes, by queue."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        fleet: Fleet,
        storage: FleetStorage,
        known_types: Mapping[str, InstanceType],
        head_scripts: Sequence[NodeScript] = (),
    ) -> None:
        super().__init__(scope, id)
        stack_facts(self, scope)
        self._objects = ScriptObjects(self, "Scripts")
        # A cluster that stays goes on reading its scripts. A creation that is rolled back leaves
        # none: a parameter that stayed would be in the way of the next one, which has its name.
        retain = fleet.parallelcluster.removal == "retain"
        self._removal_policy = RemovalPolicy.RETAIN if retain else RemovalPolicy.DESTROY
        self._list_removal_policy = (
            RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if retain else RemovalPolicy.DESTROY
        )
        mount_dir = storage.mount_dir
        region = stack_facts(self).region
        policy = ParallelClusterPolicy(
            self,
            "Policy",
            cluster_name=cluster_name,
            policy=fleet.policy,
            groups=node_groups(fleet, known_types),
            objects=self._objects,
            removal_policy=self._list_removal_policy,
        )
        own = boot.head_scripts(mount_dir)
        if policy.content is not None:
            own += boot.policy_scripts(cluster_name, region, policy.content)
        programs = ClusterPrograms(
            self._objects,
            region,
            cluster_name=cluster_name,
            fleet=fleet,
            mount_dir=mount_dir,
            known_types=known_types,
        )
        head_list = self._list(
            "HeadActions", cluster_name, "head", (*_own(own), programs.head.script, *head_scripts)
        )
        start = _own(boot.head_start_scripts(cluster_name, region))
        start_list = self._list("HeadStart", cluster_name, "head-start", start, at_start=True)
        # Also without login nodes, which may come later: a parameter that was retained once would
        # be in the way of another of its name.
        login = _own(boot.login_scripts(mount_dir))
        login_list = self._list("LoginActions", cluster_name, "login", login)
        self.head_actions = NodeActions(
            on_start=start_list.actions.on_start,
            on_configured=head_list.actions.on_configured,
            on_updated=head_list.actions.on_updated,
            fetched=(
                *start_list.actions.fetched,
                *head_list.actions.fetched,
                *policy.files,
                *programs.head.fetched,
            ),
        )
        self.login_actions = login_list.actions
        self.queue_actions = {
            name: self._compute(
                storage,
                programs.compute[name],
                efa=queue.uses_efa(known_types[queue.instance_type]),
            )
            for name, queue in fleet.queues.items()
        }
        self.policies = NodePolicies(
            self,
            "Policies",
            cluster_name=cluster_name,
            head_scripts=self.head_actions.objects,
            compute_scripts=[s for a in self.queue_actions.values() for s in a.objects],
            login_scripts=self.login_actions.objects,
            head_lists=[start_list.parameter, head_list.parameter, policy.parameter],
            login_list=login_list.parameter,
            # IAM deletes no policy that is attached, as these stay to a cluster that stays.
            removal_policy=self._removal_policy,
        )

    @property
    def removal_policy(self) -> RemovalPolicy:
        """What becomes of what a cluster needs as long as it is there."""
        return self._removal_policy

    @property
    def script_arns(self) -> list[str]:
        """ARNs of every script object."""
        s3 = self._s3
        return [f"{s3}:{bucket}/{key}" for bucket, key in self._places()]

    @property
    def script_bucket_arns(self) -> list[str]:
        """ARNs of the buckets that they are in."""
        s3 = self._s3
        return list(dict.fromkeys(f"{s3}:{bucket}" for bucket, _ in self._places()))

    def _places(self) -> list[tuple[str, str]]:
        actions = (self.head_actions, self.login_actions, *self.queue_actions.values())
        objects: list[Script] = [script for each in actions for script in each.objects]
        return list(dict.fromkeys((script.bucket, script.key) for script in objects))

    @property
    def _s3(self) -> str:
        return f"arn:{stack_facts(self).partition}:s3::"

    def _list(
        self,
        id: str,
        cluster_name: str,
        who: str,
        scripts: Sequence[NodeScript],
        *,
        at_start: bool = False,
    ) -> ScriptList:
        return ScriptList(
            self,
            id,
            parameter_name=boot.list_parameter_name(cluster_name, who),
            scripts=scripts,
            objects=self._objects,
            removal_policy=self._list_removal_policy,
            at_start=at_start,
        )

    def _compute(self, storage: FleetStorage, programs: Programs, *, efa: bool) -> NodeActions:
        start, fetched = [], list(programs.fetched)
        for script in boot.compute_start_scripts(storage.mount_dir, efa=efa and storage.efa):
            own = node_script(script.name, *script.args)
            if script.optional:
                step, wrapped = self._objects.optional(own, stack_facts(self).region)
                fetched.append(wrapped)
            else:
                step = self._objects.place(own)
            start.append(step)
        configured = [*_own(boot.compute_configured_scripts(storage.mount_dir)), programs.script]
        return NodeActions(
            on_start=tuple(start),
            on_configured=tuple(self._objects.place(script) for script in configured),
            fetched=tuple(fetched),
        )


def _own(scripts: Iterable[boot.BootScript]) -> list[NodeScript]:
    return [node_script(script.name, *script.args) for script in scripts]
