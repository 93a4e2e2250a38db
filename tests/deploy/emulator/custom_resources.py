"""A custom resource whose creation failed is deleted, as CloudFormation's rollback does.

CloudFormation user guide "Custom resource request types, Delete" and our handlers count on it;
ministack forgets the resource instead.
"""

from __future__ import annotations

import logging
from typing import Any

from ministack.services.cloudformation import custom_resource

_failed: dict[tuple[str, str], str] = {}


def install() -> None:
    """Send the deletion after a failed creation."""
    invoke, deliver = custom_resource.invoke_custom_resource, custom_resource.deliver_response

    def remember(token: str, response: dict[str, Any]) -> Any:
        if response.get("Status") == "FAILED" and response.get("PhysicalResourceId"):
            key = (str(response.get("StackId")), str(response.get("LogicalResourceId")))
            _failed[key] = response["PhysicalResourceId"]
        return deliver(token, response)

    def invoke_and_clear_up(
        request_type: str,
        logical_id: str,
        props: dict[str, Any],
        stack_name: str,
        stack_id: str,
        resource_type: str,
        *more: Any,
        **named: Any,
    ) -> Any:
        place = (logical_id, props, stack_name, stack_id, resource_type)
        try:
            return invoke(request_type, *place, *more, **named)
        except RuntimeError:
            made = _failed.pop((stack_id, logical_id), None)
            if request_type == "Create" and made is not None:
                try:
                    invoke("Delete", *place, physical_id=made)
                except (RuntimeError, TimeoutError) as error:
                    logging.getLogger("cloudformation").warning("clear-up failed: %s", error)
            raise

    custom_resource.deliver_response = remember
    custom_resource.invoke_custom_resource = invoke_and_clear_up
