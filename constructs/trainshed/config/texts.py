"""Texts with a form: ids, ARNs and names as AWS writes them. CDK tokens pass every check."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from ..records import is_token


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a text: a pattern for the whole of it, and the form in words.

    Args:
        pattern: Regular expression that the whole text matches.
        what: The form in words, with an example.
        hint: What to add for a text of a known wrong form; None for nothing.
    """

    pattern: str
    what: str
    hint: Callable[[str], str | None] | None = None

    def check(self, value: str) -> str:
        """Return the text if it has the form or is a CDK token.

        Raises:
            ValueError: The text has another form.
        """
        if is_token(value) or re.fullmatch(self.pattern, value):
            return value
        more = self.hint(value) if self.hint else None
        raise ValueError(f"{value!r} is not {self.what}" + (f"; {more}" if more else ""))

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "pattern": f"^(?:{self.pattern})$"}


_HEX = "[0-9a-f]{8}(?:[0-9a-f]{9})?"


def _id(prefix: str, what: str) -> Form:
    return Form(f"{prefix}-{_HEX}", f"{what}, {prefix}- and 8 or 17 hexadecimal digits")


CapacityReservationId = Annotated[str, _id("cr", "a Capacity Reservation id")]
VpcId = Annotated[str, _id("vpc", "a VPC id")]
SubnetId = Annotated[str, _id("subnet", "a subnet id")]
SecurityGroupId = Annotated[str, _id("sg", "a security group id")]
AmiId = Annotated[str, _id("ami", "an AMI id")]
FileSystemId = Annotated[
    str, Form("fs-[0-9a-f]{8,40}", "a file system id, such as fs-0123456789abcdef0")
]

_ARN = r"arn:aws[a-z-]*"
ResourceGroupArn = Annotated[
    str,
    Form(
        rf"{_ARN}:resource-groups:[a-z0-9-]+:\d{{12}}:group/\S+",
        "the ARN of a resource group, arn:aws:resource-groups:REGION:ACCOUNT:group/NAME",
    ),
]
KeyArn = Annotated[
    str,
    Form(
        rf"{_ARN}:kms:[a-z0-9-]+:\d{{12}}:key/\S+",
        "the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/ID",
    ),
]
SecretArn = Annotated[
    str,
    Form(
        rf"{_ARN}:secretsmanager:[a-z0-9-]+:\d{{12}}:secret:\S+",
        "the ARN of a secret, arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME",
    ),
]


PolicyArn = Annotated[
    str,
    Form(
        rf"{_ARN}:iam::(\d{{12}}|aws):policy/(?!AdministratorAccess$|IAMFullAccess$|PowerUserAccess$)\S+",
        "the ARN of a policy that a node may have; AdministratorAccess, PowerUserAccess and "
        "IAMFullAccess are refused, since every job on a node can use the node's rights",
    ),
]

BucketName = Annotated[
    str,
    Form(
        r"(?!xn--)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]",
        "a bucket name: 3 to 63 lower-case letters, digits, dots and hyphens",
        hint=lambda value: (
            "give the name alone, without s3://" if value.startswith("s3:") else None
        ),
    ),
]
PlacementGroupName = Annotated[str, Form(r"[\x20-\x7e]{1,255}", "a placement group name")]
AccountId = Annotated[str, Form(r"\d{12}", "an account id, twelve digits in quotes")]
RegionName = Annotated[
    str,
    Form(
        r"[a-z]{2}(-[a-z]+)+-\d",
        "a Region, such as us-east-1",
        hint=lambda value: (
            f"that is a zone; its Region is {value[:-1]}"
            if re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d[a-z]", value)
            else None
        ),
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
