"""What the instance metadata of the nodes of a bare Slurm fleet tell."""

from __future__ import annotations

import re

import jsii
from aws_cdk import IResolveContext, IStringProducer, Lazy, TagManager

# EC2 user guide "View tags for your EC2 instances using instance metadata", read 2026-11-29: EC2
# refuses to start an instance that shows its tags there and has a key of other characters.
_SHOWN = re.compile(r"(?!(?:\.|\.\.|_index)\Z)[0-9A-Za-z\-_+=,.@:]{1,255}")


def metadata_tags(tags: TagManager) -> str:
    """Return whether instances show their tags in their metadata, known at synthesis.

    No node reads them there; whoever has tags such as ``Cost Center`` does without.

    Args:
        tags: The tags that instances get.
    """
    return Lazy.uncached_string(_Shown(tags))


@jsii.implements(IStringProducer)
class _Shown:
    """Looks at the tags once all are there, those of ``Tags.of`` too."""

    def __init__(self, tags: TagManager) -> None:
        self._tags = tags

    @jsii.member(jsii_name="produce")
    def produce(self, context: IResolveContext) -> str:
        """Return the value of ``InstanceMetadataTags``."""
        keys = self._tags.tag_values()
        return "enabled" if all(map(_SHOWN.fullmatch, keys)) else "disabled"
