from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from trainshed.config import Institution
from trainshed.doctor import (
    Answer,
    Check,
    Status,
    Verdict,
    as_json,
    as_text,
    checks_of,
    diagnose,
    exit_code,
)
from trainshed.doctor.diagnosis import SIGN_IN, ask, ask_all

Make = Callable[..., Institution]
ROOT = Path(__file__).parents[3]

READY = Answer("zone", "ec2:X", Verdict(Status.READY, "there"))
NOT_READY = Answer("quota", "sq:X", Verdict(Status.NOT_READY, "0 of 1", "ask\nand wait"))
UNKNOWN = Answer("image", "ec2:Y", Verdict(Status.UNKNOWN, "no permission", "become somebody"))


def _identity(account: str) -> dict[str, str]:
    return {"Account": account, "Arn": f"arn:aws:iam::{account}:user/ops", "UserId": "AIDA"}


def test_another_account_ends_the_questions(institution: Make, aws: Any) -> None:
    aws.answer("sts", "get_caller_identity", _identity("999999999999"))
    first, *others = diagnose(institution(), aws)
    assert first.verdict.detail == (
        "credentials are of account 999999999999, and account is 111122223333"
    )
    assert {other.verdict.status for other in others} == {Status.UNKNOWN}
    assert [other.check for other in others] == [c.name for c in checks_of(institution())]
    assert exit_code([first, *others]) == 1


def test_the_right_account_is_asked_everything(institution: Make, aws: Any) -> None:
    aws.answer("sts", "get_caller_identity", _identity("111122223333"))
    first, *others = diagnose(institution(), aws)
    assert first.verdict == Verdict(Status.READY, "arn:aws:iam::111122223333:user/ops")
    # Nothing else has a canned answer, and botocore's stubs refuse to be asked.
    assert {other.verdict.status for other in others} == {Status.UNKNOWN}
    assert len(others) > 10


class _Raising:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def client(self, service: str) -> Any:
        raise self._error


def test_no_credentials_are_not_ready(institution: Make) -> None:
    first = diagnose(institution(), _Raising(NoCredentialsError()))[0]
    assert first.verdict == Verdict(Status.NOT_READY, "there are no credentials", SIGN_IN)


def test_no_network_is_unknown(institution: Make) -> None:
    clients = _Raising(EndpointConnectionError(endpoint_url="https://sts"))
    verdict = diagnose(institution(), clients)[0].verdict
    assert verdict.status is Status.UNKNOWN
    assert "https://sts" in verdict.detail


@pytest.mark.parametrize(
    ("code", "status", "detail"),
    [
        ("UnauthorizedOperation", Status.UNKNOWN, "no permission for ec2:DescribeImages"),
        ("AccessDeniedException", Status.UNKNOWN, "no permission for ec2:DescribeImages"),
        (
            "ExpiredToken",
            Status.NOT_READY,
            "the credentials are not valid here (ExpiredToken)",
        ),
        ("InternalError", Status.UNKNOWN, "InternalError: as canned"),
    ],
)
def test_an_error_of_aws_is_a_verdict(code: str, status: Status, detail: str, aws: Any) -> None:
    aws.refuse("ec2", "describe_images", code)
    check = Check("image", "ec2:DescribeImages", lambda c: c.client("ec2").describe_images())
    verdict = ask(check, aws)
    assert (verdict.status, verdict.detail) == (status, detail)


def test_what_does_not_answer_in_time_is_unknown(aws: Any) -> None:
    gate = threading.Event()

    def waits(clients: object) -> Verdict:
        gate.wait()
        return READY.verdict

    checks = [Check("slow", "a:B", waits), Check("fast", "a:C", lambda clients: READY.verdict)]
    try:
        slow, fast = ask_all(checks, aws, time.monotonic() + 0.05)
        assert slow.verdict.detail == "no answer in time"
        assert slow.verdict.status is Status.UNKNOWN
        assert fast.verdict.status in (Status.READY, Status.UNKNOWN)
    finally:
        gate.set()


def test_questions_are_asked_side_by_side(aws: Any) -> None:
    together = threading.Barrier(4, timeout=30)

    def waits_for_the_others(clients: object) -> Verdict:
        together.wait()
        return READY.verdict

    checks = [Check(str(number), "a:B", waits_for_the_others) for number in range(4)]
    answers = ask_all(checks, aws, time.monotonic() + 60)
    assert [answer.verdict.status for answer in answers] == [Status.READY] * 4


