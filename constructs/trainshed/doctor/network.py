"""Checks of an existing VPC, of the image and of the key pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from .. import facts
from ..config import ExistingVpc, Institution
from ..config.fleet_rules import addresses_needed
from ..facts.parallelcluster import VERSION
from .endpoints import endpoints_check
from .image import find_image, locked_image_check, newest_image_check
from .verdict import Check, Clients, Run, Verdict, error_code, judged, not_ready, ready

ALL_PROTOCOLS = "-1"


def network_checks(institution: Institution) -> Iterator[Check]:
    """Yield the checks of an existing VPC, if it is one, of the image and of the key pair."""
    source = institution.network.source
    if isinstance(source, ExistingVpc):
        yield Check(f"DNS of {source.vpc_id}", "ec2:DescribeVpcAttribute", _dns(source.vpc_id))
        yield Check(
            f"subnet {source.compute_subnet_id}",
            "ec2:DescribeSubnets",
            _subnet(institution, source),
        )
        if source.efa_security_group_id:
            yield Check(
                f"group {source.efa_security_group_id}",
                "ec2:DescribeSecurityGroups",
                _efa_group(source.efa_security_group_id),
            )
        if source.internet == "isolated":
            yield Check(
                f"endpoints of {source.vpc_id}",
                "ec2:DescribeVpcEndpoints",
                endpoints_check(institution.region, source),
            )
    if institution.fleet.image.ami_id:
        yield Check("image", "ec2:DescribeImages", _image(institution))
    if institution.fleet.image.lock:
        yield Check("image", "ec2:DescribeImages", locked_image_check(institution))
    elif institution.fleet.image.latest:
        yield Check("image", "ssm:GetParameter", newest_image_check(institution))
    ssh = institution.fleet.head_node.ssh
    if ssh and ssh.key_name:
        yield Check(f"key pair {ssh.key_name}", "ec2:DescribeKeyPairs", _key(institution))


def _dns(vpc_id: str) -> Run:
    def run(clients: Clients) -> Verdict:
        ec2 = clients.client("ec2")
        faults = []
        for attribute, option in (
            ("enableDnsSupport", "--enable-dns-support"),
            ("enableDnsHostnames", "--enable-dns-hostnames"),
        ):
            answer = ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute=attribute)
            if not answer[attribute[0].upper() + attribute[1:]]["Value"]:
                fix = f"aws ec2 modify-vpc-attribute --vpc-id {vpc_id} {option}"
                faults.append((f"{attribute} is off", fix))
        return judged(faults, "DNS support and DNS hostnames are on")

    return run


def _subnet(institution: Institution, source: ExistingVpc) -> Run:
    def run(clients: Clients) -> Verdict:
        id = source.compute_subnet_id
        try:
            found = clients.client("ec2").describe_subnets(SubnetIds=[id])["Subnets"][0]
        except ClientError as error:
            if error_code(error) != "InvalidSubnetID.NotFound":
                raise
            return not_ready(
                f"there is no {id} in {institution.region}",
                f"aws ec2 describe-subnets --region {institution.region} "
                f"--filters Name=vpc-id,Values={source.vpc_id}",
            )
        faults = list(_subnet_faults(found, institution, source))
        return judged(
            faults, f"{found['CidrBlock']}, {found['AvailableIpAddressCount']:,} addresses free"
        )

    return run


def _subnet_faults(
    found: Any, institution: Institution, source: ExistingVpc
) -> Iterator[tuple[str, str]]:
    if found["VpcId"] != source.vpc_id:
        yield f"it is in {found['VpcId']}", f"vpc_id: {found['VpcId']}, or a subnet of that VPC"
    place = institution.network.place
    key = "AvailabilityZone" if isinstance(place, facts.ZoneName) else "AvailabilityZoneId"
    if found.get(key, place.value) != place.value:
        yield (
            f"it is in {found[key]}, and the network in {place.value}",
            f"take a subnet in {place.value}, where the capacity is",
        )
    if source.compute_subnet_cidr not in (None, found["CidrBlock"]):
        yield (
            f"its range is {found['CidrBlock']}, and the file says {source.compute_subnet_cidr}",
            f"compute_subnet_cidr: {found['CidrBlock']}",
        )
    needed = addresses_needed(institution.fleet, institution.known_types)
    free = found["AvailableIpAddressCount"]
    if free < needed:
        yield (
            f"{free} addresses are free, and nodes take {needed}",
            "take a larger subnet, fewer nodes, or efa_interface: efa-only",
        )
    if found.get("MapPublicIpOnLaunch"):
        yield (
            "it gives public addresses, which nodes with several interfaces cannot have",
            f"take a private subnet, or: aws ec2 modify-subnet-attribute --subnet-id "
            f"{found['SubnetId']} --no-map-public-ip-on-launch",
        )


def _efa_group(id: str) -> Run:
    def run(clients: Clients) -> Verdict:
        try:
            answer = clients.client("ec2").describe_security_groups(GroupIds=[id])
        except ClientError as error:
            if error_code(error) != "InvalidGroup.NotFound":
                raise
            return not_ready(f"there is no {id}", "leave it out, and one is made")
        found = answer["SecurityGroups"][0]
        permission = f"IpProtocol=-1,UserIdGroupPairs=[{{GroupId={id}}}]"
        faults = [
            (
                f"it does not allow itself all {direction} traffic, which EFA needs",
                f"aws ec2 authorize-security-group-{verb} --group-id {id} "
                f"--ip-permissions '{permission}'",
            )
            for direction, verb, key in (
                ("incoming", "ingress", "IpPermissions"),
                ("outgoing", "egress", "IpPermissionsEgress"),
            )
            if not _allows_itself(found[key], id)
        ]
        return judged(faults, "allows itself all traffic, both ways")

    return run


def _allows_itself(permissions: Any, id: str) -> bool:
    return any(
        permission["IpProtocol"] == ALL_PROTOCOLS
        and any(pair.get("GroupId") == id for pair in permission.get("UserIdGroupPairs", []))
        for permission in permissions
    )


def _image(institution: Institution) -> Run:
    fleet = institution.fleet
    id = str(fleet.image.ami_id)
    wanted = institution.known_types[fleet.head_node.instance_type].architecture

    def run(clients: Clients) -> Verdict:
        image = find_image(clients, id)
        if image is None:
            return not_ready(
                f"there is no {id} in {institution.region}, or it is not shared with the account",
                "build one with: pcluster build-image, or leave ami_id out",
            )
        return judged(list(_image_faults(image, wanted)), str(image.get("Name", id)))

    return run


def _image_faults(image: Any, wanted: str) -> Iterator[tuple[str, str]]:
    rebuild = "build one with: pcluster build-image, or leave ami_id out"
    if image.get("State", "available") != "available":
        yield f"it is {image['State']}", rebuild
    if image.get("Architecture", wanted) != wanted:
        yield f"it is for {image['Architecture']}, and nodes are {wanted}", rebuild
    tags = {tag["Key"]: tag["Value"] for tag in image.get("Tags", [])}
    built = tags.get("parallelcluster:version")
    if built != VERSION:
        made = f"for ParallelCluster {built}" if built else "without the tag of ParallelCluster"
        yield f"it was built {made}, and {VERSION} is needed", rebuild


def _key(institution: Institution) -> Run:
    ssh = institution.fleet.head_node.ssh
    name = str(ssh.key_name if ssh else "")

    def run(clients: Clients) -> Verdict:
        make = f"aws ec2 create-key-pair --key-type ed25519 --key-name {name}"
        where = f" --region {institution.region} --query KeyMaterial --output text > {name}.pem"
        try:
            answer = clients.client("ec2").describe_key_pairs(KeyNames=[name])
        except ClientError as error:
            if error_code(error) != "InvalidKeyPair.NotFound":
                raise
            return not_ready(f"there is no key pair {name}", make + where)
        kind = answer["KeyPairs"][0].get("KeyType", "rsa")
        if kind == "rsa" and institution.fleet.image.os.startswith("ubuntu"):
            return not_ready(
                f"it is an RSA key, which {institution.fleet.image.os} refuses",
                f"make another and give its name: {make}-ed25519{where}",
            )
        return ready(kind)

    return run
