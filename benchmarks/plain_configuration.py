"""The ParallelCluster configuration of the KAIT cluster, written out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

MOUNT_DIR = "/fsx"


def configuration(
    region: str,
    found: Mapping[str, str],
    *,
    bucket: str,
    keys: Mapping[str, str],
    session_policy: str,
    head_policy: str,
    compute_policy: str,
    head_list: str,
    start_list: str,
) -> dict[str, Any]:
    """Return the configuration, for ``Stack.to_json_string``."""

    def script(id: str, *args: str) -> dict[str, Any]:
        placed: dict[str, Any] = {"Script": f"s3://{bucket}/{keys[id]}"}
        return {**placed, "Args": list(args)} if args else placed

    def access(*ids: str) -> list[dict[str, str]]:
        return [{"BucketName": bucket, "KeyName": keys[id]} for id in ids]

    groups = [found["EfaSecurityGroupId"], found["EgressSecurityGroupId"]]
    content = hashlib.sha256("".join(keys["HoldKernel"]).encode()).hexdigest()
    return {
        "Region": region,
        "Image": {"Os": "ubuntu2204"},
        "Imds": {"ImdsSupport": "v2.0"},
        "HeadNode": {
            "InstanceType": "m7i.8xlarge",
            "Networking": {
                "SubnetId": found["ComputeSubnetId"],
                "AdditionalSecurityGroups": groups,
            },
            "Ssh": {"AllowedIps": "255.255.255.255/32"},
            "LocalStorage": {
                "RootVolume": {
                    "Size": 1024,
                    "VolumeType": "gp3",
                    "Iops": 16000,
                    "Throughput": 1000,
                    "Encrypted": True,
                    "DeleteOnTermination": False,
                }
            },
            "Imds": {"Secured": True},
            "Iam": {
                "AdditionalIamPolicies": [{"Policy": session_policy}, {"Policy": head_policy}],
                "S3Access": access(
                    "PcActions",
                    "PcSlurmPolicy",
                    "HoldKernel",
                    "LustreTuning",
                    "PcRelease",
                    "PcHead",
                ),
            },
            "CustomActions": {
                "OnNodeStart": {"Sequence": [script("PcActions", start_list, region)]},
                "OnNodeConfigured": {"Sequence": [script("PcActions", head_list, region)]},
                "OnNodeUpdated": {"Sequence": [script("PcActions", head_list, region, content)]},
            },
        },
        "Scheduling": {
            "Scheduler": "slurm",
            "SlurmSettings": {"QueueUpdateStrategy": "DRAIN", "EnableMemoryBasedScheduling": True},
            "SlurmQueues": [
                {
                    "Name": "compute",
                    "CapacityType": "ONDEMAND",
                    "CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"},
                    "JobExclusiveAllocation": False,
                    "Networking": {
                        "SubnetIds": [found["ComputeSubnetId"]],
                        "AdditionalSecurityGroups": groups,
                        "PlacementGroup": {"Enabled": False},
                    },
                    "ComputeSettings": {
                        "LocalStorage": {
                            "RootVolume": {
                                "Size": 500,
                                "VolumeType": "gp3",
                                "Iops": 3000,
                                "Throughput": 125,
                                "Encrypted": True,
                            },
                            "EphemeralVolume": {"MountDir": "/opt/dlami/nvme"},
                        }
                    },
                    "HealthChecks": {"Gpu": {"Enabled": False}},
                    "Iam": {
                        "AdditionalIamPolicies": [
                            {"Policy": session_policy},
                            {"Policy": compute_policy},
                        ],
                        "S3Access": access(
                            "LustreTuning",
                            "PcOptional",
                            "HoldKernel",
                            "RestrictImds",
                            "LustreEfaClient",
                            "PcRelease",
                            "PcCompute",
                            "PcBasicCheck",
                        ),
                    },
                    "CustomActions": {
                        "OnNodeStart": {
                            "Sequence": [
                                script("LustreTuning", MOUNT_DIR),
                                script("PcOptional", region, keys["LustreEfaClient"]),
                            ]
                        },
                        "OnNodeConfigured": {
                            "Sequence": [
                                script("HoldKernel"),
                                script("LustreTuning", MOUNT_DIR),
                                script("RestrictImds", "pcluster-admin"),
                                script(
                                    "PcRelease", region, keys["PcCompute"], keys["PcBasicCheck"]
                                ),
                            ]
                        },
                    },
                    "ComputeResources": [
                        {
                            "Name": "p5en",
                            "InstanceType": "p5en.48xlarge",
                            "MinCount": 16,
                            "MaxCount": 16,
                            "Efa": {"Enabled": True},
                        }
                    ],
                }
            ],
        },
        "SharedStorage": [
            {
                "Name": "fsx",
                "StorageType": "FsxLustre",
                "MountDir": MOUNT_DIR,
                "FsxLustreSettings": {"FileSystemId": found["FileSystemId"]},
            }
        ],
        "Monitoring": {
            "DetailedMonitoring": True,
            "Logs": {
                "CloudWatch": {
                    "Enabled": True,
                    "RetentionInDays": 180,
                    "DeletionPolicy": "Retain",
                },
                "Rotation": {"Enabled": True},
            },
            "Dashboards": {"CloudWatch": {"Enabled": True}},
            "Alarms": {"Enabled": True},
        },
        "Tags": [{"Key": "Grafana", "Value": "true"}],
        "DevSettings": {
            "Timeouts": {"HeadNodeBootstrapTimeout": 3000, "ComputeNodeBootstrapTimeout": 2400}
        },
    }