def test_a_fault_of_a_check_itself_is_not_swallowed(aws: Any) -> None:
    def wrong(clients: object) -> Verdict:
        raise KeyError("a name that AWS does not use")

    with pytest.raises(KeyError, match="a name that AWS does not use"):
        ask_all([Check("wrong", "a:B", wrong)], aws, time.monotonic() + 60)


@pytest.mark.parametrize(
    ("answers", "strict", "code"),
    [
        ([READY], False, 0),
        ([READY, UNKNOWN], False, 0),
        ([READY, UNKNOWN], True, 1),
        ([READY, NOT_READY], False, 1),
        ([replace(UNKNOWN, check="account")], False, 1),
    ],
)
def test_the_exit_code_says_whether_to_deploy(
    answers: list[Answer], strict: bool, code: int
) -> None:
    assert exit_code(answers, strict=strict) == code


def test_text_has_the_fix_below_what_is_wrong() -> None:
    assert as_text([READY, NOT_READY, UNKNOWN]).splitlines() == [
        "ready      zone: there",
        "not ready  quota: 0 of 1",
        "           -> ask",
        "           -> and wait",
        "unknown    image: no permission",
        "           -> become somebody",
        "",
        "1 ready, 1 not ready, 1 unknown",
    ]


def test_json_has_everything() -> None:
    found = json.loads(as_json([READY, NOT_READY]))
    assert found["ready"] is False
    assert found["checks"][1] == {
        "check": "quota",
        "status": "not ready",
        "detail": "0 of 1",
        "fix": "ask\nand wait",
        "permission": "sq:X",
    }


def test_it_only_reads() -> None:
    called: set[str] = set()
    for path in (ROOT / "constructs" / "trainshed" / "doctor").glob("*.py"):
        called |= set(re.findall(r'client\("[a-z0-9-]+"\)\s*\.(\w+)\(', path.read_text()))
        called |= set(re.findall(r"\b(?:ec2|fsx|client)\.(\w+)\(", path.read_text()))
    called -= {"client"}
    assert len(called) >= 20
    assert {name.split("_")[0] for name in called} <= {"describe", "get", "head", "list"}


def test_permissions_are_those_of_reading(institution: Make) -> None:
    for check in checks_of(institution()):
        verb = check.permission.split(":")[1]
        assert verb.startswith(("Describe", "Get", "List")), check


def test_boto3_and_the_cdk_wait_until_somebody_asks() -> None:
    code = (
        "import sys, trainshed.cli.doctor, trainshed.cli.cost, trainshed.cli.quotas, "
        "trainshed.cli.picture; print(sorted({'boto3', 'aws_cdk', 'pydantic'} & set(sys.modules)));"
        "import trainshed.doctor; print(sorted({'boto3', 'aws_cdk'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]


def test_the_documentation_names_every_permission(institution: Make) -> None:
    queues = """
    a: {instance_type: p5.48xlarge, max_nodes: 1, capacity: {kind: open_reservation}}
    b: {instance_type: p5.48xlarge, max_nodes: 1, capacity: {kind: targeted_reservation,
        resource_group_arn: 'arn:aws:resource-groups:us-east-1:111122223333:group/p5'}}
    """
    fleet = """
    head_node: {ssh: {key_name: ops, allowed_cidr: 10.0.0.0/16}}
    image: {os: ubuntu2204, ami_id: ami-0123456789abcdef0}
    accounting: {host: db.example.edu, user: slurm, password_secret_arn:
        'arn:aws:secretsmanager:us-east-1:111122223333:secret:slurm-AbCdEf'}
    """
    network = """
    zone: us-east-1a
    existing: {vpc_id: vpc-0123456789abcdef0, cidr: 10.0.0.0/16,
               compute_subnet_id: subnet-0123456789abcdef0, efa_group_allows_itself: true,
               efa_security_group_id: sg-0123456789abcdef0, internet: isolated}
    """
    storage = """
    existing: {file_system_id: fs-0123456789abcdef0, mount_name: fsx,
               dns_name: fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com,
               security_group_id: sg-0123456789abcdef0}
    links: {A: {path: /a, prefix: a/, direction: import, bucket: my-bucket}}
    """
    made = institution(queues=queues, fleet=fleet, network=network, storage=storage)
    text = (ROOT / "docs" / "doctor.md").read_text()
    needed = {check.permission for check in checks_of(made)} | {
        "servicequotas:GetAWSDefaultServiceQuota",
        "sts:GetCallerIdentity",
    }
    policy = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])
    assert set(policy["Statement"][0]["Action"]) == needed
