"""Rules about tools: slow tools, tools that ran sequentially, and large results in prompts.

Each rule takes a case and its thresholds, and returns a draft, or None where it does not apply.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from loomlib.presentation.formats import milliseconds, number, percent, plural
from loomlib.presentation.text import one_line

from ..traces import ToolCall, parallelism
from ..traces.intervals import total, union
from .case import InvocationCase
from .finding import FindingDraft, FindingEvidence
from .tool_results import ToolResultSize, large_results, tokens_read

Thresholds = Mapping[str, float]
_SERIAL = 1.1


def slow_tool(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find slow tools, by the time that they add to their batch."""
    added: dict[str, float] = {}
    slow: dict[str, list[ToolCall]] = {}
    alone = _own_ms(case)
    for batch in batches(case):
        for name in {call.name for call in batch}:
            own = max(alone[call.span_id] for call in batch if call.name == name)
            rest = max((call.duration_ms for call in batch if call.name != name), default=0.0)
            added[name] = added.get(name, 0.0) + max(0.0, own - max(rest, limits["usual_ms"]))
            slow.setdefault(name, []).extend(call for call in batch if call.name == name)
    slow_tools = [
        (ms, name)
        for name, ms in added.items()
        if _is_slow(max(alone[call.span_id] for call in slow[name]), case.share(ms), limits)
    ]
    if not slow_tools:
        return None
    _, name = max(slow_tools)
    calls = sorted(slow[name], key=lambda call: -alone[call.span_id])
    longest = alone[calls[0].span_id]
    evidence = [
        FindingEvidence(
            text=f"{plural(len(calls), 'call')}, the longest {milliseconds(longest)}; "
            f"tools are {percent(case.part('tools').share)} of the total",
            value=longest,
            unit="ms",
            span_ids=tuple(call.span_id for call in calls),
        )
    ]
    if failed := [call for call in calls if call.status == "error"]:
        evidence.append(
            FindingEvidence(
                text=f"{plural(len(failed), 'call')} failed",
                value=float(len(failed)),
                unit="calls",
                span_ids=tuple(call.span_id for call in failed),
            )
        )
    others = [f"`{one_line(name)}` {milliseconds(other)}" for other, name in sorted(slow_tools, reverse=True)[1:4]]
    if others:
        evidence.append(
            FindingEvidence(text=f"also slow: {', '.join(others)}", value=float(len(slow_tools) - 1), unit="tools")
        )
    return FindingDraft(
        ms_at_stake=sum(ms for ms, _ in slow_tools),
        evidence=tuple(evidence),
        confidence="high",
        because="measured by the tool's own span; what it waited for is not in the trace",
        values=(("tool", one_line(name)), ("longest", milliseconds(longest))),
    )


def _own_ms(case: InvocationCase) -> dict[str, float]:
    """Return each tool call's time without model and tool calls below it (an agent used as a tool)."""
    inner: dict[str, list[tuple[int, int]]] = {}
    for span in case.trace.of_operation("chat", "execute_tool"):
        for above in case.trace.ancestors(span):
            if case.trace.operation(above) == "execute_tool":
                overlap = (max(span.start_ns, above.start_ns), min(span.end_ns, above.end_ns))
                inner.setdefault(above.span_id, []).append(overlap)
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


def serial_tools(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find tools that the model requested at once but that ran one after another."""
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
    names = ", ".join(f"`{one_line(name)}`" for name in list(dict.fromkeys(call.name for call in calls))[:4])
    return FindingDraft(
        ms_at_stake=ms,
        evidence=(
            FindingEvidence(
                text=f"{plural(len(calls), 'tool call')} ({names}) took {milliseconds(elapsed)} one after another; "
                f"in parallel they would take {milliseconds(elapsed - ms)}",
                value=elapsed,
                unit="ms",
                span_ids=tuple(call.span_id for call in calls),
            ),
            FindingEvidence(
                text=f"up to {most} were requested in one cycle, so none needed another's result",
                value=float(most),
                unit="calls",
            ),
        ),
        confidence="high",
        because="one model message requested them all, and their spans do not overlap",
        values=(("count", str(len(calls))),),
    )


def oversized_result(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find a tool result so long that reading it slows every later model call."""
    ms, sizes, span_ids, basis = 0.0, list[ToolResultSize](), list[str](), "slope"
    for group in case.by_agent:
        large = large_results(case, group, least_tokens=limits["result_tokens"], least_share=limits["result_share"])
        sizes.extend(large)
        span_ids.extend(result.span_id for result in large)
        for call, tokens in zip(group, tokens_read(group, large), strict=True):
            reading = case.readings.get(call.span_id)
            if tokens and reading is not None:
                ms += reading.ms(tokens)
                basis = reading.basis if reading.basis != "slope" else basis
                span_ids.append(call.span_id)
    if not sizes:
        return None
    worst = max(sizes, key=lambda size: (size.tokens, size.span_id))
    name, tokens = worst.tool, worst.tokens
    return FindingDraft(
        ms_at_stake=ms,
        evidence=(
            FindingEvidence(
                text=f"the result of `{one_line(name)}` has {number(worst.characters, 0)} characters, "
                f"about {number(tokens, 0)} tokens",
                value=tokens,
                unit="tokens",
                span_ids=tuple(dict.fromkeys(span_ids)),
            ),
            FindingEvidence(
                text=f"reading it took the model about {milliseconds(ms)} in later calls", value=ms, unit="ms"
            ),
        ),
        confidence="medium" if basis == "slope" else "low",
        because="the result is in the trace; its time is the cost of its tokens, measured between this agent's calls"
        if basis == "slope"
        else "the result is in the trace; its time is an upper bound, its share of the tokens that the model read",
        values=(("tool", one_line(name)), ("tokens", number(tokens, 0))),
    )


def batches(case: InvocationCase) -> list[list[ToolCall]]:
    """Return tools grouped by the model message that requested them: below one span, with no model call in between."""
    by_turn: dict[str, list[int]] = {}
    for call in case.calls:
        by_turn.setdefault(case.agent_above(call.span_id), []).append(call.start_ns)
    groups: list[list[ToolCall]] = []
    last: dict[tuple[str, int], list[ToolCall]] = {}
    for tool in case.tools:
        above = case.trace.parent(tool.span_id)
        turn = bisect_right(by_turn.get(case.agent_above(tool.span_id), []), tool.start_ns)
        key = ("" if above is None else above.span_id, turn)
        if key not in last:
            last[key] = []
            groups.append(last[key])
        last[key].append(tool)
    return groups
