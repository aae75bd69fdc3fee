"""Rules about tools: slow ones, ones that waited for each other, and results that the model must read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from ..traces import ToolCall, parallelism
from ..traces.intervals import total, union
from .case import Case
from .finding import Draft, Evidence
from .tool_results import Result, large_results, tokens_read
from .wording import milliseconds, name_of, number, percent, plural

Thresholds = Mapping[str, float]
_SERIAL = 1.1


def slow_tool(case: Case, limits: Thresholds) -> Draft | None:
    """A tool that takes long, by what its calls add to the whole next to the others of their batch."""
    added: dict[str, float] = {}
    slow: dict[str, list[ToolCall]] = {}
    alone = _own_ms(case)
    for batch in batches(case):
        for name in {call.name for call in batch}:
            own = max(alone[call.span_id] for call in batch if call.name == name)
            rest = max((call.duration_ms for call in batch if call.name != name), default=0.0)
            added[name] = added.get(name, 0.0) + max(0.0, own - max(rest, limits["usual_ms"]))
            slow.setdefault(name, []).extend(call for call in batch if call.name == name)
    named = [
        (ms, name)
        for name, ms in added.items()
        if _is_slow(max(alone[call.span_id] for call in slow[name]), case.share(ms), limits)
    ]
    if not named:
        return None
    _, name = max(named)
    calls = sorted(slow[name], key=lambda call: -alone[call.span_id])
    longest = alone[calls[0].span_id]
    evidence = [
        Evidence(
            text=f"{plural(len(calls), 'call')}, the longest {milliseconds(longest)}; "
            f"tools are {percent(case.part('tools').share)} of the whole",
            value=longest,
            unit="ms",
            span_ids=tuple(call.span_id for call in calls),
        )
    ]
    if failed := [call for call in calls if call.status == "error"]:
        evidence.append(
            Evidence(
                text=f"{plural(len(failed), 'call')} of it failed",
                value=float(len(failed)),
                unit="calls",
                span_ids=tuple(call.span_id for call in failed),
            )
        )
    others = [f"`{name_of(each)}` {milliseconds(other)}" for other, each in sorted(named, reverse=True)[1:4]]
    if others:
        evidence.append(Evidence(text=f"also slow: {', '.join(others)}", value=float(len(named) - 1), unit="tools"))
    return Draft(
        ms_at_stake=sum(ms for ms, _ in named),
        evidence=tuple(evidence),
        confidence="high",
        because="the tool's own span measures it; what it waited for inside is not in the trace",
        values=(("tool", name_of(name)), ("longest", milliseconds(longest))),
    )


def _own_ms(case: Case) -> dict[str, float]:
    """By tool call: its time without model calls and tools below it (an agent that is used as a tool)."""
    inner: dict[str, list[tuple[int, int]]] = {}
    for span in case.trace.of_operation("chat", "execute_tool"):
        for above in case.trace.ancestors(span):
            if case.trace.operation(above) == "execute_tool":
                moments = (max(span.start_ns, above.start_ns), min(span.end_ns, above.end_ns))
                inner.setdefault(above.span_id, []).append(moments)
    return {
        tool.span_id: max(0.0, tool.duration_ms - total(union(inner.get(tool.span_id, ()))) / 1e6)
        for tool in case.tools
    }


def _is_slow(longest: float, share: float, limits: Thresholds) -> bool:
    return (
        longest >= limits["always_ms"]
        or (longest >= limits["slow_ms"] and share >= limits["share"])
        or (longest >= limits["dominant_ms"] and share >= limits["dominant_share"])
    )


def serial_tools(case: Case, limits: Thresholds) -> Draft | None:
    """Tools that the model asked for at once and that ran one after the other."""
    ms, calls, most = 0.0, list[ToolCall](), 0
    for batch in batches(case):
        together = parallelism(batch)
        if len(batch) < 2 or together.factor >= _SERIAL:
            continue
        ms += max(0, together.elapsed_ns - together.longest_ns) / 1e6
        calls.extend(batch)
        most = max(most, len(batch))
    if not calls or (ms < limits["ms"] and case.share(ms) < limits["dominant_share"]):
        return None
    elapsed = sum(call.duration_ms for call in calls)
    names = ", ".join(f"`{name_of(name)}`" for name in list(dict.fromkeys(call.name for call in calls))[:4])
    return Draft(
        ms_at_stake=ms,
        evidence=(
            Evidence(
                text=f"{plural(len(calls), 'tool call')} ({names}) took {milliseconds(elapsed)} one after the other; "
                f"at once they would take {milliseconds(elapsed - ms)}",
                value=elapsed,
                unit="ms",
                span_ids=tuple(call.span_id for call in calls),
            ),
            Evidence(
                text=f"up to {most} were asked for in one turn, so none needed another's result",
                value=float(most),
                unit="calls",
            ),
        ),
        confidence="high",
        because="one model message asked for them all, and their spans do not overlap",
        values=(("count", str(len(calls))),),
    )


def oversized_result(case: Case, limits: Thresholds) -> Draft | None:
    """A tool's result so long that reading it takes the model's time in every later call."""
    ms, found, span_ids, basis = 0.0, list[Result](), list[str](), "slope"
    for group in case.by_agent:
        large = large_results(case, group, least_tokens=limits["result_tokens"], least_share=limits["result_share"])
        found.extend(large)
        span_ids.extend(each.span_id for each in large)
        for call, tokens in zip(group, tokens_read(group, large), strict=True):
            reading = case.readings.get(call.span_id)
            if tokens and reading is not None:
                ms += reading.ms(tokens)
                basis = reading.basis if reading.basis != "slope" else basis
                span_ids.append(call.span_id)
    if not found:
        return None
    worst = max(found, key=lambda each: (each.tokens, each.span_id))
    name, tokens = worst.tool, worst.tokens
    return Draft(
        ms_at_stake=ms,
        evidence=(
            Evidence(
                text=f"the result of `{name_of(name)}` has {number(worst.characters)} characters, "
                f"about {number(tokens)} tokens",
                value=tokens,
                unit="tokens",
                span_ids=tuple(dict.fromkeys(span_ids)),
            ),
            Evidence(
                text=f"reading it took the model about {milliseconds(ms)} in the calls after it", value=ms, unit="ms"
            ),
        ),
        confidence="medium" if basis == "slope" else "low",
        because="the result is in the trace; its time is what more tokens cost between this agent's calls"
        if basis == "slope"
        else "the result is in the trace; its time is at most its share of the tokens that the model read",
        values=(("tool", name_of(name)), ("tokens", number(tokens))),
    )


def batches(case: Case) -> list[list[ToolCall]]:
    """Tools that one model message asked for: below the same span, with no model call of that agent in between."""
    asked: dict[str, list[int]] = {}
    for call in case.calls:
        asked.setdefault(case.agent_above(call.span_id), []).append(call.start_ns)
    found: list[list[ToolCall]] = []
    last: dict[tuple[str, int], list[ToolCall]] = {}
    for tool in case.tools:
        above = case.trace.parent(tool.span_id)
        turn = bisect_right(asked.get(case.agent_above(tool.span_id), []), tool.start_ns)
        key = ("" if above is None else above.span_id, turn)
        if key not in last:
            last[key] = []
            found.append(last[key])
        last[key].append(tool)
    return found
