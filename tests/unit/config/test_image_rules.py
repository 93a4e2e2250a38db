"""Root disks are at least as large as the image that a lock names."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from trainshed._given import check_value
from trainshed.config import Fleet, HeadNode, Image, ImageLock, OnDemand, Queue, RootVolume
from trainshed.config.image_rules import root_disk_faults
from trainshed.config.texts import MountDirectory

AMI = "ami-0123456789abcdef0"


def fleet(head_gib: int, queue_gib: int, root_gib: int | None) -> Fleet:
    lock = ImageLock(ami_id=AMI, name="dlami", root_gib=root_gib)
    queue = Queue(
        instance_type="g6.12xlarge",
        capacity=OnDemand(),
        max_nodes=2,
        root_volume=RootVolume(gib=queue_gib),
    )
    head = HeadNode(root_volume=RootVolume(gib=head_gib))
    return Fleet(backend="slurm", image=Image(lock=lock), head_node=head, queues={"train": queue})


def test_every_disk_that_is_smaller_than_the_image_is_named() -> None:
    found = {".".join(map(str, key)): text for key, text in root_disk_faults(fleet(60, 40, 75))}
    words = f"GiB is less than the image {AMI} has, 75 (fleet.image.lock.root_gib); use 75 or more"
    assert found == {
        "fleet.head_node.root_volume.gib": f"60 {words}",
        "fleet.queues.train.root_volume.gib": f"40 {words}",
    }


@pytest.mark.parametrize("root_gib", [75, None], ids=["as large", "not in the lock"])
def test_disks_as_large_as_the_image_are_taken(root_gib: int | None) -> None:
    assert not list(root_disk_faults(fleet(75, 200 if root_gib else 40, root_gib)))


@pytest.mark.parametrize("text", ["ami-1234", "dummy-value-for-/images/golden"])
def test_what_stands_in_for_a_lookup_is_taken_from_an_app_and_not_from_a_file(text: str) -> None:
    assert Image(ami_id=text).ami_id == text
    with pytest.raises(ValidationError, match=f"'{text}' is not an AMI id"):
        Image.model_validate_json(json.dumps({"ami_id": text}))


def test_what_stands_in_for_a_lookup_is_taken_for_an_id_alone() -> None:
    with pytest.raises(ValueError, match="is not an absolute path"):
        check_value("mount_dir", "dummy-value-for-/fsx", MountDirectory)


def test_what_follows_the_words_of_the_cdk_is_the_name_of_a_parameter() -> None:
    with pytest.raises(ValidationError, match="is not an AMI id"):
        Image(ami_id="dummy-value-for-x\nPartitionName=evil")
