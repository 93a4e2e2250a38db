"""Checks of account, Region, zone, quotas and the CDK's own stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from .. import facts
from ..config import Institution
from ..quotas import Need, quota_needs, request_command
from .verdict import Check, Clients, Run, Verdict, error_code, not_ready, ready

ACCOUNT = "account"
"""Name of the check that every other one depends on."""

# Highest requiresBootstrapStackVersion in assemblies of aws-cdk-lib 2.275.0, seen 2026-11-29.
BOOTSTRAP_VERSION = 8
BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"


def account_check(institution: Institution) -> Check:
    """Return the check that every other one depends on: whose credentials these are."""

    def run(clients: Clients) -> Verdict:
        identity = clients.client("sts").get_caller_identity()
        if identity["Account"] != institution.account:
            return not_ready(
                f"credentials are of account {identity['Account']}, and account is "
                f"{institution.account}",
                "sign in to the other account: aws sso login --profile PROFILE, and give "
                "--profile PROFILE",
            )
        return ready(f"{identity['Arn']}")

    return Check(ACCOUNT, "sts:GetCallerIdentity", run)


def account_checks(institution: Institution) -> Iterator[Check]:
    """Yield what is asked of every institution's account."""
    yield Check("Region", "ec2:DescribeRegions", _region(institution))
    yield Check("zone", "ec2:DescribeAvailabilityZones", _zone(institution))
    yield Check("CDK bootstrap", "ssm:GetParameter", _bootstrap(institution))
    for need in quota_needs(institution):
        if need.quota.adjustable:
            yield Check(
                f"quota {need.quota.name}",
                "servicequotas:GetServiceQuota",
                _quota(need, institution),
            )


def _region(institution: Institution) -> Run:
    region = institution.region

    def run(clients: Clients) -> Verdict:
        answer = clients.client("ec2").describe_regions(RegionNames=[region], AllRegions=True)
        status = answer["Regions"][0].get("OptInStatus", "opt-in-not-required")
        if status == "not-opted-in":
            return not_ready(
                f"{region} is not enabled in the account",
                f"aws account enable-region --region-name {region}",
            )
        return ready(f"{region}, {status}")

    return run


def _zone(institution: Institution) -> Run:
    place = institution.network.place
    by_name = isinstance(place, facts.ZoneName)

    def run(clients: Clients) -> Verdict:
        ec2 = clients.client("ec2")
        names = "aws ec2 describe-availability-zones --region " + institution.region
        try:
            asked = {"ZoneNames": [place.value]} if by_name else {"ZoneIds": [place.value]}
            zone = ec2.describe_availability_zones(**asked)["AvailabilityZones"][0]
        except ClientError as error:
            if error_code(error) != "InvalidParameterValue":
                raise
            return not_ready(
                f"{place.value} is not a zone of this account",
                f"take one of those that this shows: {names}",
            )
        if zone["State"] != "available":
            return not_ready(f"{place.value} is {zone['State']}", f"take another zone: {names}")
        return ready(f"{zone['ZoneName']} is {zone['ZoneId']} in this account")

    return run


def _bootstrap(institution: Institution) -> Run:
    environment = f"aws://{institution.account}/{institution.region}"

    def run(clients: Clients) -> Verdict:
        fix = f"cdk bootstrap {environment}"
        try:
            parameter = clients.client("ssm").get_parameter(Name=BOOTSTRAP_PARAMETER)
        except ClientError as error:
            if error_code(error) != "ParameterNotFound":
                raise
            return not_ready(f"{environment} is not bootstrapped", fix)
        version = int(parameter["Parameter"]["Value"])
        if version < BOOTSTRAP_VERSION:
            return not_ready(f"bootstrap version {version}, {BOOTSTRAP_VERSION} is needed", fix)
        return ready(f"version {version}")

    return run


def _quota(need: Need, institution: Institution) -> Run:
    quota = need.quota

    def run(clients: Clients) -> Verdict:
        value = _value(clients.client("service-quotas"), quota.service, quota.code)
        detail = f"{value:,.0f}, and this cluster needs {need.needed:,}"
        if value < need.needed:
            return not_ready(detail, request_command(need, institution.region))
        return ready(detail)

    return run


def _value(client: Any, service: str, code: str) -> float:
    """Return the account's value; AWS has none of its own before the first change of some."""
    asked = {"ServiceCode": service, "QuotaCode": code}
    try:
        return float(client.get_service_quota(**asked)["Quota"]["Value"])
    except ClientError as error:
        if error_code(error) != "NoSuchResourceException":
            raise
        return float(client.get_aws_default_service_quota(**asked)["Quota"]["Value"])
