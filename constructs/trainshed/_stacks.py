"""What is read of a stack, once each: every reading is a call to the CDK's Node process."""

from __future__ import annotations

from functools import cached_property
from weakref import WeakKeyDictionary

from aws_cdk import Stack
from constructs import IConstruct


class StackFacts:
    """A stack, and what its parts need to know of it, as literals or tokens.

    Args:
        stack: The stack.
    """

    def __init__(self, stack: Stack) -> None:
        self.stack = stack

    @cached_property
    def partition(self) -> str:
        """AWS partition."""
        return self.stack.partition

    @cached_property
    def region(self) -> str:
        """AWS Region."""
        return self.stack.region

    @cached_property
    def account(self) -> str:
        """AWS account."""
        return self.stack.account


_known: WeakKeyDictionary[IConstruct, StackFacts] = WeakKeyDictionary()


def stack_facts(construct: IConstruct, scope: IConstruct | None = None) -> StackFacts:
    """Return what is read of the stack of a construct.

    Args:
        construct: The construct.
        scope: What it stands in, whose stack may be known already. Default: the CDK is asked.
    """
    for each in (construct, scope):
        if each is None:
            continue
        if each in _known:
            return _known.setdefault(construct, _known[each])
        if isinstance(each, Stack):
            return _known.setdefault(construct, _known.setdefault(each, StackFacts(each)))
    stack = Stack.of(construct)
    return _known.setdefault(construct, _known.setdefault(stack, StackFacts(stack)))
