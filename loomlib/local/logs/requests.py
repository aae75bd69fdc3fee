"""Common parts of the operations that read log events: groups, limits, pages and tokens."""

from __future__ import annotations

import base64
import binascii
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..otlp import TelemetryEvent
from ..wire import RefusedError

LARGEST_PAGE: Final = 10_000
PAGE_BYTES: Final = 1_000_000
"""AWS ends a page at 1 MB."""


def invalid_parameter(message: str) -> RefusedError:
    """Return CloudWatch Logs' error for a parameter (400)."""
    return RefusedError("InvalidParameterException", 400, message)


def group_not_found(message: str = "The specified log group does not exist.") -> RefusedError:
    """Return CloudWatch Logs' error for a log group, or a query, that does not exist (400)."""
    return RefusedError("ResourceNotFoundException", 400, message)


def group_of(parameters: Mapping[str, Any]) -> str:
    """Return the log group that a request names, by name or ARN."""
    return str(parameters.get("logGroupName") or parameters.get("logGroupIdentifier")).rpartition(":log-group:")[2]


def limit_of(parameters: Mapping[str, Any], largest: int) -> int:
    """Return the request's limit; the default is the maximum.

    Raises:
        RefusedError: It is not a number from 1 to the largest.
    """
    limit = parameters.get("limit") or largest
    if not isinstance(limit, int) or not 1 <= limit <= largest:
        raise invalid_parameter(f"limit must be between 1 and {largest}")
    return limit


def page_of(events: Iterable[TelemetryEvent], limit: int) -> Iterator[TelemetryEvent]:
    """Yield the events of one page: at most `limit` events and 1 MB."""
    size = 0
    for event in itertools.islice(events, limit):
        yield event
        if size > PAGE_BYTES:
            return
        size += len(event.message)


def write_token(timestamp_ms: int, event_id: int) -> str:
    """Return an event's position as a token."""
    return base64.urlsafe_b64encode(f"{timestamp_ms}/{event_id}".encode()).decode()


def read_token(token: str | None) -> tuple[int, int]:
    """Return the position that a token encodes; without a token, the position before all events."""
    if token is None:
        return (-1, -1)
    try:
        timestamp, _, event_id = base64.urlsafe_b64decode(token).decode().partition("/")
        return int(timestamp), int(event_id)
    except (ValueError, binascii.Error) as error:
        raise invalid_parameter("The specified nextToken is invalid.") from error
