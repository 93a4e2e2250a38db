"""What the nodes of a ParallelCluster cluster may do beside what ParallelCluster gives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from .._stacks import stack_facts
from ..pcluster import Script

# Session Manager: shells without keys and open ports.
SESSION_MANAGER_POLICY = "AmazonSSMManagedInstanceCore"
READ_SCRIPTS, READ_LIST = "ReadScripts", "ReadListOfScripts"
LISTED_AT_BUCKETS = frozenset({READ_SCRIPTS, READ_LIST})
"""Ids of the statements that the permissions boundary has in a wider form."""


class NodePolicies(Construct):
    """A managed policy for each kind of node: read its own scripts, nothing else.

    Grants to it reach the nodes at once, running ones too. ParallelCluster makes the roles, and
    allows the scripts of head and compute nodes once more: an update changes these policies before
    the cluster and ParallelCluster's after it, so old and new scripts can be read meanwhile.

    Args:
        cluster_name: Name of the cluster; it is in the path of the policies, under which the
            provider's role may attach them.
        head_scripts: Objects that the head node reads.
        compute_scripts: Objects that compute nodes read.
        login_scripts: Objects that login nodes read.
        head_lists: Parameters that list the head node's scripts and its policy.
        login_list: Parameter that lists the login nodes' scripts.
        removal_policy: What becomes of the policies when their construct goes.
    """

    head: iam.ManagedPolicy
    """Policy of the head node."""
    compute: iam.ManagedPolicy
    """Policy of the compute nodes."""
    login: iam.ManagedPolicy
    """Policy of the login nodes."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        head_scripts: Iterable[Script],
        compute_scripts: Iterable[Script],
        login_scripts: Iterable[Script],
        head_lists: Sequence[ssm.IStringParameter],
        login_list: ssm.IStringParameter,
        removal_policy: RemovalPolicy,
    ) -> None:
        super().__init__(scope, id)
        self._path = policy_path(cluster_name)
        self._partition = stack_facts(self, scope).partition
        self.head = self._policy("Head", "Head node", head_scripts, head_lists)
        self.compute = self._policy("Compute", "Compute nodes", compute_scripts, ())
        self.login = self._policy("Login", "Login nodes", login_scripts, [login_list])
        for policy in (self.head, self.compute, self.login):
            policy.apply_removal_policy(removal_policy)

    def _policy(
        self, id: str, who: str, scripts: Iterable[Script], lists: Sequence[ssm.IStringParameter]
    ) -> iam.ManagedPolicy:
        places = dict.fromkeys((script.bucket, script.key) for script in scripts)
        objects = [f"arn:{self._partition}:s3:::{bucket}/{key}" for bucket, key in places]
        statements = [
            iam.PolicyStatement(sid=READ_SCRIPTS, actions=["s3:GetObject"], resources=objects)
        ]
        if lists:
            statements.append(
                iam.PolicyStatement(
                    sid=READ_LIST,
                    actions=["ssm:GetParameter"],
                    resources=[parameter.parameter_arn for parameter in lists],
                )
            )
        return iam.ManagedPolicy(
            self,
            id,
            path=self._path,
            description=f"{who} of a ParallelCluster cluster",
            statements=statements,
        )


def policy_path(cluster_name: str) -> str:
    """Return the path of the policies of a cluster, which nothing else writes."""
    return f"/parallelcluster/{cluster_name}/"


def session_manager_policy_arn(scope: Construct) -> str:
    """Return the ARN of AWS's policy for Session Manager, in the partition of the stack."""
    return f"arn:{stack_facts(scope).partition}:iam::aws:policy/{SESSION_MANAGER_POLICY}"
