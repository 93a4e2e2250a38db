"""A ParallelCluster cluster and the custom resource that makes it, in plain aws-cdk-lib."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_ssm as ssm
from aws_cdk import custom_resources as cr
from constructs import Construct

from benchmarks.plain_boundary import boundary_statements
from benchmarks.plain_configuration import configuration
from benchmarks.plain_policies import provider_statements

ASSETS = Path(__file__).resolve().parents[1] / "assets"
VERSION = "3.16.1"
KEEP = cdk.RemovalPolicy.RETAIN
SCRIPTS = {
    "HoldKernel": "hold_kernel.sh",
    "LustreTuning": "lustre_tuning.sh",
    "LustreEfaClient": "lustre_efa_client.sh",
    "PcActions": "pc_actions.sh",
    "PcBasicCheck": "pc_basic_check.sh",
    "PcCompute": "pc_compute.sh",
    "PcHead": "pc_head.sh",
    "PcOptional": "pc_optional.sh",
    "PcRelease": "pc_release.sh",
    "PcSlurmPolicy": "pc_slurm_policy.sh",
    "RestrictImds": "restrict_imds.sh",
}


def _sha256(file: str) -> str:
    return hashlib.sha256((ASSETS / "node" / file).read_bytes()).hexdigest()


class PlainClusterStack(cdk.Stack):
    """What can be destroyed and made again on the same data."""

    def __init__(
        self, scope: Construct, id: str, *, env: cdk.Environment, institution: str
    ) -> None:
        super().__init__(
            scope,
            id,
            env=env,
            description=f"GPU cluster of {institution}",
            termination_protection=True,
            tags={"institution": institution, "Grafana": "true"},
        )
        self.institution = institution
        self.scripts = {
            id: s3_assets.Asset(
                self, id, path=str(ASSETS / "node" / file), asset_hash=_sha256(file)
            )
            for id, file in SCRIPTS.items()
        }
        self.urls = {id: script.s3_object_url for id, script in self.scripts.items()}
        common = ("HoldKernel", "LustreTuning")
        on_head = (*common, "PcRelease", "PcHead")
        head_list = self._script_list("head", on_head)
        start_list = self._script_list("start", ["PcSlurmPolicy"])
        policy = self._parameter("slurm-policy", "Slurm policy: SHA-256, S3 URL", "none")
        login_list = self._script_list("login", (*common, "RestrictImds"))
        run_lists = ("PcActions", *common)
        on_compute = ("HoldKernel", "LustreEfaClient", "LustreTuning", "PcOptional", "RestrictImds")
        checks = ("PcRelease", "PcCompute", "PcBasicCheck")
        self.head = self._node_policy(
            "HeadPolicy",
            ("PcActions", *on_head, "PcSlurmPolicy"),
            start_list,
            head_list,
            policy,
        )
        self.compute = self._node_policy("ComputePolicy", (*on_compute, *checks))
        self.login = self._node_policy("LoginPolicy", (*run_lists, "RestrictImds"), login_list)
        boundary = iam.ManagedPolicy(
            self,
            "Boundary",
            path=f"/parallelcluster/{self.institution}/",
            description="The most that roles of a ParallelCluster cluster may do",
            document=iam.PolicyDocument.from_json(
                {
                    "Version": "2012-10-17",
                    "Statement": boundary_statements(cdk.Stack.of(self), self.institution),
                }
            ),
        )
        boundary.apply_removal_policy(KEEP)
        self._cluster(self._provider(), head_list, login_list)

    def _script_list(self, who: str, scripts: Sequence[str]) -> ssm.StringParameter:
        lines = [f"{_sha256(SCRIPTS[id])} {self.urls[id]}" for id in scripts]
        description = "Scripts that pc_actions.sh runs: SHA-256, S3 URL, arguments"
        return self._parameter(f"{who}-actions", description, "\n".join(lines))

    def _parameter(self, name: str, description: str, value: str) -> ssm.StringParameter:
        parameter = ssm.StringParameter(
            self,
            name.title().replace("-", ""),
            parameter_name=f"/clusters/{self.institution}/{name}",
            description=description,
            string_value=value,
        )
        parameter.apply_removal_policy(KEEP)
        return parameter

    def _script_arns(self, scripts: Sequence[str]) -> list[str]:
        return [
            self.scripts[id].bucket.arn_for_objects(self.scripts[id].s3_object_key)
            for id in scripts
        ]

    def _node_policy(
        self, id: str, scripts: Sequence[str], *listed: ssm.StringParameter
    ) -> iam.ManagedPolicy:
        policy = iam.ManagedPolicy(
            self,
            id,
            path=f"/parallelcluster/{self.institution}/",
            description="Nodes of a ParallelCluster cluster",
            statements=[
                iam.PolicyStatement(
                    sid="ReadScripts",
                    actions=["s3:GetObject"],
                    resources=self._script_arns(scripts),
                )
            ],
        )
        if listed:
            policy.add_statements(
                iam.PolicyStatement(
                    sid="ReadListOfScripts",
                    actions=["ssm:GetParameter"],
                    resources=[parameter.parameter_arn for parameter in listed],
                )
            )
        policy.apply_removal_policy(KEEP)
        return policy

    def _provider(self) -> cr.Provider:
        log = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.SIX_MONTHS, removal_policy=KEEP
        )
        write_log = iam.ManagedPolicy(
            self,
            "LogPolicy",
            statements=[
                iam.PolicyStatement(
                    sid="Log",
                    actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                    resources=[log.log_group_arn],
                )
            ],
        )
        look = iam.ManagedPolicy(
            self,
            "LookPolicy",
            statements=[
                iam.PolicyStatement(
                    sid="Look",
                    actions=["cloudformation:DescribeStacks", "cloudformation:DescribeStackEvents"],
                    resources=[
                        f"arn:{self.partition}:cloudformation:{self.region}:{self.account}:"
                        f"stack/{self.institution}/*"
                    ],
                )
            ],
        )
        policies = [
            iam.ManagedPolicy(
                self,
                id,
                description="For the functions that make ParallelCluster clusters",
                statements=statements,
            )
            for id, statements in provider_statements(
                self,
                self.institution,
                attachable=self._attachable(),
                scripts=self._script_arns(tuple(SCRIPTS)),
                script_bucket=self.scripts["PcActions"].bucket.bucket_arn,
            ).items()
        ]
        layer = lambda_.CfnLayerVersion(
            self,
            "Layer",
            description=f"aws-parallelcluster {VERSION}",
            compatible_architectures=["x86_64"],
            compatible_runtimes=["python3.12"],
            content=lambda_.CfnLayerVersion.ContentProperty(
                s3_bucket=f"{self.region}-aws-parallelcluster",
                s3_key=f"parallelcluster/{VERSION}/layers/aws-parallelcluster/lambda-layer.zip",
            ),
        )
        on_event = self._function("OnEvent", "on_event", 10, 3008, log, [*policies, write_log])
        on_event.add_layers(
            lambda_.LayerVersion.from_layer_version_arn(self, "LayerReference", layer.ref)
        )
        return cr.Provider(
            self,
            "Framework",
            on_event_handler=on_event,
            is_complete_handler=self._function(
                "IsComplete", "is_complete", 1, 256, log, [look, write_log]
            ),
            query_interval=cdk.Duration.seconds(60),
            total_timeout=cdk.Duration.hours(1),
            log_group=log,
            framework_lambda_logging_level=lambda_.ApplicationLogLevel.FATAL,
        )

    def _function(
        self,
        id: str,
        handler: str,
        minutes: int,
        memory_mib: int,
        log: logs.LogGroup,
        policies: Sequence[iam.ManagedPolicy],
    ) -> lambda_.Function:
        role = iam.Role(
            self,
            f"{id}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            managed_policies=list(policies),
        )
        return lambda_.Function(
            self,
            id,
            description=f"ParallelCluster provider, {id}",
            runtime=lambda_.Runtime.PYTHON_3_12,
            architecture=lambda_.Architecture.X86_64,
            handler=f"handler.{handler}",
            code=lambda_.Code.from_asset(
                str(ASSETS / "functions" / "parallelcluster"), exclude=["__pycache__"]
            ),
            role=role,
            timeout=cdk.Duration.minutes(minutes),
            memory_size=memory_mib,
            log_group=log,
        )

    def _attachable(self) -> list[str]:
        aws = f"arn:{self.partition}:iam::aws:policy"
        return [
            f"{aws}/AmazonSSMManagedInstanceCore",
            f"{aws}/CloudWatchAgentServerPolicy",
            *(policy.managed_policy_arn for policy in (self.head, self.compute, self.login)),
        ]

    def _cluster(
        self,
        provider: cr.Provider,
        head_list: ssm.StringParameter,
        login_list: ssm.StringParameter,
    ) -> None:
        read = ssm.StringParameter.value_for_string_parameter
        found = {
            key: read(self, f"/clusters/{self.institution}/{key}")
            for key in (
                "ComputeSubnetId",
                "EfaSecurityGroupId",
                "EgressSecurityGroupId",
                "FileSystemId",
            )
        }
        cluster = cdk.CustomResource(
            self,
            "Cluster",
            resource_type="Custom::TrainshedParallelCluster",
            service_token=provider.service_token,
            service_timeout=cdk.Duration.hours(1),
            properties={
                "SchemaVersion": "1",
                "ClusterName": self.institution,
                "ClusterConfiguration": self.to_json_string(
                    configuration(
                        self.region,
                        found,
                        bucket=self.scripts["PcActions"].s3_bucket_name,
                        keys={id: script.s3_object_key for id, script in self.scripts.items()},
                        session_policy=f"arn:{self.partition}:iam::aws:policy/"
                        "AmazonSSMManagedInstanceCore",
                        head_policy=self.head.managed_policy_arn,
                        compute_policy=self.compute.managed_policy_arn,
                        head_list=f"/clusters/{self.institution}/head-actions",
                        start_list=f"/clusters/{self.institution}/start-actions",
                    )
                ),
                "RemovalPolicy": "retain",
                "RollbackOnFailure": "true",
                "SuppressValidators": "[]",
                "ValidationFailureLevel": "ERROR",
            },
        )
        cluster.node.add_dependency(head_list, login_list, self.head, self.compute, self.login)
        head_node = cluster.get_att_string("HeadNodeInstanceId")
        cdk.CfnOutput(self, "HeadNodeInstanceId", value=head_node)
        cdk.CfnOutput(
            self,
            "ConnectCommand",
            value=f"aws ssm start-session --region {self.region} --target {head_node}",
        )
