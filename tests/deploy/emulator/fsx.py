"""The few operations of FSx that handlers and node scripts call, on the recorded resources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ministack import app
from ministack.core import iam_actions, router
from ministack.core.responses import get_account_id, get_region

from tests.deploy.emulator import recorder

Answer = tuple[int, dict[str, str], bytes]
_FILE_SYSTEM = "AWS::FSx::FileSystem"
_LINK = "AWS::FSx::DataRepositoryAssociation"


def install() -> None:
    """Make ministack answer requests to FSx."""
    app.SERVICE_HANDLERS["fsx"] = _answer
    router.SERVICE_PATTERNS["fsx"] = {
        "target_prefixes": ["AWSSimbaAPIService"],
        "host_patterns": [r"fsx\."],
        "credential_scope": "fsx",
    }
    iam_actions.SERVICE_TO_IAM_NAMESPACE["fsx"] = "fsx"
    others = iam_actions.extract_resource_arn

    def resource_of(service: str, *request: Any) -> Any:
        if service != "fsx":
            return others(service, *request)
        body, region, account = request[3], request[5], request[6]
        id = json.loads(body or b"{}").get("FileSystemId")
        return f"arn:aws:fsx:{region}:{account}:file-system/{id}" if id else "*"

    iam_actions.extract_resource_arn = resource_of


async def _answer(
    method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
) -> Answer:
    operation = headers.get("x-amz-target", "").rpartition(".")[2]
    given = json.loads(body or b"{}")
    operations = {
        "DescribeFileSystems": _describe_file_systems,
        "DescribeDataRepositoryAssociations": _describe_links,
        "UpdateFileSystem": _update_file_system,
    }
    if operation not in operations:
        return _json(400, {"__type": "UnsupportedOperation", "message": operation})
    return operations[operation](given)


def _describe_file_systems(given: Mapping[str, Any]) -> Answer:
    known = recorder.of_type(_FILE_SYSTEM, get_region())
    wanted = given.get("FileSystemIds") or list(known)
    if missing := [id for id in wanted if id not in known]:
        message = f"File system '{missing[0]}' does not exist."
        return _json(400, {"__type": "FileSystemNotFound", "message": message})
    return _json(200, {"FileSystems": [_file_system(id, known[id]) for id in wanted]})


def _update_file_system(given: Mapping[str, Any]) -> Answer:
    known, id = recorder.of_type(_FILE_SYSTEM, get_region()), given["FileSystemId"]
    if id not in known:
        message = f"File system '{id}' does not exist."
        return _json(400, {"__type": "FileSystemNotFound", "message": message})
    lustre = {
        **known[id].properties.get("LustreConfiguration", {}),
        **given.get("LustreConfiguration", {}),
    }
    known[id].properties = {**known[id].properties, "LustreConfiguration": lustre}
    return _json(200, {"FileSystem": _file_system(id, known[id])})


def _describe_links(_: Mapping[str, Any]) -> Answer:
    links = [
        {"AssociationId": id, "Lifecycle": "AVAILABLE", **dict(link.properties)}
        for id, link in recorder.of_type(_LINK, get_region()).items()
    ]
    return _json(200, {"Associations": links})


def _file_system(id: str, record: recorder.Recorded) -> dict[str, Any]:
    lustre = dict(record.properties.get("LustreConfiguration", {}))
    return {
        "FileSystemId": id,
        "FileSystemType": "LUSTRE",
        "Lifecycle": "AVAILABLE",
        "StorageCapacity": record.properties.get("StorageCapacity"),
        "DNSName": record.attributes["DNSName"],
        "ResourceARN": f"arn:aws:fsx:{get_region()}:{get_account_id()}:file-system/{id}",
        "LustreConfiguration": {**lustre, "MountName": record.attributes["LustreMountName"]},
    }


def _json(status: int, value: object) -> Answer:
    return status, {"content-type": "application/x-amz-json-1.1"}, json.dumps(value).encode()
