"""Tags of the CDK on what ParallelCluster makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsii
from aws_cdk import ITaggable, TagManager, TagType
from constructs import Construct

# Above the 100 of Tags.of(…).add: what is given by name is meant.
PRIORITY_OF_GIVEN = 200


@jsii.implements(ITaggable)
class ClusterTags(Construct):
    """Gathers the tags that ``Tags.of`` adds around it, as a cluster configuration has them.

    Args:
        given: Tags that are given by name; they win.
    """

    rendered: Any
    """A list of ``Key`` and ``Value``, known once the app is synthesised."""

    def __init__(self, scope: Construct, id: str, *, given: Mapping[str, str]) -> None:
        super().__init__(scope, id)
        self._tags = TagManager(TagType.KEY_VALUE, "Custom::TrainshedParallelCluster")
        for key, value in given.items():
            self._tags.set_tag(key, value, PRIORITY_OF_GIVEN)
        self.rendered = self._tags.rendered_tags

    @property
    @jsii.member(jsii_name="tags")
    def tags(self) -> TagManager:
        """The tags."""
        return self._tags
