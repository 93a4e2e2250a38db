"""Stands in for the ParallelCluster of AWS's layer: the calls, answers and exceptions of 3.16.1.

The real one is driven in ``tests/peers/pcluster/test_handler.py``.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from assets.functions.parallelcluster import handler

TEMPLATE = json.dumps(
    {
        "Resources": {
            "HeadNode": {
                "Type": "AWS::SSM::Parameter",
                "Properties": {
                    "Name": {"Fn::Sub": "${AWS::StackName}-head"},
                    "Type": "String",
                    "Value": "x",
                },
            }
        },
        "Outputs": {
            "HeadNodeInstanceID": {"Value": "i-0123456789abcdef0"},
            "HeadNodePrivateIP": {"Value": "10.0.0.7"},
        },
    }
)


class ApiError(Exception):
    """Like ``pcluster.api.errors.ParallelClusterApiException``: its text is in its content."""

    def __init__(self, message: str, **content: list[SimpleNamespace]) -> None:
        super().__init__()
        self.content = SimpleNamespace(message=message, **content)


class ParameterError(Exception):
    """Like ``pcluster.cli.exceptions.ParameterException``."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.data = {"message": message}


def finding(level: str, validator: str, message: str) -> SimpleNamespace:
    return SimpleNamespace(level=level, type=validator, message=message)


def change(parameter: str, message: str | None = None, old: str = "4") -> SimpleNamespace:
    return SimpleNamespace(
        parameter=parameter, message=message, requested_value="5", current_value=old
    )


class FakePcluster:
    """The library, and the copies of the configurations that it keeps."""

    def __init__(self, set_status: Callable[[str, str], None]) -> None:
        self.version = "3.16.1"
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refusal: Exception | None = None
        self.before: Callable[[], None] = lambda: None
        """Runs inside a call: what another run does meanwhile."""
        self.saved: dict[str, dict[str, Any]] = {}
        self.resets: list[str] = []
        self._set_status = set_status

    def create_cluster(self, **arguments: Any) -> dict[str, Any]:
        self._called("create", arguments)
        name, configuration = arguments["cluster_name"], arguments["cluster_configuration"]
        arn = handler._cloudformation().create_stack(
            StackName=name, TemplateBody=TEMPLATE, Tags=self._tags(configuration)
        )["StackId"]
        self._set_status(arn, "CREATE_IN_PROGRESS")
        self.saved[name] = copy.deepcopy(configuration)
        return {"cluster": {"clusterName": name, "cloudformationStackArn": arn}}

    def update_cluster(self, **arguments: Any) -> dict[str, Any]:
        self._called("update", arguments)
        name, configuration = arguments["cluster_name"], arguments["cluster_configuration"]
        if self.saved.get(name) == configuration:
            raise ApiError("Bad Request: No changes found in your cluster configuration.")
        client = handler._cloudformation()
        found = client.describe_stacks(StackName=name)["Stacks"][0]
        client.update_stack(StackName=name, TemplateBody=TEMPLATE, Tags=self._tags(configuration))
        self._set_status(found["StackId"], "UPDATE_IN_PROGRESS")
        self.saved[name] = copy.deepcopy(configuration)
        return {"cluster": {"clusterName": name}}

    def _tags(self, configuration: Mapping[str, Any]) -> list[Any]:
        return [
            *configuration["Tags"],
            {"Key": "parallelcluster:version", "Value": self.version},
        ]

    def _called(self, operation: str, arguments: Mapping[str, Any]) -> None:
        self.calls.append((operation, copy.deepcopy(dict(arguments))))
        self.before()
        if self.refusal is not None:
            raise self.refusal

    def saved_text(self, name: str) -> str:
        if name not in self.saved:
            raise ApiError(f"Unable to load configuration from bucket of {name}")
        return json.dumps(self.saved[name])

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make ``import pcluster...`` find this object, as it finds the layer in Lambda."""
        fake = self

        class Cluster:
            def __init__(self, name: str) -> None:
                self.source_config_text = fake.saved_text(name)

        reset = SimpleNamespace(reset=lambda: self.resets.append("clients"))
        cache = SimpleNamespace(clear_all=lambda: self.resets.append("cache"))
        members: dict[str, dict[str, object]] = {
            "pcluster": {},
            "pcluster.lib": {
                "create_cluster": self.create_cluster,
                "update_cluster": self.update_cluster,
            },
            "pcluster.utils": {"get_installed_version": lambda: self.version},
            "pcluster.aws": {},
            "pcluster.aws.aws_api": {"AWSApi": reset},
            "pcluster.aws.common": {"Cache": cache},
            "pcluster.models": {},
            "pcluster.models.cluster": {"Cluster": Cluster},
            "pcluster.models.common": {"parse_config": json.loads},
        }
        for name, attributes in members.items():
            module = ModuleType(name)
            vars(module).update(attributes)
            monkeypatch.setitem(sys.modules, name, module)
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)
