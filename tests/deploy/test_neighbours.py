"""Two institutions in one account, and a stack of a consumer beside them."""

from __future__ import annotations

from pathlib import Path

from tests.deploy import account
from tests.deploy.cdk import Cdk, of
from tests.deploy.emulator.process import Emulator
from tests.deploy.institutions import alerts, small


def test_two_institutions_share_an_account(emulator: Emulator, tmp_path: Path) -> None:
    names = ("north", "south")
    secret = "arn:aws:secretsmanager:us-east-1:111122223333:secret:{}/slack-AbCdEf"
    documents = [
        small(name, alerts={**alerts(secret.format(name)), "budget_usd_per_month": 1000})
        for name in names
    ]
    of(emulator, tmp_path, *documents).deploy()
    stacks = [f"{name}-{part}" for name in names for part in ("foundation", "cluster")]
    assert account.statuses(emulator, *stacks) == ["CREATE_COMPLETE"] * 4
    north, south = ({*map(str, account.all_ids(emulator, name))} for name in names)
    assert not north & south
    of(emulator, tmp_path, *documents).destroy("south-cluster")
    assert account.statuses(emulator, *stacks[:2]) == ["CREATE_COMPLETE"] * 2


def test_a_consumers_stack_uses_the_constructs_in_its_own_vpc(
    emulator: Emulator, tmp_path: Path
) -> None:
    cdk = Cdk(emulator, ["tests/deploy/consumer.py"], tmp_path / "out")
    cdk.deploy()
    outputs = account.outputs(emulator, "consumer")
    assert account.statuses(emulator, "consumer", "shared") == ["CREATE_COMPLETE"] * 2
    subnets = emulator.client("ec2").describe_subnets(SubnetIds=[outputs["SubnetId"]])["Subnets"]
    assert subnets[0]["VpcId"] == outputs["VpcId"]
    systems = emulator.client("fsx").describe_file_systems(FileSystemIds=[outputs["FileSystemId"]])
    assert systems["FileSystems"][0]["StorageCapacity"] == 1200
    # The file system is retained, and its network interfaces would hold the VPC.
    cdk.destroy("consumer")
    assert not account.exists(emulator, "consumer")
    assert account.statuses(emulator, "consumer-network") == ["CREATE_COMPLETE"]
