"""Quotas of an AWS account, with their codes and the values that a new account has.

Codes and defaults: AWS General Reference, "Service endpoints and quotas" of EC2, EBS and VPC, as
public projects quote them, and Service Quotas' own listing of them, read 2026-11-29. FSx's are in
:mod:`trainshed.facts.lustre`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota.

    Args:
        name: As Service Quotas shows it, or in our words where it does not.
        service: Service code in Service Quotas; empty where it is not there.
        code: Quota code; empty where it is not there, and AWS does not raise it.
        default: What an account has unless it was raised; None where that depends on it.
        unit: What is counted.
    """

    name: str
    service: str
    code: str
    default: int | None
    unit: str = ""

    @property
    def adjustable(self) -> bool:
        """Whether AWS raises it on request."""
        return bool(self.code)


def _ec2(name: str, code: str, default: int) -> Quota:
    return Quota(name, "ec2", code, default, "vCPUs")


ON_DEMAND: Mapping[str, Quota] = {
    "P": _ec2("Running On-Demand P instances", "L-417A185B", 0),
    "G": _ec2("Running On-Demand G and VT instances", "L-DB2E81BA", 0),
    "Trn": _ec2("Running On-Demand Trn instances", "L-2C3B7624", 0),
    "Inf": _ec2("Running On-Demand Inf instances", "L-1945791B", 0),
    "Standard": _ec2(
        "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "L-1216C47A", 5
    ),
}
"""vCPUs that run On-Demand or are held by Capacity Reservations, used or not."""

SPOT: Mapping[str, Quota] = {
    "P": _ec2("All P Spot Instance Requests", "L-7212CCBC", 0),
    "G": _ec2("All G and VT Spot Instance Requests", "L-3819A6DF", 0),
    "Trn": _ec2("All Trn Spot Instance Requests", "L-6B0D517C", 0),
    "Inf": _ec2("All Inf Spot Instance Requests", "L-B5D1601B", 0),
    "Standard": _ec2(
        "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", "L-34B43A08", 5
    ),
}
"""vCPUs of Spot requests."""

# EC2 user guide "Capacity Blocks for ML", read 2026-11-29.
BLOCK_INSTANCES = Quota("Instances in one Capacity Block", "", "", 64, "instances")
ALL_BLOCK_INSTANCES = Quota("Instances in all Capacity Blocks", "", "", 256, "instances")

GP3_STORAGE = Quota(
    "Storage for General Purpose SSD (gp3) volumes, in TiB", "ebs", "L-7A658B76", 50, "TiB"
)
ELASTIC_IPS = Quota("EC2-VPC Elastic IPs", "ec2", "L-0263D0A3", 5)
NAT_GATEWAYS = Quota("NAT gateways per Availability Zone", "vpc", "L-FE5A380F", 5)
VPCS = Quota("VPCs per Region", "vpc", "L-F678F1CE", 5)
INTERFACE_ENDPOINTS = Quota("Interface VPC endpoints per VPC", "vpc", "L-29B6F2EB", 50)
GATEWAY_ENDPOINTS = Quota("Gateway VPC endpoints per Region", "vpc", "L-1B52E74A", 20)
NETWORK_INTERFACES = Quota("Network interfaces per Region", "vpc", "L-DF5E4CA3", 5000)
GROUP_RULES = Quota("Inbound or outbound rules per security group", "vpc", "L-0EA8095F", 60)
# Lambda quotas, read 2026-11-29; a new account may have 10.
LAMBDA_CONCURRENCY = Quota("Concurrent executions", "lambda", "L-B99A9384", 1000)
INTERFACE_GROUPS = Quota("Security groups per network interface", "vpc", "L-2AFB9258", 5)


def vcpu_class(family: str) -> str:
    """Return the key of an instance family in :data:`ON_DEMAND` and :data:`SPOT`.

    Args:
        family: What is before the dot, such as ``p5en``.
    """
    for prefix, name in (("trn", "Trn"), ("inf", "Inf"), ("vt", "G"), ("p", "P"), ("g", "G")):
        if family.startswith(prefix):
            return name
    return "Standard"
