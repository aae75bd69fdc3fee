"""Why a response broke off: the local AgentCore writes a limit that a session reached into the runtime's log.

Once the headers of a response are sent, HTTP cannot report an error. On AWS only the interruption itself is known.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from loomlib.aws.connection import Clients
from loomlib.aws.errors import LIMIT_REACHED, bounded, failure
from loomlib.errors import AwsError, LoomError, ResourceLimitError, TransportError

from .entry import AgentEntry

_log = logging.getLogger(__name__)
_PAGES: Final = 10
_BY_ITSELF: Final = "open_files"
"""A process that opens too many files fails on its own; the service does not end it."""

Explain = Callable[[TransportError, float], AwsError]
"""Returns why a response broke off, from what the connection reported and when the request was sent (Unix seconds).

It reads the runtime's log: call it in a worker thread.
"""


def interruption(
    error: TransportError, since_s: float, *, clients: Clients, agent: AgentEntry, session_id: str, qualifier: str
) -> AwsError:
    """Return the limit that interrupted a response of the local AgentCore, or the error itself.

    Args:
        error: What the connection reported.
        since_s: When the request was sent, in Unix seconds.
        clients: The AWS clients of a connection.
        agent: The agent.
        session_id: The runtime session.
        qualifier: The endpoint.
    """
    from loomlib.aws.logs import filter_events

    start = f"Loom: session {session_id}: "
    try:
        events = filter_events(
            clients,
            agent.arn.log_group(qualifier),
            region=agent.region,
            term=f"{start}{LIMIT_REACHED}",
            start_ms=int(since_s * 1000),
            most_pages=_PAGES,
        )
    except LoomError as unknown:
        _log.info("The log does not say why a response broke off: %s", unknown)
        return error
    reasons = [event.message.strip().removeprefix(start) for event in events if event.message.startswith(start)]
    reasons = [reason for reason in reasons if not reason.startswith(f"{LIMIT_REACHED}: {_BY_ITSELF}")]
    if not reasons:
        return error
    return failure(ResourceLimitError, bounded(f"{reasons[-1]}, in the middle of the response"), on=agent.name)
