"""cdk-nag's packs find nothing in a fleet that is not acknowledged with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest

from trainshed.config import AccountingDatabase, Fleet, LoginPool, ParallelClusterOptions
from trainshed.fleets import (
    ParallelClusterFleet,
    boundary,
    provider_acknowledgments,
    provider_permissions,
)

Build = Callable[..., ParallelClusterFleet]
MakeRecord = Callable[..., Fleet]

ENV = cdk.Environment(account="111122223333", region="us-east-2")


def with_packs(app: cdk.App) -> cdk.App:
    cdk.Validations.of(app).add_plugins(
        cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
    )
    return app


@pytest.mark.parametrize("env", [ENV, None], ids=["one-account", "any-account"])
@pytest.mark.parametrize(
    "named", [None, "arn:aws:iam::111122223333:policy/boundary"], ids=["own", "named"]
)
def test_every_finding_is_acknowledged(
    build: Build, record: MakeRecord, env: cdk.Environment | None, named: str | None
) -> None:
    app = with_packs(cdk.App())
    fleet = record(
        login_nodes={"login": LoginPool()},
        accounting=AccountingDatabase(
            host="db",
            user="slurm",
            password_secret_arn="arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
        ),
        parallelcluster=ParallelClusterOptions(permissions_boundary_arn=named),
    )
    made = build(cdk.Stack(app, "Foreign", env=env), fleet)
    made.send_alarms_to("arn:aws:sns:us-east-2:111122223333:alerts")
    app.synth()


def test_the_packs_do_look(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any) -> None:
        return None

    monkeypatch.setattr(provider_acknowledgments, "acknowledge", nothing)
    app = with_packs(cdk.App())
    build(cdk.Stack(app, "Foreign", env=ENV))
    with pytest.raises(RuntimeError, match="AwsSolutions-IAM5"):
        app.synth()


def test_every_acknowledged_wildcard_has_a_reason() -> None:
    stack = cdk.Stack(cdk.App(), "Foreign")
    scope = provider_permissions.Scope(
        stack=stack,
        cluster_name="kait",
        attachable_policy_arns=["arn:aws:iam::aws:policy/X"],
        script_bucket_arns=["arn:aws:s3:::b"],
        script_arns=["arn:aws:s3:::b/k"],
    )
    for rights in (*provider_permissions.RIGHTS.values(), boundary.boundary_rights):
        for right in rights(scope):
            wide = any("*" in resource for resource in right.resources)
            assert bool(right.why) == wide, right.sid
