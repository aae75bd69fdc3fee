"""Why an agent cannot take a higher load: first the client's own limit, then refusals, then the evidence of the traces.

The traces of calls at the lowest load are compared with those beyond the highest load that holds. The part of the time
that grew most is the limit; within the agent's own time, the span that grew most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from loomlib.presentation.formats import join, milliseconds, number, percent, plural
from loomlib.telemetry.traces.part_styles import PART_NAMES

from .parts import StepParts
from .result import LoadResult
from .steps import LoadTestStep

CLIENT: Final = "client"
REFUSED: Final = "refused"
FAILED: Final = "failed"
TRACES: Final = "traces"
SOCKET: Final = "socket"
NONE: Final = "none"

_CLIENT_MADE_SHARE: Final = 0.95
_CLIENT_CPU_SHARE: Final = 0.9
_CLIENT_LAG_SHARE: Final = 0.2
"""The client is the limit when it made a smaller share of the offered calls, was busier, or when its median lag is a
larger share of the growth of the median TTFT."""

_LARGE_FAILURE_SHARE: Final = 0.05
_SPAN_SHARE: Final = 0.5
"""A span is named when it explains more than this share of the growth of the agent's own time."""

_GREW: Final = {
    "cold_start": "the starts of sessions took {ms} longer",
    "service_network": "calls waited {ms} longer before the agent began, in the service, the network or its queue",
    "agent": "the agent's own work took {ms} longer",
    "model": "calls waited {ms} longer for the model",
    "tools": "calls waited {ms} longer for tools",
    "memory": "calls waited {ms} longer for memory",
    "garbage_collection": "garbage collections took {ms} longer",
    "unknown": "{ms} more are not explained by any span",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimit:
    """The reason why an agent cannot take a higher load.

    Attributes:
        kind: "client", "refused", "failed", "traces", "socket" or "none".
        text: The reason as the middle of a sentence; empty when no load was beyond the SLO.
        load: The load at which it was seen.
        part: The part of `loomlib.telemetry.traces.PARTS` that grew most; empty without traces.
        span: The span within the agent that grew most; empty when none explains it.
        grew_ms: Additional time of this part or span compared with the lowest load, in milliseconds.
        share: Its share of the time at that load.
    """

    kind: str
    text: str
    load: float | None = None
    part: str = ""
    span: str = ""
    grew_ms: float | None = None
    share: float | None = None


def load_limit(result: LoadResult) -> LoadLimit:
    """Return what limits the load of the agent.

    Args:
        result: A load test.
    """
    low, knee = result.low_step, result.knee_step
    if knee is None or low is None or knee.figures is None or low.figures is None:
        return LoadLimit(kind=NONE, text="")
    at = at_load(result, knee)
    if (client := _client(low, knee)) is not None:
        return LoadLimit(kind=CLIENT, load=knee.load, text=f"{at}, this client was the limit, not the agent: {client}")
    if refused := {status: count for status, count in knee.statuses.items() if status in ("402", "429")}:
        count = sum(refused.values())
        # Statuses are those of the whole step; `figures.n` leaves out its first calls.
        share = count / max(count, round(knee.figures.made_per_s * knee.figures.seconds))
        if share > _LARGE_FAILURE_SHARE:
            statuses = join([f"HTTP {status}" for status in refused])
            text = f"{at}, AgentCore refused {percent(share)} of the calls ({statuses}): a quota"
            return LoadLimit(kind=REFUSED, load=knee.load, share=share, text=text)
    errors = knee.figures.errors.estimate.value
    if errors is not None and errors > _LARGE_FAILURE_SHARE and knee.figures.failures:
        first = next(iter(knee.figures.failures))
        text = f"{at}, {percent(errors)} of the calls failed, most of them with the failure “{first}”"
        return LoadLimit(kind=FAILED, load=knee.load, share=errors, text=text)
    if knee.position != low.position:
        before, beyond = result.parts.get(low.position), result.parts.get(knee.position)
        if before is not None and beyond is not None and before.n and beyond.n:
            return _of_traces(at, knee, before, beyond)
    elif (only := result.parts.get(knee.position)) is not None and only.n:
        return _of_one_load(at, knee, only)
    return LoadLimit(kind=SOCKET, load=knee.load, text=_socket(at, low, knee, result))


def at_load(result: LoadResult, step: LoadTestStep) -> str:
    """Return the load of a step in words: `at 18 calls a second`."""
    return f"with {_users(step.load)}" if result.design.is_closed_loop else f"at {number(step.load)} calls a second"


def _users(load: float | None) -> str:
    return plural(round(load or 0), "user")


def _client(low: LoadTestStep, knee: LoadTestStep) -> str | None:
    assert low.figures is not None
    assert knee.figures is not None
    made_share, cpu_share, lag_ms = knee.figures.made_share, knee.figures.cpu_share, knee.figures.lag.p50_ms
    before, beyond = (step.figures.ttft[0.5].estimate.value for step in (low, knee) if step.figures is not None)
    if lag_ms is not None and before is not None and beyond is not None:
        grew = beyond - before
        if lag_ms > 1 and lag_ms > _CLIENT_LAG_SHARE * max(grew, 0.0):
            return f"it sent calls {milliseconds(lag_ms)} late"
    if cpu_share is not None and cpu_share > _CLIENT_CPU_SHARE:
        return f"its processors were busy {percent(cpu_share)} of the time"
    if made_share is not None and made_share < _CLIENT_MADE_SHARE:
        return f"it sent {percent(made_share)} of the calls in time"
    return None


def _of_traces(at: str, knee: LoadTestStep, before: StepParts, beyond: StepParts) -> LoadLimit:
    grew = {name: beyond.part_ms.get(name, 0.0) - ms for name, ms in before.part_ms.items()}
    part = max(grew, key=lambda name: grew[name])
    if grew[part] <= 0:
        text = f"{at}, the traces show no part that took longer than at the lowest load"
        return LoadLimit(kind=TRACES, load=knee.load, text=text)
    ms, now_ms, span, phrase = grew[part], beyond.part_ms[part], "", _GREW[part]
    if part == "agent":
        spans = {name: now - before.span_ms.get(name, 0.0) for name, now in beyond.span_ms.items()}
        most = max(spans, key=lambda name: spans[name], default="")
        if most and spans[most] > _SPAN_SHARE * ms:
            span, ms, now_ms = most, spans[most], beyond.span_ms[most]
            phrase = "calls spent {ms} longer in the agent's span “" + most.replace("{", "(").replace("}", ")") + "”"
    share = min(1.0, now_ms / beyond.total_ms) if beyond.total_ms else 0.0
    text = f"{at}, {phrase.format(ms=milliseconds(ms))}, {percent(share)} of their time"
    return LoadLimit(kind=TRACES, load=knee.load, text=text, part=part, span=span, grew_ms=ms, share=share)


def _of_one_load(at: str, knee: LoadTestStep, only: StepParts) -> LoadLimit:
    """Return the largest part of the time at the lowest load, when it does not hold: there is no lower one."""
    part = max(only.part_ms, key=lambda name: only.part_ms[name])
    share = only.part_ms[part] / only.total_ms
    text = f"{at}, the lowest load, most of a call's time is “{PART_NAMES[part]}” ({percent(share)})"
    return LoadLimit(kind=TRACES, load=knee.load, text=text, part=part, share=share)


def _socket(at: str, low: LoadTestStep, knee: LoadTestStep, result: LoadResult) -> str:
    assert low.figures is not None
    assert knee.figures is not None
    firsts = [figures.ttft[0.5].estimate.value for figures in (low.figures, knee.figures)]
    wholes = [figures.duration[0.5].estimate.value for figures in (low.figures, knee.figures)]
    why = result.traces_error or "the calls' spans were not exported"
    if low.position == knee.position:
        return f"{at}, the lowest load, the SLO is not met; the reason is unknown without traces ({why})"
    if None in firsts or None in wholes:
        return f"{at}, the SLO is not met; the reason is unknown without traces ({why})"
    ttft, whole = (firsts[1] or 0.0) - (firsts[0] or 0.0), (wholes[1] or 0.0) - (wholes[0] or 0.0)
    connect = "" if knee.connect_p50_ms is None else f", connections opened in {milliseconds(knee.connect_p50_ms)}"
    rest = milliseconds(max(whole - ttft, 0.0))
    return (
        f"{at}, the first byte came {milliseconds(max(ttft, 0.0))} later and the rest {rest} later than at "
        f"{number(low.load)} (p50{connect}; no traces: {why})"
    )
