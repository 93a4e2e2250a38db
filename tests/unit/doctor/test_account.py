from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainshed.config import Institution
from trainshed.doctor import Status, Verdict

Make = Callable[..., Institution]
Run = Callable[[Institution, str, Any], Verdict]
G_QUOTA = "quota Running On-Demand G and VT instances"


def test_a_zone_of_the_account_is_ready(institution: Make, verdict: Run, aws: Any) -> None:
    zone = {"ZoneName": "us-east-1a", "ZoneId": "use1-az6", "State": "available"}
    aws.answer(
        "ec2",
        "describe_availability_zones",
        {"AvailabilityZones": [zone]},
        ZoneNames=["us-east-1a"],
    )
    found = verdict(institution(), "zone", aws)
    assert found == Verdict(Status.READY, "us-east-1a is use1-az6 in this account")


def test_a_zone_that_is_not_there_is_not_ready(institution: Make, verdict: Run, aws: Any) -> None:
    aws.refuse("ec2", "describe_availability_zones", "InvalidParameterValue")
    found = verdict(institution(), "zone", aws)
    assert found.status is Status.NOT_READY
    assert found.detail == "us-east-1a is not a zone of this account"
    assert "aws ec2 describe-availability-zones --region us-east-1" in found.fix


def test_an_impaired_zone_is_not_ready(institution: Make, verdict: Run, aws: Any) -> None:
    zone = {"ZoneName": "us-east-1a", "ZoneId": "use1-az6", "State": "impaired"}
    aws.answer("ec2", "describe_availability_zones", {"AvailabilityZones": [zone]})
    assert verdict(institution(), "zone", aws).detail == "us-east-1a is impaired"


@pytest.mark.parametrize(
    ("opt_in", "status"),
    [("opt-in-not-required", Status.READY), ("not-opted-in", Status.NOT_READY)],
)
def test_a_region_has_to_be_enabled(
    opt_in: str, status: Status, institution: Make, verdict: Run, aws: Any
) -> None:
    region = {"RegionName": "us-east-1", "OptInStatus": opt_in}
    aws.answer("ec2", "describe_regions", {"Regions": [region]})
    found = verdict(institution(), "Region", aws)
    assert found.status is status
    enable = "aws account enable-region --region-name us-east-1"
    assert found.fix == (enable if status is Status.NOT_READY else "")


@pytest.mark.parametrize(
    ("version", "status", "detail"),
    [
        ("8", Status.READY, "version 8"),
        ("31", Status.READY, "version 31"),
        ("5", Status.NOT_READY, "bootstrap version 5, 8 is needed"),
    ],
)
def test_the_bootstrap_stack_has_to_be_recent(
    version: str, status: Status, detail: str, institution: Make, verdict: Run, aws: Any
) -> None:
    aws.answer(
        "ssm",
        "get_parameter",
        {"Parameter": {"Value": version}},
        Name="/cdk-bootstrap/hnb659fds/version",
    )
    found = verdict(institution(), "CDK bootstrap", aws)
    assert (found.status, found.detail) == (status, detail)


def test_an_account_without_bootstrap_is_told_the_command(
    institution: Make, verdict: Run, aws: Any
) -> None:
    aws.refuse("ssm", "get_parameter", "ParameterNotFound")
    found = verdict(institution(), "CDK bootstrap", aws)
    assert found.fix == "cdk bootstrap aws://111122223333/us-east-1"


def test_a_quota_that_is_high_enough_is_ready(institution: Make, verdict: Run, aws: Any) -> None:
    aws.answer(
        "service-quotas",
        "get_service_quota",
        {"Quota": {"Value": 96.0}},
        ServiceCode="ec2",
        QuotaCode="L-DB2E81BA",
    )
    found = verdict(institution(), G_QUOTA, aws)
    assert found == Verdict(Status.READY, "96, and this cluster needs 96")


def test_a_quota_that_is_too_low_comes_with_the_command(
    institution: Make, verdict: Run, aws: Any
) -> None:
    aws.answer("service-quotas", "get_service_quota", {"Quota": {"Value": 64.0}})
    found = verdict(institution(), G_QUOTA, aws)
    assert found.status is Status.NOT_READY
    assert found.fix == (
        "aws service-quotas request-service-quota-increase --region us-east-1 "
        "--service-code ec2 --quota-code L-DB2E81BA --desired-value 96"
    )


def test_a_quota_that_was_never_changed_has_its_default(
    institution: Make, verdict: Run, aws: Any
) -> None:
    aws.refuse("service-quotas", "get_service_quota", "NoSuchResourceException")
    aws.answer("service-quotas", "get_aws_default_service_quota", {"Quota": {"Value": 0.0}})
    assert verdict(institution(), G_QUOTA, aws).detail == "0, and this cluster needs 96"
