"""``trainshed image`` against an emulated account."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from trainshed.cli import main
from trainshed.cli.image import NOTES, lock_of, place_of
from trainshed.config import Image, ImageLock
from trainshed.facts import images

NAME = "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20261006"
HEAD = "fleet: {head_node: {instance_type: m7i.2xlarge}}\n"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    # moto, like AWS, lets nobody else write below /aws/service.
    monkeypatch.setattr(images, "newest_image_parameter", lambda kind: f"/newest/{kind}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield boto3.session.Session(region_name="us-east-1")


def publish(session: Any, id: str = "") -> str:
    """Do as AWS does: put an image's id into the public parameter."""
    ec2 = session.client("ec2")
    if not id:
        id = ec2.register_image(Name=NAME)["ImageId"]
    session.client("ssm").put_parameter(Name="/newest/x86_64", Type="String", Value=id)
    return str(id)


def test_the_newest_image_is_printed_as_a_lock(
    session: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    id = publish(session)
    path = tmp_path / "lab.yaml"
    path.write_text(f"region: us-east-1\n{HEAD}")
    assert main(["image", str(path)]) == 0
    printed = capsys.readouterr().out
    image = session.client("ec2").describe_images(ImageIds=[id])["Images"][0]
    gib = image["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"]
    lines = ["lock:", f"  ami_id: {id}", f"  name: {NAME}", f"  root_gib: {gib}", "  # Made 20"]
    assert printed.startswith("\n".join(lines))
    assert NOTES in printed


def test_what_is_printed_is_a_lock(session: Any) -> None:
    import yaml

    publish(session)
    printed = yaml.safe_load(lock_of(session, "us-east-1", "x86_64"))
    assert Image(lock=ImageLock(**printed["lock"])).lock


def test_an_image_that_ec2_does_not_show_is_told(
    session: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(session, id="ami-0123456789abcdef0")
    path = tmp_path / "lab.yaml"
    path.write_text(f"region: us-east-1\n{HEAD}")
    assert main(["image", str(path)]) == 1
    assert "ami-0123456789abcdef0" in capsys.readouterr().err


def test_a_missing_parameter_fails_with_what_aws_says(
    session: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(f"region: us-east-1\n{HEAD}")
    assert main(["image", str(path)]) == 1
    assert "ParameterNotFound" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("region: us-east-1\n", ("us-east-1", "x86_64")),
        (
            "region: us-east-1\nfleet: {head_node: {instance_type: m7g.2xlarge}}\n",
            ("us-east-1", "arm64"),
        ),
        (
            "region: us-east-1\nfleet: {head_node: {instance_type: x9.large}}\n"
            "instance_types: {x9.large: {architecture: arm64}}\n",
            ("us-east-1", "arm64"),
        ),
    ],
    ids=["default", "arm64", "described"],
)
def test_a_file_says_region_and_processor(
    text: str, place: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(text)
    assert place_of(path) == place


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name: lab\n", "region is missing; images have another id in each Region"),
        (
            "region: us-east-1\nfleet: {head_node: {instance_type: x9.large}}\n",
            "'x9.large' is not in the table of instance types",
        ),
        ("a: [\n", "lab.yaml:2"),
    ],
    ids=["region", "type", "yaml"],
)
def test_a_file_that_does_not_say_is_refused(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(text)
    assert main(["image", str(path)]) == 1
    assert reason in capsys.readouterr().err


def test_the_parameter_is_the_one_that_aws_documents() -> None:
    assert images.newest_image_parameter("x86_64") == (
        "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"
    )
