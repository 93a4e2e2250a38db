"""An AWS account of a few facts, as ParallelCluster's validators and deployment ask for it.

Runs inside the venv of aws-parallelcluster.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Parameters = Mapping[str, Any]
Answer = dict[str, Any]

ACCOUNT = "111122223333"
OFFICIAL_AMI = "ami-0123456789abcdef0"


class AwsError(Exception):
    """An error answered by AWS."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class World:
    """What the account holds. Ids that are not named here exist and are ordinary."""

    region: str = "us-east-2"
    vpc_id: str = "vpc-0123456789abcdef0"
    zones: dict[str, str] = field(default_factory=dict)
    """Subnet -> availability zone; the first of the Region by default."""
    public_subnets: list[str] = field(default_factory=list)
    reservations: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Capacity reservation -> type, count, and optionally zone, kind ("default" or
    "capacity-block") and platform. Other ids do not exist."""
    reservation_groups: dict[str, list[str]] = field(default_factory=dict)
    """ARN of a resource group -> ids of its capacity reservations."""
    group_rules: dict[str, list[str]] = field(default_factory=dict)
    """Security group -> groups it exchanges all traffic with, [] for none. A group that is not
    named exchanges all traffic with itself and with 10.0.0.0/8."""
    file_system_groups: dict[str, list[str]] = field(default_factory=dict)
    """FSx file system -> security groups of its network interfaces."""
    file_system_vpcs: dict[str, str] = field(default_factory=dict)
    ami_os: str = "ubuntu2204"
    ami_version: str | None = "3.16.1"
    """ParallelCluster version in the AMI's tag; None: an AMI that ParallelCluster did not make."""
    ami_size_gib: int = 45
    key_type: str = "ed25519"
    missing_objects: list[str] = field(default_factory=list)
    """URLs (s3:// or https://) that are not there; all others are."""
    instance_types: dict[str, Answer] = field(default_factory=dict)
    """What DescribeInstanceTypes answers for each type; others do not exist."""


