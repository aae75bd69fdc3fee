"""What exporting spans costs an agent: the same code with its spans on and switched off, in turns."""

from __future__ import annotations

import random
from collections.abc import Iterator
from statistics import median

from .agents import AGENTS, SPEAKING
from .laboratory import Laboratory, new_session
from .raw import Caller, signed_request
from .table import Row, ms

_BODY = {"prompt": "hello"}
_OFF = {"AGENT_OBSERVABILITY_ENABLED": "false"}


def tracing(laboratory: Laboratory, cold: int = 16, warm: int = 300) -> Iterator[Row]:
    """Cold sessions and warm calls of an agent without spans of its own and of one that makes four a call."""
    for name, code in (("bare", AGENTS["bare"]), ("speaking", SPEAKING)):
        laboratory.deploy(f"{name}_on", code)
        laboratory.deploy(f"{name}_off", code, **_OFF)
        yield _cold(laboratory, name, cold)
        yield _warm(laboratory, name, warm)


def _cold(laboratory: Laboratory, name: str, n: int) -> Row:
    times: dict[str, list[float]] = {"on": [], "off": []}
    for turn in range(n + 1):
        for state in random.sample(("on", "off"), 2):
            session, caller = new_session(), Caller(laboratory.state.port)
            response = caller.ask(signed_request(laboratory.signed(f"{name}_{state}", session, _BODY)))
            caller.close()
            laboratory.end_session(f"{name}_{state}", session)
            if turn:
                times[state].append(response.first_ms)
    ratio = median(on / off for on, off in zip(times["on"], times["off"], strict=True))
    aim = 1.03 if name == "bare" else 1.05
    return Row(
        what=f"cold session of {name}, spans on beside off",
        ours=ms(times["on"]),
        reference=ms(times["off"]),
        compared=f"× {ratio:.3f} (pairs)",
        aim=f"≤ × {aim:.2f}",
        met=ratio <= aim,
        n=n,
    )


def _warm(laboratory: Laboratory, name: str, n: int) -> Row:
    sessions = {state: new_session() for state in ("on", "off")}
    callers = {state: Caller(laboratory.state.port) for state in sessions}
    times: dict[str, list[float]] = {"on": [], "off": []}
    for turn in range(n + 20):
        for state in random.sample(("on", "off"), 2):
            request = signed_request(laboratory.signed(f"{name}_{state}", sessions[state], _BODY))
            response = callers[state].ask(request)
            if turn >= 20:
                times[state].append(response.whole_ms)
    for state, session in sessions.items():
        callers[state].close()
        laboratory.end_session(f"{name}_{state}", session)
    added = median(on - off for on, off in zip(times["on"], times["off"], strict=True))
    return Row(
        what=f"warm call of {name}, spans on beside off",
        ours=ms(times["on"]),
        reference=ms(times["off"]),
        compared=f"{added:+.2f} ms (pairs)",
        n=n,
    )
