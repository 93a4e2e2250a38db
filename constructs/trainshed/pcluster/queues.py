"""A queue's record, rendered as a ``SlurmQueues`` entry with its one compute resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..config.capacity import CapacityBlock, OnDemand, Spot, TargetedReservation
from .names import compute_resource_name
from .references import NodeActions
from .sections import actions_section, iam_section, present

if TYPE_CHECKING:
    from ..config.fleet import Queue
    from ..facts import InstanceType
    from .references import References


def queue_section(
    name: str,
    queue: Queue,
    references: References,
    instance_type: InstanceType,
    slurm_settings: Mapping[str, str | int] | None = None,
) -> dict[str, Any]:
    """Return the configuration of one queue.

    Args:
        name: Name of the queue.
        queue: The queue.
        references: What the configuration points to outside the fleet.
        instance_type: Facts of the queue's instance type.
        slurm_settings: Settings of the partition that the queue is. Default: none.
    """
    actions = references.queue_actions.get(name, NodeActions())
    return present(
        Name=name,
        CapacityType=_capacity_type(queue),
        CapacityReservationTarget=_reservation(name, queue, references),
        JobExclusiveAllocation=queue.whole_node,
        Networking=present(
            SubnetIds=[references.compute_subnet_id],
            AdditionalSecurityGroups=list(references.security_group_ids) or None,
            PlacementGroup=_placement_group(queue),
        ),
        ComputeSettings={"LocalStorage": _disks(queue, instance_type)},
        HealthChecks={"Gpu": {"Enabled": queue.gpu_health_check}},
        Iam=iam_section((*references.compute_policy_arns, *queue.policies), actions.objects)
        or None,
        CustomActions=actions_section(actions) or None,
        CustomSlurmSettings=dict(slurm_settings) if slurm_settings else None,
        ComputeResources=[_compute_resource(queue, instance_type)],
    )


def _capacity_type(queue: Queue) -> str:
    match queue.capacity:
        case CapacityBlock():
            return "CAPACITY_BLOCK"
        case Spot():
            return "SPOT"
        case _:
            return "ONDEMAND"


def _reservation(name: str, queue: Queue, references: References) -> dict[str, str] | None:
    match queue.capacity:
        case TargetedReservation(resource_group_arn=str(arn)):
            return {"CapacityReservationResourceGroupArn": arn}
        case CapacityBlock(reservation_id=str(id)) | TargetedReservation(reservation_id=str(id)):
            return {"CapacityReservationId": id}
        case TargetedReservation():
            return {"CapacityReservationId": references.reservation_ids[name]}
        case _:
            return None


def _placement_group(queue: Queue) -> dict[str, Any] | None:
    """Return the placement group: always written out, since EFA without the key is an error."""
    match queue.capacity:
        case CapacityBlock():
            return None
        case TargetedReservation(placement_group=str(name)):
            return {"Enabled": True, "Name": name}
        case OnDemand(placement_group=wanted):
            return {"Enabled": wanted}
        case _:
            return {"Enabled": False}


def _disks(queue: Queue, instance_type: InstanceType) -> dict[str, Any]:
    disk = queue.root_volume
    scratch_dir = queue.scratch_dir(instance_type)
    return present(
        RootVolume={
            "Size": disk.gib,
            "VolumeType": "gp3",
            "Iops": disk.iops,
            "Throughput": disk.throughput_mib_s,
            "Encrypted": True,
        },
        EphemeralVolume={"MountDir": scratch_dir} if scratch_dir else None,
    )


def _compute_resource(queue: Queue, instance_type: InstanceType) -> dict[str, Any]:
    spot_price = queue.capacity.max_price_usd_per_hour if isinstance(queue.capacity, Spot) else None
    return present(
        Name=compute_resource_name(queue),
        InstanceType=queue.instance_type,
        MinCount=queue.least_nodes,
        MaxCount=queue.max_nodes,
        SpotPrice=spot_price,
        Efa={"Enabled": queue.uses_efa(instance_type)},
    )
