"""Checks the endpoints of an existing VPC whose nodes reach nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..config import ExistingVpc
from ..facts.endpoints import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS
from .verdict import Clients, Run, Verdict, judged


def endpoints_check(region: str, source: ExistingVpc) -> Run:
    """Return the check that an isolated VPC has every endpoint that nodes call.

    Args:
        region: AWS Region.
        source: The VPC.
    """

    def run(clients: Clients) -> Verdict:
        pages = clients.client("ec2").get_paginator("describe_vpc_endpoints")
        filters = [{"Name": "vpc-id", "Values": [source.vpc_id]}]
        found = {
            endpoint["ServiceName"]: endpoint
            for page in pages.paginate(Filters=filters)
            for endpoint in page["VpcEndpoints"]
        }
        faults = [
            *_interface_faults(region, source, found),
            *_gateway_faults(region, source, found),
        ]
        return judged(faults, f"all {len(INTERFACE_ENDPOINTS) + len(GATEWAY_ENDPOINTS)} are there")

    return run


def _interface_faults(
    region: str, source: ExistingVpc, found: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    for service in sorted(INTERFACE_ENDPOINTS.values()):
        name = f"com.amazonaws.{region}.{service}"
        endpoint = found.get(name)
        if endpoint is None:
            yield (
                f"there is no endpoint of {service}",
                f"aws ec2 create-vpc-endpoint --vpc-id {source.vpc_id} --service-name {name} "
                f"--vpc-endpoint-type Interface --subnet-ids {source.compute_subnet_id} "
                "--private-dns-enabled --security-group-ids GROUP, one that lets the nodes in on "
                "port 443",
            )
        elif endpoint.get("State", "available").lower() != "available":
            yield f"the endpoint of {service} is {endpoint['State']}", f"see {_id(endpoint)}"
        elif not endpoint.get("PrivateDnsEnabled", False):
            yield (
                f"the endpoint of {service} has no private DNS, so nodes do not find it",
                f"aws ec2 modify-vpc-endpoint --vpc-endpoint-id {_id(endpoint)} "
                "--private-dns-enabled",
            )


def _gateway_faults(
    region: str, source: ExistingVpc, found: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    for service in GATEWAY_ENDPOINTS:
        name = f"com.amazonaws.{region}.{service}"
        endpoint = found.get(name)
        if endpoint is None:
            yield (
                f"there is no endpoint of {service}",
                f"aws ec2 create-vpc-endpoint --vpc-id {source.vpc_id} --service-name {name} "
                f"--route-table-ids TABLE, the one of {source.compute_subnet_id}",
            )
        elif not endpoint.get("RouteTableIds") and endpoint.get("VpcEndpointType") == "Gateway":
            yield (
                f"the endpoint of {service} is in no route table",
                f"aws ec2 modify-vpc-endpoint --vpc-endpoint-id {_id(endpoint)} "
                f"--add-route-table-ids TABLE, the one of {source.compute_subnet_id}",
            )


def _id(endpoint: Any) -> str:
    return str(endpoint.get("VpcEndpointId", "the VPC's endpoints"))
