"""What the client measured of a stored invocation, as a breakdown wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .traces.breakdown import ClientTiming

if TYPE_CHECKING:
    from loomlib.store import InvocationRow


def client_timing(row: InvocationRow, *, is_cold: bool | None = None, same_clock: bool = False) -> ClientTiming | None:
    """The client's times of an invocation, None when it never began or has not ended.

    The end is the sending plus the duration by the monotonic clock, so a breakdown adds up to `client_duration_ms`.
    """
    if row.client_invoke_time is None or row.client_duration_ms is None:
        return None
    sent_ns = round(row.client_invoke_time * 1e9)
    return ClientTiming(
        sent_ns=sent_ns,
        done_ns=sent_ns + max(0, round(row.client_duration_ms * 1e6)),
        first_byte_ns=None if row.ttft_ms is None else sent_ns + round(row.ttft_ms * 1e6),
        agent_start_ns=None if row.agent_start_time is None else round(row.agent_start_time * 1e9),
        is_cold=is_cold,
        same_clock=same_clock,
    )
