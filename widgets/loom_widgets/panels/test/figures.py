"""Details of an invocation: times, tokens, cost, tools and spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from loomlib import Invocation

from .words import short_text

if TYPE_CHECKING:
    from loomlib.telemetry import AgentStart
    from loomlib.telemetry.traces import ToolArtifacts
    from loomlib.workbench.trace_view import TraceView

_LOOKING_UP = "looking up …"
_MOST_PICTURES = 6  # the latest ones of a card


def figures_of(
    invocation: Invocation,
    start: AgentStart | None = None,
    trace: TraceView | None = None,
    *,
    problem: str = "",
) -> list[dict[str, Any]]:
    """Return the figures in order: `name`, `value`, and a `note` where needed.

    Args:
        invocation: The invocation.
        start: The agent's start, once it is known.
        trace: The trace, once it is known.
        problem: Why the start or the trace could not be read; "" while they are looked up.
    """
    pending = problem or _LOOKING_UP
    record = invocation.record
    rows = [
        _row("client invoke time", record.client_invoke_time, "time"),
        _row("agent start", record.agent_start_time, "time"),
        _row("cold start", record.cold_start_latency_ms, "ms"),
        _row("time to first byte", record.ttft_ms, "ms"),
        _row("duration", record.client_duration_ms, "ms", note=" · ".join(record.labels)),
    ]
    if start is None:
        rows[1]["note"] = rows[2]["note"] = "" if record.agent_start_time else pending
    elif start.state != "found":
        rows[1]["note"] = rows[2]["note"] = start.sentence()
    elif start.clocks_disagree:
        rows[2]["note"] = start.sentence()
    return [*rows, *_tokens(trace, pending)]


def _tokens(trace: TraceView | None, pending: str) -> list[dict[str, Any]]:
    if trace is None:
        return [_row("tokens in", None, "number", note=pending), _row("cost", None, "text", note=pending)]
    if trace.state != "found" and not trace.trace.spans:
        missing = " ".join(trace.sentences())
        return [_row("tokens in", None, "number", note=missing), _row("cost", None, "text", note="unknown")]
    cost = trace.cost()
    simulated = "simulated cost, not billed" if cost.is_simulated else ""
    return [
        _row("tokens in", cost.tokens("input"), "number", note=simulated),
        _row("tokens out", cost.tokens("output"), "number", note=simulated),
        _row("cost", str(cost.total), "text", note=simulated),
    ]


def _row(name: str, value: object, kind: str, *, note: str = "") -> dict[str, Any]:
    return {"name": name, "value": value, "kind": kind, "note": note}


def tools_of(trace: TraceView) -> list[dict[str, Any]]:
    """Return the tools that ran, by the trace: name, state, duration in ms, arguments, result, files and pictures.

    Calls of a code interpreter or a browser outside a tool have their own card if they produced files or pictures.
    """
    artifacts = {item.span_id: _artifacts(item) for item in trace.artifacts() if item.span_id}
    own = [
        {"id": f"own {item.name}", "name": item.name, "state": "done", **_artifacts(item)}
        for item in trace.artifacts()
        if not item.span_id
    ]
    reported: dict[str, Mapping[str, Any]] = {}
    for step in trace.trajectory().table():
        if step.get("tool") and step.get("call_id"):
            row = dict(reported.get(str(step["call_id"]), {}))
            reported[str(step["call_id"])] = row | {
                key: value for key, value in step.items() if value not in (None, "")
            }
    return [
        {
            "id": call.call_id or "",
            "name": call.name,
            "state": "failed" if call.error else "done",
            "duration_ms": call.duration_ms,
            "arguments": short_text(reported.get(call.call_id or "", {}).get("arguments", "")),
            "result": short_text(reported.get(call.call_id or "", {}).get("result", "")),
            **artifacts.get(call.span_id, {}),
        }
        for call in trace.case.tools
    ] + own


def _artifacts(item: ToolArtifacts) -> dict[str, Any]:
    return {
        "files": [
            {"path": short_text(file.path), "action": short_text(file.action), "size": file.size} for file in item.files
        ],
        "pictures": [
            {"title": short_text(picture.title), "data": picture.address.partition(",")[2]}
            for picture in item.pictures[-_MOST_PICTURES:]
        ],
    }
