"""The functions that make a cluster: their layer, their time, and their rights."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

import aws_cdk as cdk
import pytest

from trainshed.config import AccountingDatabase, Fleet, Monitoring, ParallelClusterOptions, Queue
from trainshed.fleets import ParallelClusterFleet, ParallelClusterProvider

Build = Callable[..., ParallelClusterFleet]
Synth = Callable[[cdk.Stack], Any]
Text = Callable[[Any], str]
MakeRecord = Callable[..., Fleet]

# aws/aws-parallelcluster, cloudformation/policies/parallelcluster-policies.yaml, read 2026-11-29:
# the actions of ParallelClusterClusterPolicy1 and 2 and DefaultParallelClusterIamAdminPolicy, for
# the services that our clusters use.
_PUBLISHED = """
ec2:Describe* ec2:AttachNetworkInterface ec2:AuthorizeSecurityGroupEgress
ec2:AuthorizeSecurityGroupIngress ec2:CreateLaunchTemplate ec2:CreateLaunchTemplateVersion
ec2:CreateNetworkInterface ec2:CreatePlacementGroup ec2:CreateSecurityGroup ec2:CreateTags
ec2:DeleteTags ec2:DeleteLaunchTemplate ec2:DeleteNetworkInterface ec2:DeletePlacementGroup
ec2:DeleteSecurityGroup ec2:ModifyLaunchTemplate ec2:ModifyNetworkInterfaceAttribute
ec2:RevokeSecurityGroupEgress ec2:RevokeSecurityGroupIngress ec2:RunInstances
ec2:TerminateInstances dynamodb:DescribeTable dynamodb:ListTagsOfResource dynamodb:CreateTable
dynamodb:DeleteTable dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem dynamodb:Query
dynamodb:TagResource dynamodb:UntagResource route53:ChangeResourceRecordSets
route53:ChangeTagsForResource route53:CreateHostedZone route53:DeleteHostedZone route53:GetChange
route53:GetHostedZone route53:ListResourceRecordSets route53:ListQueryLoggingConfigs
cloudformation:CreateStack cloudformation:UpdateStack cloudformation:DeleteStack
cloudformation:DescribeStacks cloudformation:DescribeStackEvents
cloudformation:DescribeStackResources cloudformation:GetTemplate cloudwatch:PutDashboard
cloudwatch:DeleteDashboards cloudwatch:GetDashboard cloudwatch:PutMetricAlarm
cloudwatch:DeleteAlarms cloudwatch:DescribeAlarms cloudwatch:PutCompositeAlarm iam:GetRole
iam:GetRolePolicy iam:GetPolicy iam:GetInstanceProfile iam:CreateInstanceProfile
iam:DeleteInstanceProfile iam:AddRoleToInstanceProfile iam:RemoveRoleFromInstanceProfile
iam:PassRole iam:CreateServiceLinkedRole iam:DeleteRole iam:TagRole iam:UntagRole iam:CreateRole
iam:PutRolePolicy iam:DeleteRolePolicy iam:AttachRolePolicy iam:DetachRolePolicy
lambda:CreateFunction lambda:TagResource lambda:DeleteFunction lambda:GetFunctionConfiguration
lambda:GetFunction lambda:InvokeFunction lambda:AddPermission lambda:RemovePermission
lambda:UpdateFunctionConfiguration lambda:ListTags lambda:UntagResource s3:* fsx:*
logs:DeleteLogGroup logs:PutRetentionPolicy logs:DescribeLogGroups logs:CreateLogGroup
logs:TagResource logs:UntagResource logs:DescribeMetricFilters logs:PutMetricFilter
logs:DeleteMetricFilter logs:ListTagsForResource resource-groups:ListGroupResources
resource-groups:GetGroupConfiguration autoscaling:DeleteAutoScalingGroup
autoscaling:DeleteLifecycleHook autoscaling:DescribeAutoScalingGroups
autoscaling:DescribeLifecycleHooks autoscaling:DescribeScalingActivities
autoscaling:PutLifecycleHook autoscaling:UpdateAutoScalingGroup autoscaling:CreateAutoScalingGroup
autoscaling:DeleteTags autoscaling:CreateOrUpdateTags elasticloadbalancing:CreateListener
elasticloadbalancing:CreateTargetGroup elasticloadbalancing:DescribeTags
elasticloadbalancing:DeleteListener elasticloadbalancing:DeleteLoadBalancer
elasticloadbalancing:DeleteTargetGroup elasticloadbalancing:DescribeListeners
elasticloadbalancing:DescribeLoadBalancers elasticloadbalancing:DescribeTargetGroups
elasticloadbalancing:DescribeTargetHealth elasticloadbalancing:ModifyLoadBalancerAttributes
elasticloadbalancing:AddTags elasticloadbalancing:RemoveTags
elasticloadbalancing:ModifyTargetGroup elasticloadbalancing:CreateLoadBalancer
"""
PUBLISHED = _PUBLISHED.split()
# What that list lacks: pcluster looks for the accounting secret (validators, describe_secret) and
# reads one resource of its stack (aws/cfn.py); roles get a boundary; the functions write their log.
BESIDES = {
    "cloudformation:DescribeStackResource",
    "iam:PutRolePermissionsBoundary",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "secretsmanager:DescribeSecret",
}


@pytest.fixture(scope="module")
def provided(build: Build, synthesised: Synth, record: MakeRecord) -> Any:
    """A fleet whose provider has every right that one can have."""
    database = AccountingDatabase(
        host="db",
        user="slurm",
        password_secret_arn="arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
    )
    stack = cdk.Stack(
        cdk.App(), "Foreign", env=cdk.Environment(account="111122223333", region="us-east-2")
    )
    build(stack, record(accounting=database))
    return synthesised(stack)


def functions(result: Any) -> dict[str, dict[str, Any]]:
    found = result.of_type("AWS::Lambda::Function").values()
    return {f["Properties"]["Handler"]: f["Properties"] for f in found}


def statements(result: Any, part: str = "FleetProvider") -> Iterator[dict[str, Any]]:
    for id, policy in result.of_type("AWS::IAM::ManagedPolicy").items():
        if part in id:
            yield from policy["Properties"]["PolicyDocument"]["Statement"]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def by_sid(result: Any, sid: str) -> dict[str, Any]:
    (found,) = (each for each in statements(result) if each.get("Sid") == sid)
    return found


def test_the_layer_is_awss_own_in_the_region(plain: Any) -> None:
    (layer,) = plain.of_type("AWS::Lambda::LayerVersion").values()
    assert layer["Properties"] == {
        "CompatibleArchitectures": ["x86_64"],
        "CompatibleRuntimes": ["python3.12"],
        "Content": {
            "S3Bucket": "us-east-2-aws-parallelcluster",
            "S3Key": "parallelcluster/3.16.1/layers/aws-parallelcluster/lambda-layer.zip",
        },
        "Description": "aws-parallelcluster 3.16.1",
    }


def test_the_layer_may_come_from_a_mirror(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    options = ParallelClusterOptions(layer_bucket="mirror", layer_key="pcluster.zip")
    build(stack, record(parallelcluster=options))
    (layer,) = synthesised(stack).of_type("AWS::Lambda::LayerVersion").values()
    assert layer["Properties"]["Content"] == {"S3Bucket": "mirror", "S3Key": "pcluster.zip"}


def test_starting_has_the_layer_and_time_and_looking_has_neither(plain: Any) -> None:
    start, look = (functions(plain)[f"handler.{name}"] for name in ("on_event", "is_complete"))
    shown = ("Runtime", "MemorySize", "Timeout", "Architectures")
    assert [start[key] for key in shown] == ["python3.12", 3008, 600, ["x86_64"]]
    assert [look[key] for key in shown] == ["python3.12", 256, 60, ["x86_64"]]
    assert len(start["Layers"]) == 1
    assert "Layers" not in look


def test_it_looks_each_minute_for_an_hour(plain: Any, as_text: Text) -> None:
    (machine,) = plain.of_type("AWS::StepFunctions::StateMachine").values()
    text = as_text(machine["Properties"]["DefinitionString"])
    assert '"IntervalSeconds":60,"MaxAttempts":60,"BackoffRate":1' in text
    assert plain.cluster["Properties"]["ServiceTimeout"] == "3600"


def test_no_log_has_the_configuration(plain: Any) -> None:
    for handler, properties in functions(plain).items():
        if handler.startswith("framework."):
            assert properties["LoggingConfig"]["ApplicationLogLevel"] == "FATAL"
    (machine,) = plain.of_type("AWS::StepFunctions::StateMachine").values()
    assert "LoggingConfiguration" not in machine["Properties"]


def test_every_function_writes_one_log_that_is_kept_as_long_as_the_fleets(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    build(stack, record(monitoring=Monitoring(log_retention_days=365)))
    result = synthesised(stack)
    ((id, log),) = result.of_type("AWS::Logs::LogGroup").items()
    assert log["Properties"] == {"RetentionInDays": 365}
    assert log["DeletionPolicy"] == "Retain"
    groups = [f["LoggingConfig"]["LogGroup"] for f in functions(result).values()]
    assert groups == [{"Ref": id}] * 5


@pytest.mark.parametrize("seconds", [0, 3601, 7200])
def test_more_than_cloudformation_waits_is_refused(stack: cdk.Stack, seconds: int) -> None:
    with pytest.raises(ValueError) as caught:
        ParallelClusterProvider(
            stack,
            "Provider",
            cluster_name="kait",
            attachable_policy_arns=[],
            script_bucket_arns=[],
            script_arns=[],
            timeout=cdk.Duration.seconds(seconds),
        )
    assert str(caught.value) == (
        f"timeout is {seconds} seconds; CloudFormation waits 3600 for a custom resource: use 1 to "
        "3600, and let slow work go on after the head node is up"
    )


def test_no_action_has_a_wildcard(provided: Any) -> None:
    for statement in statements(provided):
        for action in listed(statement["Action"]):
            assert "*" not in action


def test_rights_are_within_those_that_aws_publishes(provided: Any) -> None:
    allowed = {action for each in statements(provided) for action in listed(each["Action"])}
    beyond = {
        action
        for action in allowed
        if not any(fnmatchcase(action, published) for published in PUBLISHED)
    }
    assert beyond == BESIDES


def test_only_what_names_no_resource_is_allowed_on_all(provided: Any) -> None:
    everywhere = {s["Sid"] for s in statements(provided) if "*" in listed(s["Resource"])}
    assert everywhere == {"Ec2Read", "LoginRead", "ZoneCreate"}
    for sid in ("Ec2Read", "LoginRead"):
        condition = by_sid(provided, sid)["Condition"]
        assert condition == {"StringEquals": {"aws:RequestedRegion": "us-east-2"}}


def test_rights_over_stacks_end_at_the_cluster(provided: Any, as_text: Text) -> None:
    stacks = [as_text(arn) for arn in by_sid(provided, "StackReadAndDelete")["Resource"]]
    names = ["kait", "kait-ComputeFleetQueues-1", "kait-LoginNodesNested-1"]
    others = ["kait-foundation", "kait-cluster", "kait2", "other"]
    prefix = "arn:<AWS::Partition>:cloudformation:us-east-2:111122223333:stack"

    def reached(name: str) -> bool:
        return any(fnmatchcase(f"{prefix}/{name}/0a1b", pattern) for pattern in stacks)

    assert [reached(name) for name in names] == [True] * 3
    assert [reached(name) for name in others] == [False] * 4


def test_only_the_stacks_of_its_own_name_are_looked_up_as_owners(
    provided: Any, as_text: Text
) -> None:
    owners = by_sid(provided, "OwnersRead")
    assert listed(owners["Action"]) == ["cloudformation:DescribeStacks"]
    assert [as_text(arn) for arn in listed(owners["Resource"])] == [
        "arn:<AWS::Partition>:cloudformation:us-east-2:111122223333:stack/Foreign/*"
    ]


@pytest.mark.parametrize(
    ("sid", "mine", "anothers"),
    [
        (
            "RoleWrite",
            "role/parallelcluster/kait/kait-RoleHeadNode-1A",
            "/kait-h200/kait-h200-R-1A",
        ),
        ("RoleWrite", "role/parallelcluster/kait-CleanupResourcesF-1A", "/kait-h200-CleanupR-1A"),
        ("RolePass", "role/parallelcluster/kait-CleanupRoute53F-1A", "/kait-h200/kait-h200-R-1A"),
        ("Logs", "/aws/parallelcluster/kait-202611292022", "/kait-h200-202611292022"),
        (
            "Logs",
            "/aws/parallelcluster/kait-202611292022:log-stream:x",
            "/kait-h200-202611292022:*",
        ),
        ("Watch", "alarm:kait-HeadNode", "alarm:kait-HeadNodes-of-ours"),
        ("Watch", "alarm:kait-HeadNode-Cpu", "alarm:kait-h200-HeadNode-Cpu"),
        ("Watch", "alarm:kait-HeadNode-Cpu", "alarm:kait-cluster-Alerts"),
        ("Watch", "dashboard/kait-us-east-2", "dashboard/kait-h200-us-east-2"),
        ("LoginGroups", "autoScalingGroupName/kait-login-AutoScalingGroup", "/kait-web"),
    ],
)
def test_rights_end_at_the_cluster_and_before_one_whose_name_begins_alike(
    provided: Any, as_text: Text, sid: str, mine: str, anothers: str
) -> None:
    patterns = [as_text(arn) for arn in listed(by_sid(provided, sid)["Resource"])]

    def reached(end: str) -> bool:
        prefixes = {pattern.partition("kait")[0] for pattern in patterns if "kait" in pattern}
        texts = [
            prefix + end.partition("kait")[1] + end.partition("kait")[2] for prefix in prefixes
        ]
        return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)

    assert reached(mine)
    assert not reached(anothers)


@pytest.mark.parametrize(
    ("name", "role", "reached"),
    [
        ("k" * 20, "k" * 20 + "-CleanupRoute53FunctionExec-1A", True),
        ("k" * 60, "k" * 24 + "-CleanupRoute53FunctionEx-1A", True),
        ("k" * 60, "k" * 24 + "-AdminRole-1A", False),
    ],
    ids=["whole", "cut", "another"],
)
def test_a_role_whose_name_cloudformation_cut_is_reached(
    stack: cdk.Stack,
    build: Build,
    synthesised: Synth,
    as_text: Text,
    name: str,
    role: str,
    reached: bool,
) -> None:
    build(stack, cluster_name=name)
    roles = [as_text(arn) for arn in by_sid(synthesised(stack), "RoleWrite")["Resource"]]
    text = f"arn:<AWS::Partition>:iam::111122223333:role/parallelcluster/{role}"
    assert any(fnmatchcase(text, pattern) for pattern in roles) is reached


def test_records_of_no_zone_may_be_changed_and_no_zone_of_an_isolated_cluster(
    stack: cdk.Stack, build: Build, synthesised: Synth, provided: Any
) -> None:
    def dns(result: Any) -> set[str]:
        actions = {action for each in statements(result) for action in listed(each["Action"])}
        return {action for action in actions if action.startswith("route53:")}

    assert "route53:ChangeResourceRecordSets" not in dns(provided)
    assert "route53:CreateHostedZone" in dns(provided)
    build(stack, isolated=True)
    result = synthesised(stack)
    assert dns(result) == set()
    assert "route53" not in json.dumps(result.of_type("AWS::IAM::ManagedPolicy"))


def test_only_instances_of_the_cluster_are_terminated(provided: Any) -> None:
    assert by_sid(provided, "Ec2Terminate")["Condition"] == {
        "StringEquals": {"aws:ResourceTag/parallelcluster:cluster-name": "kait"}
    }


def test_only_named_policies_are_attached_to_the_clusters_own_roles(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord, as_text: Text
) -> None:
    own = "arn:aws:iam::111122223333:policy/site"
    queue: Queue = record().queues["compute"].model_copy(update={"policies": (own,)})
    build(stack, record(queues={"compute": queue}))
    attach = by_sid(synthesised(stack), "RoleAttach")
    attachable = [as_text(arn) for arn in attach["Condition"]["ArnEquals"]["iam:PolicyARN"]]
    assert attachable == [
        "arn:<AWS::Partition>:iam::aws:policy/AmazonSSMManagedInstanceCore",
        "arn:<AWS::Partition>:iam::aws:policy/CloudWatchAgentServerPolicy",
        "<FleetNodesPoliciesHead65884A53>",
        "<FleetNodesPoliciesComputeF4108CC0>",
        "<FleetNodesPoliciesLogin159E8BC5>",
        own,
    ]
    assert [as_text(arn) for arn in attach["Resource"]] == [
        "arn:<AWS::Partition>:iam::111122223333:role/parallelcluster/kait/*",
        "arn:<AWS::Partition>:iam::111122223333:role/parallelcluster/kait-CleanupResources*",
        "arn:<AWS::Partition>:iam::111122223333:role/parallelcluster/kait-CleanupRoute53*",
    ]


def test_roles_are_passed_to_instances_and_functions_alone(provided: Any) -> None:
    assert by_sid(provided, "RolePass")["Condition"] == {
        "StringEqualsIfExists": {
            "iam:PassedToService": ["ec2.amazonaws.com", "lambda.amazonaws.com"]
        }
    }


def test_with_a_boundary_no_role_is_made_without_it(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    boundary = "arn:aws:iam::111122223333:policy/boundary"
    build(
        stack,
        record(parallelcluster=ParallelClusterOptions(permissions_boundary_arn=boundary)),
    )
    result = synthesised(stack)
    for sid in ("RoleWrite", "RoleAttach"):
        condition = by_sid(result, sid)["Condition"]["StringEquals"]
        assert condition == {"iam:PermissionsBoundary": boundary}
    assert "iam:PutRolePermissionsBoundary" in by_sid(result, "RoleWrite")["Action"]
    assert result.configuration["Iam"] == {"PermissionsBoundary": boundary}


def test_looking_may_describe_the_stack_and_nothing_else(plain: Any) -> None:
    (look,) = statements(plain, "LookPolicy")
    assert look["Action"] == [
        "cloudformation:DescribeStacks",
        "cloudformation:DescribeStackEvents",
    ]


def test_scripts_are_looked_for_by_exact_key(provided: Any, as_text: Text) -> None:
    keys = [as_text(arn) for arn in by_sid(provided, "Scripts")["Resource"]]
    assert keys
    assert not [key for key in keys if "*" in key]


def test_every_policy_is_within_iams_limit(provided: Any) -> None:
    """IAM counts 6,144 characters without blanks; a token stands for some 60 at most."""
    for id, policy in provided.of_type("AWS::IAM::ManagedPolicy").items():
        text = json.dumps(policy["Properties"]["PolicyDocument"], separators=(",", ":"))
        assert len(text) < 6144, id
