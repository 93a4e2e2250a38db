"""What a destroy leaves of an institution, held against every record that the emulator has."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.deploy import account
from tests.deploy.cdk import Cdk
from tests.deploy.emulator.process import REGION, ROOT, Emulator

# Where the emulator has a type; what it has no service for is recorded under the type itself.
_STORES = {
    "AWS::EC2::SecurityGroup": "ec2.security_groups",
    "AWS::EC2::Subnet": "ec2.subnets",
    "AWS::EC2::VPC": "ec2.vpcs",
    "AWS::EC2::Volume": "ec2.volumes",
    "AWS::IAM::ManagedPolicy": "iam.policies",
    "AWS::Logs::LogGroup": "cloudwatch_logs.log_groups",
    "AWS::RDS::DBCluster": "rds.clusters",
    "AWS::RDS::DBClusterParameterGroup": "rds.db_cluster_param_groups",
    "AWS::RDS::DBInstance": "rds.instances",
    "AWS::RDS::DBSubnetGroup": "rds.subnet_groups",
    "AWS::S3::Bucket": "s3.buckets",
    "AWS::SSM::Parameter": "ssm.parameters",
}
# They are within their groups.
_RULES = ("AWS::EC2::SecurityGroupEgress", "AWS::EC2::SecurityGroupIngress")
_DOCUMENT = ROOT / "docs" / "deploy.md"


def holdings(emulator: Emulator) -> set[str]:
    """Return each resource that the emulator has, of every Region."""
    trusted = str(emulator.work / "certificate.pem") if emulator.enforce else None
    context = ssl.create_default_context(cafile=trusted)
    url = f"{emulator.url}/_ministack/trainshed/holdings"
    with urllib.request.urlopen(url, context=context) as answer:
        return set(json.load(answer))


def _record(type: str, id: str) -> str:
    if type == "AWS::SecretsManager::Secret":
        # The name is in the ARN, before a hyphen and six characters.
        return f"secretsmanager.secrets {id.rpartition(':')[2][:-7]}"
    return f"{_STORES.get(type, type)} {id}"


def documented() -> set[str]:
    """Return the types that docs/deploy.md says to stay."""
    rows = _DOCUMENT.read_text().partition("| stays after")[2].partition("\n\n")[0]
    return {word for word in rows.replace("`", " ").split() if word.startswith("AWS::")}


@dataclass
class Remains:
    """What is to stay of stacks that came and go.

    Args:
        emulator: The emulator.
        region: Region of the stacks.
    """

    emulator: Emulator
    region: str = REGION
    before: set[str] = field(init=False)
    retained: dict[str, str] = field(default_factory=dict, init=False)
    """Physical ids with their types."""
    clusters: set[str] = field(default_factory=set, init=False)
    """Names of clusters that stay with what ParallelCluster keeps of them."""

    def __post_init__(self) -> None:
        """Note what is there already."""
        self.before = holdings(self.emulator)

    def note(self, cdk: Cdk, *stacks: str) -> None:
        """Note what is to stay of stacks that there are, before they are destroyed."""
        for stack in stacks:
            template = cdk.template(stack)
            self.retained |= account.retained(self.emulator, stack, template, region=self.region)
            self.clusters |= {
                each["Properties"]["ClusterName"]
                for each in template["Resources"].values()
                if each["Properties"].get("RemovalPolicy") == "retain"
            }

    @property
    def left(self) -> set[str]:
        """What is there that was not."""
        return holdings(self.emulator) - self.before

    @property
    def expected(self) -> set[str]:
        """What is to be there: what is retained, and what AWS and ParallelCluster make with it."""
        mine = {_record(type, id) for id, type in self.retained.items() if type not in _RULES}
        return (mine | {*self._of_networks()} | {*self._of_clusters()}) - self.before

    @property
    def types(self) -> set[str]:
        """The types that are to stay."""
        return {*self.retained.values()}

    def _of_clusters(self) -> Iterator[str]:
        for name in self.clusters:
            yield f"cloudformation.stacks {name}"
            yield f"ssm.parameters /{name}/HeadNode"
            yield "s3.buckets parallelcluster-0123456789abcdef-v1-do-not-delete"

    def _of_networks(self) -> Iterator[str]:
        """Yield what EC2 makes with a network and deletes with it."""
        client = self.emulator.client("ec2", self.region)
        for id, type in self.retained.items():
            if type != "AWS::EC2::VPC":
                continue
            mine: Mapping[str, object] = {"Name": "vpc-id", "Values": [id]}
            for group in client.describe_security_groups(Filters=[mine])["SecurityGroups"]:
                if group["GroupName"] == "default":
                    yield f"ec2.security_groups {group['GroupId']}"
            for table in client.describe_route_tables(Filters=[mine])["RouteTables"]:
                if any(each["Main"] for each in table["Associations"]):
                    yield f"ec2.route_tables {table['RouteTableId']}"
            for each in client.describe_network_acls(Filters=[mine])["NetworkAcls"]:
                if each["IsDefault"]:
                    yield f"ec2.network_acls {each['NetworkAclId']}"
