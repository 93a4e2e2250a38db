"""What a change will do, before anything is deployed: for those who review it.

Pure: importing it imports neither the CDK nor cfn-lint, which is asked only where a template
differs.
"""

from .capacity import CapacitySpan
from .comment import markdown, markdown_of
from .compare import review, review_many
from .effects import Effect, Finding
from .fact import Fact, Kind
from .guards import Stop
from .page import html, html_of
from .replacement import MissingSchemasError
from .resources import Action, ResourceChange
from .result import FileDiff, Review, RuleChange

__all__ = [
    "Action",
    "CapacitySpan",
    "Effect",
    "Fact",
    "FileDiff",
    "Finding",
    "Kind",
    "MissingSchemasError",
    "ResourceChange",
    "Review",
    "RuleChange",
    "Stop",
    "html",
    "html_of",
    "markdown",
    "markdown_of",
    "review",
    "review_many",
]
