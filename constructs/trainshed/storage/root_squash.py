"""Root squash, which FSx has and CloudFormation has not."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as cr
from constructs import Construct

from .._acknowledge import acknowledge
from ..config.storage import RootSquash

_REASONS = {
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/"
    "AWSLambdaBasicExecutionRole]": "CDK's own function for calls to AWS; it may write its log",
    "AwsSolutions-L1": "CDK chooses the runtime of its own function",
    "NIST.800.53.R5-IAMNoInlinePolicy": "The policy belongs to this one call and goes with it",
    "NIST.800.53.R5-LambdaConcurrency": "Runs when CloudFormation calls it, once a deployment",
    "NIST.800.53.R5-LambdaDLQ": "CloudFormation sees and reports a failure",
    "NIST.800.53.R5-LambdaInsideVPC": "Calls the FSx API and nothing in the VPC",
    "NIST.800.53.R5-CloudWatchLogGroupEncrypted": "Says that the call was made; CloudWatch "
    "encrypts it",
}
# CDK shares one function among all such calls in a stack (aws-cdk-lib 2.275,
# aws-custom-resource.ts, PROVIDER_FUNCTION_UUID).
_FUNCTION = "AWS679f53fac002430cb0da5b7982bd2287"


class RootSquashSetting(Construct):
    """Sets root squash with a call to FSx: ``AWS::FSx::FileSystem`` has no property for it.

    Deleting it leaves the file system as it is; set ``uid`` and ``gid`` to 0 to turn squashing off.

    Args:
        scope: Where it belongs.
        id: Its id there.
        file_system: The file system.
        root_squash: What root becomes, and on which clients it stays root.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        file_system: fsx.CfnFileSystem,
        root_squash: RootSquash,
    ) -> None:
        super().__init__(scope, id)
        call = cr.AwsSdkCall(
            service="FSx",
            action="updateFileSystem",
            parameters={
                "FileSystemId": file_system.ref,
                "LustreConfiguration": {
                    "RootSquashConfiguration": {
                        "RootSquash": f"{root_squash.uid}:{root_squash.gid}",
                        "NoSquashNids": list(root_squash.no_squash_nids),
                    }
                },
            },
            physical_resource_id=cr.PhysicalResourceId.of("root-squash"),
            # The whole answer would not fit into a response to CloudFormation.
            output_paths=["FileSystem.FileSystemId"],
        )
        resource = cr.AwsCustomResource(
            self,
            "Resource",
            resource_type="Custom::LustreRootSquash",
            on_create=call,
            on_update=call,
            policy=cr.AwsCustomResourcePolicy.from_statements(
                [
                    iam.PolicyStatement(
                        actions=["fsx:UpdateFileSystem"],
                        resources=[file_system.attr_resource_arn],
                    )
                ]
            ),
            log_group=_log(cdk.Stack.of(self)),
            # The SDK in the runtime knows the call; a newer one would be fetched at deployment.
            install_latest_aws_sdk=False,
        )
        for construct in (resource, cdk.Stack.of(self).node.find_child(_FUNCTION)):
            acknowledge(construct, _REASONS)


def _log(stack: cdk.Stack) -> logs.ILogGroup | None:
    """Make the log of the function, which goes with it; Lambda's own would stay for ever.

    It is the stack's, as the function is: what a file system is made to wait for may be another
    call of the stack, which waits for the function and its log.
    """
    if stack.node.try_find_child(_FUNCTION):
        # The first call of a stack makes the function, with the log that it names or none.
        return None
    log_group = logs.LogGroup(
        stack,
        f"{_FUNCTION}Log",
        retention=logs.RetentionDays.ONE_YEAR,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    acknowledge(log_group, _REASONS)
    return log_group
