"""Names, tags, storage and alerts that are refused: the edits and the message of each."""

from __future__ import annotations

import pytest

from tests.unit.config.institution_text import ROUTES, alerts, existing_lustre, top

REFUSED = [
    pytest.param(
        [("name: uni", "name: Uni_1")],
        "1: name: 'Uni_1' is not a name: it starts with a lower-case letter and has up to 30 "
        "lower-case letters, digits and hyphens",
        id="name with capitals",
    ),
    pytest.param(
        [('"111122223333"', "111122223333")],
        '2: account: must be text, got 111122223333; write "111122223333" in quotes',
        id="account without quotes",
    ),
    pytest.param(
        [("region: us-east-1", "region: us-east-1a")],
        "3: region: 'us-east-1a' is not a Region, such as us-east-1; that is a zone; "
        "its Region is us-east-1",
        id="zone for a Region",
    ),
    pytest.param(
        [("region: us-east-1", 'region: us-east-1\ntags: {"aws:cost": x}')],
        "4: tags.aws:cost: the prefix 'aws:' is reserved; rename the tag",
        id="reserved tag",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {region: us-west-2}\n  lustre: {")],
        "8: storage.bucket.region: is for an existing bucket; a new one is made in the "
        "institution's region",
        id="Region of a new bucket",
    ),
    pytest.param(
        [
            (
                "  lustre: {",
                "  bucket: {existing: data, region: us-west-2}\n"
                "  links: {In: {path: /in, prefix: in/, direction: import}}\n  lustre: {",
            )
        ],
        "9: storage.links.In.direction: 'import' needs a bucket in us-east-1, and storage.bucket "
        "is in us-west-2; use direction export, or copy the bucket",
        id="D48 import from another Region",
    ),
    pytest.param(
        [("name: uni", "name: !!python/name:os.system uni")],
        "1: name: has the tag 'tag:yaml.org,2002:python/name:os.system'; write the plain value",
        id="YAML tag",
    ),
    pytest.param(
        [top("? [a, b]\n: c")],
        "4: ?: a key is text, and not a list or keys itself",
        id="a key that is a list",
    ),
    pytest.param(
        [("name: uni", "name: !!binary dW5p")],
        "1: name: has the tag 'tag:yaml.org,2002:binary'; write the plain value",
        id="a tag of no plain value",
    ),
    pytest.param(
        [alerts("example.edu]", "example.edu]\n  budget_usd_per_month: 1e999")],
        "8: alerts.budget_usd_per_month: 1e999 is too large for a number; write a smaller one",
        id="a budget without end",
    ),
    pytest.param(
        [('"111122223333"', '"١١١١٢٢٢٢٣٣٣٣"')],
        "2: account: '١١١١٢٢٢٢٣٣٣٣' is not an account id, twelve digits in quotes",
        id="account in digits of another script",
    ),
    pytest.param(
        [("region: us-east-1", "region: us-esat-1"), ("us-east-1a", "us-esat-1a")],
        "3: region: 'us-esat-1' is no Region of AWS; did you mean us-west-1 or us-east-1?",
        id="a Region that does not exist",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: data, region: moon}\n  lustre: {")],
        "8: storage.bucket.region: 'moon' is not a Region, such as us-east-1",
        id="a bucket in no Region",
    ),
    pytest.param(
        [
            (
                "mb_s_per_tib: 125",
                "mb_s_per_tib: 125, kms_key_arn: 'arn:aws:kms:eu-west-1:111122223333:key/a'",
            )
        ],
        "8: storage.lustre.kms_key_arn: arn:aws:kms:eu-west-1:111122223333:key/a is of "
        "the Region eu-west-1, and the institution is of us-east-1; use one of us-east-1",
        id="key of another Region",
    ),
    pytest.param(
        [alerts("secretsmanager:us-east-1", "secretsmanager:eu-west-1")],
        "5: alerts.slack_secret_arn: "
        "arn:aws:secretsmanager:eu-west-1:111122223333:secret:x-AbCdEf is of the Region "
        "eu-west-1, and the institution is of us-east-1; use one of us-east-1",
        id="secret of another Region",
    ),
    pytest.param(
        [alerts("111122223333", "999999999999")],
        "5: alerts.slack_secret_arn: "
        "arn:aws:secretsmanager:us-east-1:999999999999:secret:x-AbCdEf is of the account "
        "999999999999, and the institution is of 111122223333; use one of 111122223333",
        id="secret of another account",
    ),
    pytest.param(
        [alerts("info: C0OPS00000}", "info: C0OPS00000}\n  budget_usd_per_month: 900k")],
        "7: alerts.budget_usd_per_month: must be a number, got '900k'; write it without quotes or "
        "unit",
        id="a budget with a unit",
    ),
    pytest.param(
        [top("tags: {'': x}")],
        "4: tags.: the key has 0 characters; write one of 1 to 128",
        id="a tag without a key",
    ),
    pytest.param(
        [top("tags: {'Own<er>': x}")],
        "4: tags.Own<er>: the key holds '<'; use letters, digits, spaces and _.:/=+-@ alone",
        id="a tag with brackets",
    ),
    pytest.param(
        [top('tags: {a: "x\\ny"}')],
        "4: tags.a: the value holds '\\n'; use letters, digits, spaces and _.:/=+-@ alone",
        id="a tag of two lines",
    ),
    pytest.param(
        [top("tags: {Owner: a, owner: b}")],
        "4: tags.owner: differs from 'Owner' in case alone, and IAM has one tag of a "
        "name; leave one out",
        id="two tags of one name",
    ),
    pytest.param(
        [top(f"tags: {{a: {'x' * 300}}}")],
        "4: tags.a: the value has 300 characters; write one of 0 to 256",
        id="a tag of 300 characters",
    ),
    pytest.param(
        [existing_lustre("fs-0123456789abcdef0.fsx.eu-west-1.amazonaws.com")],
        "8: storage.existing.dns_name: fs-0123456789abcdef0.fsx.eu-west-1.amazonaws.com "
        "is not in us-east-1; write fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        id="D57 name of a file system in another Region",
    ),
    pytest.param(
        [existing_lustre("fs-0123456789abcdef0.fsx.; rm -rf /")],
        "8: storage.existing.dns_name: 'fs-0123456789abcdef0.fsx.; rm -rf /' is not the "
        "DNS name of a file system, such as "
        "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        id="D57 name of a file system with a command",
    ),
    pytest.param(
        [
            (
                "  lustre: {",
                "  bucket: {existing: data, region: us-west-2}\n"
                "  links: {In: {path: /in, prefix: in/, direction: import, bucket: data}}\n"
                "  lustre: {",
            )
        ],
        "9: storage.links.In.direction: 'import' needs a bucket in us-east-1, and "
        "storage.bucket is in us-west-2; use direction export, or copy the bucket",
        id="D48 the bucket by its name",
    ),
    pytest.param(
        [alerts(ROUTES, "info: C0OPS00000, institutions: {nobody: {critical: C0FULL0000}}}")],
        "6: alerts.routes.institutions.nobody: 'nobody' is not this institution, and only "
        "its alerts come here; write uni, or leave it out",
        id="routes of another institution",
    ),
    pytest.param(
        [
            alerts(
                ROUTES,
                "info: C0OPS00000, quiet_hours: {start: '22:00', end: '22:00', timezone: UTC, "
                "channel: C0QUIET000}}",
            )
        ],
        "6: alerts.routes.quiet_hours.end: is 22:00, as start is, so there are no quiet "
        "hours; use another time",
        id="quiet hours of no length",
    ),
    pytest.param(
        [alerts("[hpc@example.edu]", "[a@b.co, A@b.co]")],
        "7: alerts.operators[1]: A@b.co is listed twice; leave one out",
        id="F13 an operator listed twice",
    ),
    pytest.param(
        [alerts("example.edu]", "example.edu]\n  runbook_url: 'javascript:alert(1)'")],
        "8: alerts.runbook_url: 'javascript:alert(1)' is not the address of a page, such "
        "as https://hpc.example.edu/runbooks",
        id="runbooks that are a script",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: a..b}\n  lustre: {")],
        "8: storage.bucket.existing: 'a..b' is not a bucket name: 3 to 63 lower-case "
        "letters, digits, dots and hyphens, no dot beside another dot or a hyphen, no IP "
        "address, and none of S3's reserved beginnings and ends",
        id="bucket with two dots",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: 192.168.1.1}\n  lustre: {")],
        "8: storage.bucket.existing: '192.168.1.1' is not a bucket name: 3 to 63 "
        "lower-case letters, digits, dots and hyphens, no dot beside another dot or a "
        "hyphen, no IP address, and none of S3's reserved beginnings and ends",
        id="bucket like an address",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: a.-b}\n  lustre: {")],
        "8: storage.bucket.existing: 'a.-b' is not a bucket name: 3 to 63 lower-case "
        "letters, digits, dots and hyphens, no dot beside another dot or a hyphen, no IP "
        "address, and none of S3's reserved beginnings and ends",
        id="bucket with a dot beside a hyphen",
    ),
    pytest.param(
        [("  lustre: {", "  bucket: {existing: foo-s3alias}\n  lustre: {")],
        "8: storage.bucket.existing: 'foo-s3alias' is not a bucket name: 3 to 63 "
        "lower-case letters, digits, dots and hyphens, no dot beside another dot or a "
        "hyphen, no IP address, and none of S3's reserved beginnings and ends",
        id="bucket that is an alias",
    ),
]
