"""Roles of the nodes of a bare Slurm fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam
from constructs import Construct

from .._names import construct_words
from ..config.fleet import Fleet
from .provider_acknowledgments import acknowledge_wildcards
from .rights import Right
from .slurm_rights import Place, head_rights, node_rights

_ASSUMED_BY_EC2 = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "ec2.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}


class NodeRoles(Construct):
    """A role for the head node, one for each queue, one for login nodes; each does what it must.

    Args:
        fleet: The fleet.
        place: The cluster.
        objects: ARNs of the archives that nodes fetch.
        munge_secret_arn: The munge key.
        state_volume_id: Volume of the head node's state.
    """

    head_policy: iam.ManagedPolicy
    """Policy of the head node; grants go to it."""
    compute_policy: iam.ManagedPolicy
    """Policy of every compute node; grants go to it."""
    login_policy: iam.ManagedPolicy | None
    """Policy of the login nodes; None without any."""
    head_profile: iam.CfnInstanceProfile
    """Instance profile of the head node."""
    login_profiles: Mapping[str, iam.CfnInstanceProfile]
    """Instance profiles of the login nodes, by pool."""
    queue_profiles: Mapping[str, iam.CfnInstanceProfile]
    """Instance profiles of the compute nodes, by queue."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        fleet: Fleet,
        place: Place,
        objects: Sequence[str],
        munge_secret_arn: str,
        state_volume_id: str,
    ) -> None:
        super().__init__(scope, id)
        self._rights: list[Right] = []
        common = node_rights(place, objects=objects, secret_arns=[munge_secret_arn])
        database = [fleet.accounting.password_secret_arn] if fleet.accounting else []
        head_only = head_rights(
            place,
            state_volume_id=state_volume_id,
            secret_arns=database,
        )
        self.head_policy = self._policy("HeadPolicy", "Head node", [*common, *head_only])
        self.head_profile = self._profile(
            "Head", "Head node", self.head_policy, fleet.head_node.policies
        )
        self.compute_policy = self._policy("ComputePolicy", "Compute nodes", common)
        self.queue_profiles = {
            name: self._profile(
                f"{construct_words(name)}Queue",
                f"Compute nodes of {name}",
                self.compute_policy,
                queue.policies,
            )
            for name, queue in fleet.queues.items()
        }
        self.login_policy = None
        self.login_profiles = {}
        if fleet.login_nodes:
            policy = self.login_policy = self._policy("LoginPolicy", "Login nodes", common)
            self.login_profiles = {
                name: self._profile(
                    f"{construct_words(name)}Login",
                    f"Login nodes of {name}",
                    policy,
                    pool.policies,
                )
                for name, pool in fleet.login_nodes.items()
            }
        acknowledge_wildcards(self, self._rights)

    def _policy(self, id: str, who: str, rights: Sequence[Right]) -> iam.ManagedPolicy:
        self._rights += rights
        return iam.ManagedPolicy(
            self,
            id,
            description=f"{who} of a Slurm cluster",
            document=iam.PolicyDocument.from_json(
                {"Version": "2012-10-17", "Statement": [right.statement for right in rights]}
            ),
        )

    def _profile(
        self, id: str, who: str, policy: iam.ManagedPolicy, named: Sequence[str] = ()
    ) -> iam.CfnInstanceProfile:
        role = iam.CfnRole(
            self,
            f"{id}Role",
            description=f"{who} of a Slurm cluster",
            assume_role_policy_document=_ASSUMED_BY_EC2,
            managed_policy_arns=[policy.managed_policy_arn, *named],
        )
        return iam.CfnInstanceProfile(self, f"{id}Profile", roles=[role.ref])
