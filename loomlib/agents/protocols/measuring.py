"""Running one measured call: its failures become its stored outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loomlib.errors import AwsError, ProtocolError

from ...presentation.formats import time_limit
from ..outcome import failure_of
from ..record import InvocationRecord
from .jsonrpc import failure_of_code
from .measured_call import MeasuredCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """The outcome of one stored request.

    Attributes:
        record: The stored record.
        result: The protocol's result; empty when there is none.
        events: The transcript as it is stored.
    """

    record: InvocationRecord
    result: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    events: tuple[str, ...] = field(default=(), repr=False)


async def measure(
    call: MeasuredCall,
    send: Callable[[], Awaitable[Mapping[str, Any]]],
    read: Callable[[Mapping[str, Any]], tuple[str, str | None]],
) -> CallOutcome:
    """Store a request, send it, store the messages received, and return the outcome. Only failures to store raise.

    Args:
        call: The call; its request has the time-out.
        send: Sends it and returns the protocol's result.
        read: Returns a result's text, and the agent's error in it.
    """
    timeout_s = call.request.timeout_s
    result: Mapping[str, Any] = {}
    try:
        await call.begin()
        async with asyncio.timeout(timeout_s):
            result = await send()
        call.is_answered = True
    except TimeoutError:
        call.fail("timeout", f"No result arrived within {time_limit(timeout_s)}")
    except asyncio.CancelledError:
        call.fail("cancelled", "The caller cancelled before the result came")
    except ProtocolError as error:
        call.is_answered = error.code is not None
        call.fail(failure_of_code(error.code), str(error))
    except AwsError as error:
        call.fail(failure_of(error), str(error))
    text, problem = read(result)
    if problem is not None:
        call.fail("agent_error", problem)
    record = await call.finish(text)
    return CallOutcome(record=record, result=result, events=tuple(call.line.events))
