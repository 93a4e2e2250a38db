"""The Slurm policy of a ParallelCluster cluster, as files that its head node applies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from .._assets import asset
from ..pcluster import Script
from ..pcluster.boot import POLICY_DOCUMENT, POLICY_PROGRAM, policy_parameter_name
from ..slurm import PARALLELCLUSTER_ACCOUNT, NodeGroup, SlurmPolicy, accounting_document
from .node_scripts import NodeScript, ScriptObjects


class ParallelClusterPolicy(Construct):
    """What the accounting database should hold, and the program that brings it there.

    The head node reads both through a parameter at every start of slurmctld, since an update of
    ParallelCluster starts it anew before any script of ours runs.

    Args:
        cluster_name: Name of the cluster, also in the database.
        policy: The policy. None: the parameter says so, and a later policy finds it in place.
        groups: Nodes of the cluster.
        objects: Where files are uploaded.
        removal_policy: What becomes of the parameter when its construct goes.
    """

    parameter: ssm.IStringParameter
    """A line a file, SHA-256 and S3 URL; or ``none``."""
    files: Sequence[Script]
    """Objects that the head node reads; empty without a policy."""
    content: str | None
    """Another text for other files; None without a policy."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        policy: SlurmPolicy | None,
        groups: Sequence[NodeGroup],
        objects: ScriptObjects,
        removal_policy: RemovalPolicy,
    ) -> None:
        super().__init__(scope, id)
        self.files, self.content = (), None
        lines = ["none"]
        if policy is not None:
            document = accounting_document(
                policy, groups, cluster=cluster_name, keep_accounts=[PARALLELCLUSTER_ACCOUNT]
            )
            with TemporaryDirectory() as folder:
                path = Path(folder, POLICY_DOCUMENT)
                path.write_text(json.dumps(document, indent=1, sort_keys=True), encoding="utf-8")
                given = [NodeScript(asset("node", POLICY_PROGRAM)), NodeScript(str(path))]
                self.files = tuple(objects.place(file) for file in given)
                hashes = [file.sha256 for file in given]
            lines = [f"{sha256} {at.url}" for sha256, at in zip(hashes, self.files, strict=True)]
            self.content = hashlib.sha256("".join(hashes).encode()).hexdigest()
        self.parameter = ssm.StringParameter(
            self,
            "Parameter",
            parameter_name=policy_parameter_name(cluster_name),
            description="Slurm policy for pc_slurm_policy.sh: SHA-256, S3 URL",
            string_value="\n".join(lines),
        )
        self.parameter.apply_removal_policy(removal_policy)
