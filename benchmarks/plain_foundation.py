"""Network, file system and bucket in plain aws-cdk-lib."""

from __future__ import annotations

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct

KEEP = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


class PlainFoundationStack(cdk.Stack):
    """What holds data and changes rarely."""

    def __init__(
        self, scope: Construct, id: str, *, env: cdk.Environment, institution: str, zone: str
    ) -> None:
        super().__init__(
            scope,
            id,
            env=env,
            description=f"Network and storage of {institution}",
            termination_protection=True,
            tags={"institution": institution, "Grafana": "true"},
        )
        self._network(zone)
        self._groups()
        self._file_system()
        self._links()
        parameters = {
            "VpcId": self.vpc.vpc_id,
            "ComputeSubnetId": self.subnet.subnet_id,
            "EfaSecurityGroupId": self.efa_group.security_group_id,
            "EgressSecurityGroupId": self.egress_group.security_group_id,
            "FileSystemId": self.file_system.ref,
            "FileSystemDnsName": self.file_system.attr_dns_name,
            "FileSystemMountName": self.file_system.attr_lustre_mount_name,
            "FileSystemSecurityGroupId": self.storage_group.security_group_id,
            "BucketName": self.bucket.bucket_name,
            "NatGatewayId": self.nat.configured_gateways[0].gateway_id,
        }
        for key, value in parameters.items():
            ssm.StringParameter(
                self,
                key,
                parameter_name=f"/clusters/{institution}/{key}",
                string_value=value,
                description=f"{key} of the foundation of {institution}",
            )
        cdk.CfnOutput(self, "FileSystemOutput", value=self.file_system.ref)
        cdk.CfnOutput(self, "VpcOutput", value=self.vpc.vpc_id)
        cdk.CfnOutput(self, "BucketOutput", value=self.bucket.bucket_name)

    def _network(self, zone: str) -> None:
        self.nat = ec2.NatProvider.gateway()
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.0.0.0/16"),
            availability_zones=[zone],
            nat_gateways=1,
            nat_gateway_provider=self.nat,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Compute", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=17
                ),
                ec2.SubnetConfiguration(
                    name="Public",
                    subnet_type=ec2.SubnetType.PUBLIC,
                    cidr_mask=28,
                    map_public_ip_on_launch=False,
                ),
            ],
        )
        self.vpc.apply_removal_policy(KEEP)
        self.subnet = self.vpc.private_subnets[0]
        for subnet in (self.subnet, self.vpc.public_subnets[0]):
            cast(ec2.CfnSubnet, subnet.node.default_child).apply_removal_policy(KEEP)
        self.vpc.add_gateway_endpoint(
            "S3",
            service=ec2.GatewayVpcEndpointAwsService.S3,
            subnets=[ec2.SubnetSelection(subnets=[self.subnet])],
        )
        log = logs.LogGroup(
            self,
            "FlowLogs",
            retention=logs.RetentionDays.ONE_YEAR,
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        role = iam.Role(
            self,
            "FlowLogRole",
            assumed_by=iam.ServicePrincipal(
                "vpc-flow-logs.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            ),
            description="Writes the VPC's flow log",
        )
        policy = iam.ManagedPolicy(
            self,
            "FlowLogPolicy",
            statements=[
                iam.PolicyStatement(
                    actions=[
                        "logs:CreateLogStream",
                        "logs:DescribeLogStreams",
                        "logs:PutLogEvents",
                    ],
                    resources=[log.log_group_arn],
                )
            ],
        )
        role.add_managed_policy(policy)
        # The construct FlowLog would give the role a second, inline policy.
        ec2.CfnFlowLog(
            self,
            "FlowLog",
            resource_id=self.vpc.vpc_id,
            resource_type="VPC",
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_group_name=log.log_group_name,
            deliver_logs_permission_arn=role.role_arn,
        )

    def _groups(self) -> None:
        self.efa_group = self._group("EfaSecurityGroup", "EFA among the nodes")
        self.egress_group = self._group("EgressSecurityGroup", "Nodes to the internet and the VPC")
        self.storage_group = self._group("StorageSecurityGroup", "FSx for Lustre")
        everything = ec2.Port.all_traffic()
        anywhere = ec2.Peer.any_ipv4()
        self.egress_group.add_egress_rule(anywhere, ec2.Port.tcp(443), "HTTPS: AWS, packages")
        self.egress_group.add_egress_rule(anywhere, ec2.Port.tcp(80), "HTTP: package mirrors")
        self.egress_group.add_egress_rule(
            ec2.Peer.ipv4(self.vpc.vpc_cidr_block), everything, "Everything in the VPC"
        )
        for group in (self.efa_group, self.storage_group):
            group.add_ingress_rule(group, everything, "From the same group")
            group.add_egress_rule(group, everything, "To the same group")
            group.apply_removal_policy(KEEP)
        for group, peer in (
            (self.storage_group, self.efa_group),
            (self.efa_group, self.storage_group),
        ):
            group.add_ingress_rule(peer, everything, "Lustre in")
            group.add_egress_rule(peer, everything, "Lustre out")

    def _group(self, id: str, description: str) -> ec2.SecurityGroup:
        return ec2.SecurityGroup(
            self, id, vpc=self.vpc, description=description, allow_all_outbound=False
        )

    def _file_system(self) -> None:
        log = logs.LogGroup(
            self,
            "FileSystemLog",
            log_group_name=f"/aws/fsx/{self.stack_name}",
            retention=logs.RetentionDays.ONE_YEAR,
            removal_policy=KEEP,
        )
        # LustreFileSystem knows neither EFA nor metadata configuration.
        self.file_system = fsx.CfnFileSystem(
            self,
            "FileSystem",
            file_system_type="LUSTRE",
            file_system_type_version="2.15",
            storage_capacity=230400,
            storage_type="SSD",
            subnet_ids=[self.subnet.subnet_id],
            security_group_ids=[self.storage_group.security_group_id],
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type="PERSISTENT_2",
                per_unit_storage_throughput=125,
                data_compression_type="LZ4",
                weekly_maintenance_start_time="7:18:00",
                automatic_backup_retention_days=0,
                efa_enabled=True,
                metadata_configuration=fsx.CfnFileSystem.MetadataConfigurationProperty(
                    mode="AUTOMATIC"
                ),
                log_configuration=fsx.CfnFileSystem.LogConfigurationProperty(
                    level="WARN_ERROR",
                    destination=f"arn:{self.partition}:logs:{self.region}:{self.account}:"
                    f"log-group:{log.log_group_name}",
                ),
            ),
        )
        self.file_system.apply_removal_policy(KEEP)
        # FSx looks at the rules when it makes an EFA file system.
        self.file_system.node.add_dependency(self.storage_group, self.efa_group)

    def _links(self) -> None:
        self.bucket = s3.Bucket(
            self,
            "Data",
            versioned=True,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.S3_MANAGED,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="KeepOverwritten",
                    noncurrent_version_expiration=cdk.Duration.days(90),
                    expired_object_delete_marker=True,
                ),
                s3.LifecycleRule(
                    id="AbortUploads",
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(7),
                ),
            ],
            removal_policy=KEEP,
        )
        association = fsx.CfnDataRepositoryAssociation
        checkpoints = association(
            self,
            "Checkpoints",
            file_system_id=self.file_system.ref,
            file_system_path="/checkpoints",
            data_repository_path=f"s3://{self.bucket.bucket_name}/checkpoints/",
            batch_import_meta_data_on_create=False,
            s3=association.S3Property(
                auto_export_policy=association.AutoExportPolicyProperty(events=["NEW", "CHANGED"])
            ),
        )
        datasets = association(
            self,
            "Datasets",
            file_system_id=self.file_system.ref,
            file_system_path="/datasets",
            data_repository_path=f"s3://{self.bucket.bucket_name}/datasets/",
            batch_import_meta_data_on_create=True,
            s3=association.S3Property(
                auto_import_policy=association.AutoImportPolicyProperty(
                    events=["NEW", "CHANGED", "DELETED"]
                )
            ),
        )
        for link in (checkpoints, datasets):
            link.node.add_dependency(self.bucket)
        datasets.add_resource_dependency(checkpoints)
