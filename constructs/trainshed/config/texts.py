"""Texts with a form: ids, ARNs and names as AWS writes them. CDK tokens pass every check."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
)
from pydantic_core import CoreSchema, core_schema

from ..facts import PARTITIONS, ZoneId, ZoneName
from ..facts.grid import either
from ..records import is_stand_in, is_token


@dataclass(frozen=True, slots=True)
class Form:
    r"""The form of a text: a pattern for the whole of it, and the form in words.

    Args:
        pattern: Regular expression that the whole text matches; ``\d`` and ``\w`` are of ASCII.
        what: The form in words, with an example.
        hint: What to add for a text of a known wrong form; None for nothing.
        looked_up: Whether an app may have the CDK look it up. What stands in until then passes too,
            from an app and not from a file.
    """

    pattern: str
    what: str
    hint: Callable[[str], str | None] | None = None
    looked_up: bool = False

    def check(self, value: str) -> str:
        """Return the text if it has the form or is a CDK token.

        Raises:
            ValueError: The text has another form.
        """
        if is_token(value):
            return value
        if looks_secret(value):
            # Not quoted: this text goes into logs.
            raise ValueError(
                "a token or a webhook's address stands here, where everybody who reads the file "
                f"sees it; put it into Secrets Manager, make a new one, and write {self.what}"
            )
        if self.fits(value):
            return value
        more = self.hint(value) if self.hint else None
        raise ValueError(f"{value!r} is not {self.what}" + (f"; {more}" if more else ""))

    def fits(self, value: str) -> bool:
        """Tell whether a text has the form."""
        return re.fullmatch(self.pattern, value, re.ASCII) is not None

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        if self.looked_up:
            return core_schema.with_info_after_validator_function(
                self._check_given, handler(source)
            )
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def _check_given(self, value: str, info: ValidationInfo) -> str:
        return value if info.mode == "python" and is_stand_in(value) else self.check(value)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "pattern": f"^(?:{self.pattern})$"}


def looks_secret(value: str) -> bool:
    """Tell whether a text is a token of Slack or the address of a webhook."""
    return value.startswith("xox") or "hooks.slack" in value


def _no_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(f"must be a whole number, got {str(value).lower()}")
    return value


NOT_A_BOOLEAN = BeforeValidator(_no_boolean)
"""For a literal number: pydantic takes ``true`` for 1."""

_HEX = "[0-9a-f]{8}(?:[0-9a-f]{9})?"


def _id(prefix: str, what: str) -> Form:
    words = f"{what}, {prefix}- and 8 or 17 hexadecimal digits"
    return Form(f"{prefix}-{_HEX}", words, looked_up=True)


CapacityReservationId = Annotated[str, _id("cr", "a Capacity Reservation id")]
VpcId = Annotated[str, _id("vpc", "a VPC id")]
SubnetId = Annotated[str, _id("subnet", "a subnet id")]
SecurityGroupId = Annotated[str, _id("sg", "a security group id")]
AmiId = Annotated[str, _id("ami", "an AMI id")]
FileSystemId = Annotated[
    str,
    Form("fs-[0-9a-f]{8,40}", "a file system id, such as fs-0123456789abcdef0", looked_up=True),
]

_ARN = r"arn:aws[a-z-]*"
ResourceGroupArn = Annotated[
    str,
    Form(
        rf"{_ARN}:resource-groups:[a-z0-9-]+:\d{{12}}:group/[\w.-]{{1,300}}",
        "the ARN of a resource group, arn:aws:resource-groups:REGION:ACCOUNT:group/NAME",
    ),
]
KeyArn = Annotated[
    str,
    Form(
        rf"{_ARN}:kms:[a-z0-9-]+:\d{{12}}:key/[0-9A-Za-z-]+",
        "the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/ID",
    ),
]
_SECRET = rf"{_ARN}:secretsmanager:[a-z0-9-]+:\d{{12}}:secret:[\w/+=.@-]{{1,512}}"


def _lacks_its_end(value: str) -> str | None:
    # A right to the ARN without them is a right to nothing: Secrets Manager user guide, "Secret
    # ARN in IAM policies", read 2026-11-30.
    if not re.fullmatch(_SECRET, value, re.ASCII):
        return None
    return (
        "its last part lacks the hyphen and six characters that Secrets Manager added to the name"
    )


SecretArn = Annotated[
    str,
    Form(
        rf"{_SECRET}-[A-Za-z0-9]{{6}}",
        "the ARN of a secret, arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME",
        _lacks_its_end,
    ),
]


# IAM user guide "AWS managed policies for job functions", read 2026-11-29: they are for people, and
# those for administrators may make roles.
PolicyArn = Annotated[
    str,
    Form(
        rf"{_ARN}:iam::(?:\d{{12}}|aws):policy/(?!job-function/)"
        r"(?:[!-.0-~]+/)*(?!AdministratorAccess|IAMFullAccess$|PowerUserAccess$)[\w+=,.@-]{1,128}",
        "the ARN of a policy that a node may have; AdministratorAccess, PowerUserAccess, "
        "IAMFullAccess and the policies of job functions are refused, since every job on a node "
        "can use the node's rights",
    ),
]

# S3 user guide "General purpose bucket naming rules", read 2026-11-29; aws-cdk-lib also refuses a
# hyphen beside a dot.
BucketName = Annotated[
    str,
    Form(
        r"(?!xn--|sthree-|amzn-s3-demo-)(?!.*(?:\.\.|\.-|-\.))(?!\d+\.\d+\.\d+\.\d+$)"
        r"(?!.*(?:-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]",
        "a bucket name: 3 to 63 lower-case letters, digits, dots and hyphens, no dot beside "
        "another dot or a hyphen, no IP address, and none of S3's reserved beginnings and ends",
        hint=lambda value: (
            "give the name alone, without s3://" if value.startswith("s3:") else None
        ),
    ),
]
PlacementGroupName = Annotated[str, Form(r"[\x20-\x7e]{1,255}", "a placement group name")]
AccountId = Annotated[str, Form(r"\d{12}", "an account id, twelve digits in quotes")]


def _known_region(value: str) -> str:
    if is_token(value) or value in PARTITIONS:
        return value
    near = get_close_matches(value, PARTITIONS, 2) or ["us-east-1"]
    raise ValueError(f"{value!r} is no Region of AWS; did you mean {either(near)}?")


RegionName = Annotated[
    str,
    Form(
        r"[a-z]{2,4}(-[a-z]+)+-\d",
        "a Region, such as us-east-1",
        hint=lambda value: (
            f"that is a zone; its Region is {value[:-1]}"
            if re.fullmatch(r"[a-z]{2,4}(-[a-z]+)+-[0-9][a-z]", value)
            else None
        ),
    ),
    AfterValidator(_known_region),
]


def _zone(value: str) -> str:
    for kind in (ZoneName, ZoneId):
        try:
            return kind(value).value
        except ValueError:
            continue
    raise ValueError(
        f"{value!r} is no Availability Zone; use its name, us-east-1a, or id, use1-az4"
    )


ZoneText = Annotated[str, AfterValidator(_zone)]
"""A zone by name or by id."""

InstanceTypeName = Annotated[
    str,
    Form(
        r"[a-z][a-z0-9-]{0,24}\.[a-z0-9-]+",
        "an instance type: family, dot and size in lower case, such as p5en.48xlarge",
    ),
]
GpuName = Annotated[
    str,
    Form(
        r"([a-z][a-z0-9_-]{0,31})?",
        "a Slurm type: a lower-case letter, then up to 31 lower-case letters, digits, _ and -",
    ),
]
InstitutionName = Annotated[
    str,
    Form(
        r"[a-z][a-z0-9-]{0,29}",
        "a name: it starts with a lower-case letter and has up to 30 lower-case letters, "
        "digits and hyphens",
    ),
]
MountDirectory = Annotated[
    str,
    Form(r"(/[A-Za-z0-9._-]+)+", "an absolute path, such as /fsx"),
]

# aws-parallelcluster 3.16.1, pcluster/constants.py and validators, read 2026-11-29.
ClusterName = Annotated[
    str,
    Form(
        r"[A-Za-z][A-Za-z0-9-]{0,59}", "a cluster name: a letter, then up to 59 letters, digits, -"
    ),
]
QueueName = Annotated[
    str,
    Form(
        r"(?!default$)[a-z][a-z0-9-]{0,24}",
        "a queue name: it starts with a lower-case letter, has up to 25 lower-case letters, "
        "digits and hyphens, and is not 'default'",
    ),
]
