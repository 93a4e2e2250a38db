"""The fleet document before its deployment, with names for what only AWS knows. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .document import Group, Mount, StoredObject, Surroundings, reservation_id_of

if TYPE_CHECKING:
    from ..config.fleet import Fleet


def placeholders(
    fleet: Fleet, *, cluster_name: str, region: str, mount_dir: str, file_system_efa: bool
) -> Surroundings:
    """Return surroundings with a name, ``${StateVolume}``, for each id that only AWS knows.

    Args:
        fleet: The fleet.
        cluster_name: Name of the cluster.
        region: AWS Region.
        mount_dir: Where every node mounts the file system.
        file_system_efa: Nodes can reach the file system over EFA.
    """
    made = {name: f"${{Reservation-{name}}}" for name in fleet.queues}
    return Surroundings(
        cluster_name=cluster_name,
        region=region,
        scripts=_stored("Scripts"),
        files=_stored("Files"),
        state_volume_id="${StateVolume}",
        munge_secret_arn="${MungeKey}",  # noqa: S106  stands for an ARN
        mounts=(
            Mount(
                path=mount_dir,
                dns_name="${FileSystemDnsName}",
                mount_name="${FileSystemMountName}",
                efa=file_system_efa,
            ),
        ),
        groups={
            name: Group(
                asg=f"${{Group-{name}}}",
                launch_template=f"${{LaunchTemplate-{name}}}",
                version=f"${{Version-{name}}}",
                reservation_id=reservation_id_of(queue, made, name),
            )
            for name, queue in fleet.queues.items()
        },
    )


def _stored(name: str) -> StoredObject:
    return StoredObject(bucket="${AssetBucket}", key=f"${{{name}}}", sha256=f"${{{name}Sha256}}")
