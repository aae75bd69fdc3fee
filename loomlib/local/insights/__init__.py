"""CloudWatch Logs Insights: the part of its query language that Loom supports for logs and telemetry."""

from .commands import LARGEST_LIMIT
from .malformed import MalformedQueryError
from .query import Query, QueryOutcome
from .rows import Row

__all__ = ["LARGEST_LIMIT", "MalformedQueryError", "Query", "QueryOutcome", "Row"]
