"""CloudFormation types that ministack's EC2 can act on, and its CloudFormation does not know."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ministack.services import ec2
from ministack.services.cloudformation import provisioners

Properties = Mapping[str, Any]
Made = tuple[str, dict[str, str]]


def call(action: Callable[[dict[str, list[str]]], Any], **parameters: Any) -> str:
    """Call an action of ministack's EC2 as a request would, and return the XML of its answer."""
    flat = {key: [value] for name, given in parameters.items() for key, value in _flat(name, given)}
    status, _, body = action(flat)
    text = body.decode() if isinstance(body, bytes) else str(body)
    if status >= 400:
        raise ValueError(text)
    return text


def _flat(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield a parameter as the query protocol has it, lists from 1."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _flat(f"{key}.{name}", each)
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value, 1):
            yield from _flat(f"{key}.{place}", each)
    else:
        yield key, str(value).lower() if isinstance(value, bool) else str(value)


def element(xml: str, name: str) -> str:
    """Return the text of the first element of a name."""
    found = re.search(f"<{name}>(.*?)</{name}>", xml)
    assert found is not None, f"no {name} in {xml}"
    return found.group(1)


def _make_address(_: str, properties: Properties, __: str) -> Made:
    xml = call(ec2._allocate_address, Domain=properties.get("Domain", "vpc"))
    address = element(xml, "publicIp")
    return address, {"AllocationId": element(xml, "allocationId"), "PublicIp": address}


def _release_address(address: str, _: Properties) -> None:
    for allocation, record in list(ec2._addresses.items()):
        if record["PublicIp"] == address:
            call(ec2._release_address, AllocationId=allocation)


def _make_gateway(_: str, properties: Properties, __: str) -> Made:
    wanted = {"SubnetId": properties["SubnetId"], "AllocationId": properties["AllocationId"]}
    gateway = element(call(ec2._create_nat_gateway, **wanted), "natGatewayId")
    return gateway, {"NatGatewayId": gateway}


def _delete_gateway(gateway: str, _: Properties) -> None:
    call(ec2._delete_nat_gateway, NatGatewayId=gateway)


def _make_volume(_: str, properties: Properties, __: str) -> Made:
    wanted = {
        key: properties[key]
        for key in ("AvailabilityZone", "Size", "VolumeType", "Iops", "Throughput", "Encrypted")
        if key in properties
    }
    tags = {"ResourceType": "volume", "Tag": list(properties.get("Tags", []))}
    xml = call(ec2._create_volume, **wanted, TagSpecification=[tags])
    volume = element(xml, "volumeId")
    return volume, {"VolumeId": volume}


def _delete_volume(volume: str, _: Properties) -> None:
    call(ec2._delete_volume, VolumeId=volume)


def _rule(
    direction: str, peer: str
) -> dict[str, Callable[[str, Properties, str], Made] | Callable[[str, Properties], None]]:
    authorize = getattr(ec2, f"_authorize_sg_{direction}")
    revoke = getattr(ec2, f"_revoke_sg_{direction}")

    def request(properties: Properties) -> dict[str, Any]:
        permission = {"IpProtocol": properties["IpProtocol"]}
        permission |= {key: properties[key] for key in ("FromPort", "ToPort") if key in properties}
        if peer in properties:
            permission["Groups"] = [{"GroupId": properties[peer]}]
        if "CidrIp" in properties:
            permission["IpRanges"] = [{"CidrIp": properties["CidrIp"]}]
        return {"GroupId": properties["GroupId"], "IpPermissions": [permission]}

    def create(_: str, properties: Properties, __: str) -> Made:
        call(authorize, **request(properties))
        id = f"sgr-{uuid.uuid4().hex[:17]}"
        return id, {"Id": id}

    def delete(_: str, properties: Properties) -> None:
        try:
            call(revoke, **request(properties))
        except ValueError:
            return  # its group is gone already

    return {"create": create, "delete": delete}


def _with_range(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ministack's VPC with the attribute CidrBlock, which it lacks."""

    def create(logical_id: str, properties: Properties, stack: str) -> Made:
        id, attributes = own["create"](logical_id, properties, stack)
        return id, {**attributes, "CidrBlock": properties["CidrBlock"]}

    return {**own, "create": create}


def install() -> None:
    """Give ministack's CloudFormation these types."""
    handlers = provisioners._RESOURCE_HANDLERS
    handlers.update(
        {
            "AWS::EC2::VPC": _with_range(handlers["AWS::EC2::VPC"]),
            "AWS::EC2::EIP": {"create": _make_address, "delete": _release_address},
            "AWS::EC2::NatGateway": {"create": _make_gateway, "delete": _delete_gateway},
            "AWS::EC2::Volume": {"create": _make_volume, "delete": _delete_volume},
            "AWS::EC2::SecurityGroupIngress": _rule("ingress", "SourceSecurityGroupId"),
            "AWS::EC2::SecurityGroupEgress": _rule("egress", "DestinationSecurityGroupId"),
        }
    )
