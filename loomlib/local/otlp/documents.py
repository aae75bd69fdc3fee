"""The decoders' output: records grouped by resource and scope, with the members of AWS's format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Signal = Literal["traces", "metrics", "logs"]

SPAN_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
STATUS_CODES = ("UNSET", "OK", "ERROR")


@dataclass(frozen=True, slots=True)
class Group:
    """Records with the same resource and scope.

    A span is the mapping of an `aws/spans` record without `resource` and `scope`: `traceId`, `spanId`, `name`, `kind`,
    `startTimeUnixNano` and so on, ids as hex, times as unix nanoseconds, attributes as plain values. A log record
    likewise. A metric is `{name, unit, kind, points}`.
    """

    resource: Mapping[str, Any]
    scope: Mapping[str, Any]
    records: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The groups of one request, and the reason for each rejected record."""

    groups: list[Group]
    refused: list[str]
