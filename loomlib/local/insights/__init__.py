"""CloudWatch Logs Insights: the part of its query language that agents' logs and telemetry are asked with."""

from .commands import LARGEST_LIMIT
from .malformed import MalformedQuery
from .query import Found, Query
from .rows import Row

__all__ = ["LARGEST_LIMIT", "Found", "MalformedQuery", "Query", "Row"]