class Account:
    """Answers each operation that is asked of AWS, by "service.Operation"."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.objects: dict[tuple[str, str], bytes] = {}
        self.answers: dict[str, Callable[[Parameters], Answer]] = {
            "ec2.DescribeInstanceTypes": self._instance_types,
            "ec2.DescribeInstanceTypeOfferings": self._offerings,
            "ec2.DescribeImages": self._images,
            "ec2.DescribeSubnets": lambda p: {"Subnets": list(map(self._subnet, p["SubnetIds"]))},
            "ec2.DescribeSecurityGroups": self._security_groups,
            "ec2.DescribeVpcAttribute": lambda p: {
                "EnableDnsSupport": {"Value": True},
                "EnableDnsHostnames": {"Value": True},
            },
            "ec2.DescribeKeyPairs": lambda p: {"KeyPairs": [{"KeyType": world.key_type}]},
            "ec2.DescribePlacementGroups": lambda p: {"PlacementGroups": [{}]},
            "ec2.DescribeCapacityReservations": self._reservations,
            "ec2.DescribeCapacityBlockStatus": lambda p: {"CapacityBlockStatuses": []},
            "ec2.DescribeAddresses": self._addresses,
            "ec2.DescribeRouteTables": self._route_tables,
            "ec2.DescribeNetworkInterfaces": self._network_interfaces,
            "ec2.DescribeInstances": lambda p: {"Reservations": []},
            "ec2.RunInstances": self._run_instances,
            "fsx.DescribeFileSystems": self._file_systems,
            "iam.GetPolicy": lambda p: {"Policy": {"Arn": p["PolicyArn"]}},
            "iam.GetRole": lambda p: {"Role": {"Arn": self._arn("iam", f"role/{p['RoleName']}")}},
            "iam.GetInstanceProfile": lambda p: {
                "InstanceProfile": {"Roles": [{"Arn": self._arn("iam", "role/profile")}]}
            },
            "kms.DescribeKey": lambda p: {"KeyMetadata": {"KeyId": p["KeyId"]}},
            "logs.DescribeLogGroups": lambda p: {"logGroups": []},
            "resource-groups.ListGroupResources": self._group_members,
            "resource-groups.GetGroupConfiguration": lambda p: {
                "GroupConfiguration": {
                    "Configuration": [{"Type": "AWS::EC2::CapacityReservationPool"}]
                }
            },
            "s3.GetBucketLocation": lambda p: {"LocationConstraint": world.region},
            "s3.GetBucketVersioning": lambda p: {"Status": "Enabled"},
            "s3.GetObject": self._get_object,
            "s3.HeadBucket": lambda p: {},
            "s3.HeadObject": self._head_object,
            "s3.PutObject": self._put_object,
            "secretsmanager.DescribeSecret": lambda p: {"ARN": p["SecretId"]},
            "secretsmanager.GetSecretValue": lambda p: {
                "SecretString": base64.b64encode(b"0" * 64).decode()
            },
            "sts.GetCallerIdentity": lambda p: {"Account": ACCOUNT},
        }

    def _arn(self, service: str, resource: str) -> str:
        region = "" if service == "iam" else self.world.region
        return f"arn:aws:{service}:{region}:{ACCOUNT}:{resource}"

    def _zone(self, subnet_id: str = "") -> str:
        return self.world.zones.get(subnet_id, f"{self.world.region}a")

    def _instance_types(self, given: Parameters) -> Answer:
        unknown = [t for t in given["InstanceTypes"] if t not in self.world.instance_types]
        if unknown:
            text = f"The following supplied instance types do not exist: [{', '.join(unknown)}]"
            raise AwsError("InvalidInstanceType", text)
        return {"InstanceTypes": [self.world.instance_types[t] for t in given["InstanceTypes"]]}

    def _offerings(self, given: Parameters) -> Answer:
        zones = sorted({self._zone(), *self.world.zones.values()})
        types = sorted(self.world.instance_types)
        offered = [{"InstanceType": t, "Location": zone} for t in types for zone in zones]
        return {"InstanceTypeOfferings": offered}

    def _images(self, given: Parameters) -> Answer:
        names = [v for f in given.get("Filters", []) if f["Name"] == "name" for v in f["Values"]]
        name = names[0].replace("*", "-202609080000") if names else "an AMI"
        tags = {
            "parallelcluster:build_status": "available",
            "parallelcluster:os": self.world.ami_os,
            "parallelcluster:version": self.world.ami_version,
        }
        image = {
            "Name": name,
            "Architecture": "arm64" if "arm64" in name else "x86_64",
            "CreationDate": "2026-09-08T00:00:00.000Z",
            "State": "available",
            "Description": f"AWS ParallelCluster AMI for {self.world.ami_os}",
            "RootDeviceName": "/dev/sda1",
            "BlockDeviceMappings": [
                {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": self.world.ami_size_gib}}
            ],
            "Tags": [{"Key": key, "Value": value} for key, value in tags.items() if value],
        }
        return {"Images": [{**image, "ImageId": i} for i in given.get("ImageIds", [OFFICIAL_AMI])]}

    def _subnet(self, subnet_id: str) -> Answer:
        return {
            "SubnetId": subnet_id,
            "VpcId": self.world.vpc_id,
            "AvailabilityZone": self._zone(subnet_id),
            "CidrBlock": "10.0.0.0/16",
            "MapPublicIpOnLaunch": subnet_id in self.world.public_subnets,
        }

    def _route_tables(self, given: Parameters) -> Answer:
        subnets = {value for each in given.get("Filters", []) for value in each["Values"]}
        public = subnets & set(self.world.public_subnets)
        gateway = "igw-0123456789abcdef0" if public else "local"
        return {"RouteTables": [{"Routes": [{"GatewayId": gateway}]}]}

    def _security_groups(self, given: Parameters) -> Answer:
        return {"SecurityGroups": list(map(self._security_group, given["GroupIds"]))}

    def _security_group(self, group_id: str) -> Answer:
        peers = self.world.group_rules.get(group_id, [group_id])
        rule: Answer = {
            "IpProtocol": "-1",
            "UserIdGroupPairs": [{"GroupId": peer, "UserId": ACCOUNT} for peer in peers],
        }
        if group_id not in self.world.group_rules:
            rule["IpRanges"] = [{"CidrIp": "10.0.0.0/8"}]
        rules = [rule] if peers else []
        return {
            "GroupId": group_id,
            "VpcId": self.world.vpc_id,
            "IpPermissions": rules,
            "IpPermissionsEgress": rules,
        }

    def _reservations(self, given: Parameters) -> Answer:
        wanted = given["CapacityReservationIds"]
        return {"CapacityReservations": list(map(self._reservation, wanted))}

    def _reservation(self, reservation_id: str) -> Answer:
        facts = self.world.reservations.get(reservation_id)
        if facts is None:
            text = f"The capacity reservation '{reservation_id}' does not exist"
            raise AwsError("InvalidCapacityReservationId.NotFound", text)
        kind, prefix = facts.get("kind", "default"), "aws:ec2capacityreservation:"
        block_tags = {
            f"{prefix}incrementalRequestedQuantity": str(facts["count"]),
            f"{prefix}capacityReservationType": kind,
        }
        tags = block_tags if kind == "capacity-block" else {}
        return {
            "CapacityReservationId": reservation_id,
            "CapacityReservationArn": self._arn("ec2", f"capacity-reservation/{reservation_id}"),
            "InstanceType": facts["type"],
            "InstancePlatform": facts.get("platform", "Linux/UNIX"),
            "AvailabilityZone": facts.get("zone", self._zone()),
            "TotalInstanceCount": facts["count"],
            "AvailableInstanceCount": facts["count"],
            "State": "active",
            "ReservationType": kind,
            "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        }

    def _group_members(self, given: Parameters) -> Answer:
        ids = self.world.reservation_groups.get(given.get("Group") or given["GroupName"], [])
        arns = [self._arn("ec2", f"capacity-reservation/{each}") for each in ids]
        kind = "AWS::EC2::CapacityReservation"
        return {
            "Resources": [{"Identifier": {"ResourceType": kind, "ResourceArn": a}} for a in arns]
        }

    def _addresses(self, given: Parameters) -> Answer:
        address = given["PublicIps"][0]
        if not address.replace(".", "").isdigit():
            text = f"Invalid value for IP address: {address}"
            raise AwsError("InvalidParameterValue", text)
        return {"Addresses": [{"PublicIp": address, "AllocationId": "eipalloc-0123456789abcdef0"}]}

    def _file_systems(self, given: Parameters) -> Answer:
        return {"FileSystems": list(map(self._file_system, given["FileSystemIds"]))}

    def _file_system(self, file_system_id: str) -> Answer:
        return {
            "FileSystemId": file_system_id,
            "FileSystemType": "LUSTRE",
            "VpcId": self.world.file_system_vpcs.get(file_system_id, self.world.vpc_id),
            "SubnetIds": ["subnet-0123456789abcdef1"],
            "NetworkInterfaceIds": [file_system_id.replace("fs-", "eni-")],
            "DNSName": f"{file_system_id}.fsx.{self.world.region}.amazonaws.com",
            "LustreConfiguration": {"MountName": "fsx"},
        }

    def _network_interfaces(self, given: Parameters) -> Answer:
        return {"NetworkInterfaces": list(map(self._interface, given["NetworkInterfaceIds"]))}

    def _interface(self, interface_id: str) -> Answer:
        file_system_id = interface_id.replace("eni-", "fs-")
        default = ["sg-0123456789abcdef0"]
        groups = self.world.file_system_groups.get(file_system_id, default)
        return {
            "NetworkInterfaceId": interface_id,
            "VpcId": self.world.vpc_id,
            "Groups": [{"GroupId": group} for group in groups],
        }

    def _run_instances(self, given: Parameters) -> Answer:
        if not given.get("DryRun"):
            raise NotImplementedError("only dry runs are answered")
        raise AwsError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")

    def _head_object(self, given: Parameters) -> Answer:
        if f"s3://{given['Bucket']}/{given['Key']}" in self.world.missing_objects:
            raise AwsError("404", "Not Found")
        return {}

    def _put_object(self, given: Parameters) -> Answer:
        body = given["Body"]
        content = body if isinstance(body, (bytes, str)) else body.read()
        text = content.encode() if isinstance(content, str) else content
        self.objects[given["Bucket"], given["Key"]] = text
        return {"VersionId": f"v{len(self.objects)}"}

    def _get_object(self, given: Parameters) -> Answer:
        content = self.objects.get((given["Bucket"], given["Key"]))
        if content is None:
            raise AwsError("NoSuchKey", "The specified key does not exist.")
        return {"Body": io.BytesIO(content)}
