"""Rules about waiting inside the agent: failed attempts, many memory calls, the agent's own code.

Each rule takes a case and its thresholds, and returns a draft, or None where it does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loomlib.json_values import number_or_none
from loomlib.presentation.formats import milliseconds, percent, plural
from loomlib.presentation.text import one_line

from ..traces import ModelCall, Retry, Span
from ..traces.intervals import total, union
from .case import InvocationCase
from .finding import FindingDraft, FindingEvidence

Thresholds = Mapping[str, float]
_THROTTLED = ("throttl", "toomanyrequests", "too many requests", "rate exceeded", "rate limit", "ratelimit", "429")


def throttling_retries(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find throttled model calls, and the waits before the next attempt."""
    refused = [retry for retry in case.retries if is_throttling(retry.error)]
    hidden = [call for call in case.answered_calls if call.http_retries and not _names_other_error(case, call)]
    lost = {call.span_id: _hidden_ms(case, call, limits["usual_ms"]) for call in hidden}
    ms = _lost_ms(refused) + sum(lost.values())
    if not refused and not hidden:
        return None
    evidence: list[FindingEvidence] = []
    if refused:
        waited = sum(retry.waited_ns for retry in refused) / 1e6
        evidence.append(
            FindingEvidence(
                text=f"{plural(len(refused), 'model call')} throttled: {one_line(refused[0].error)}",
                value=float(len(refused)),
                unit="calls",
                span_ids=tuple(retry.failed_span_id for retry in refused),
            )
        )
        evidence.append(
            FindingEvidence(text=f"{milliseconds(waited)} waited before the next attempt", value=waited, unit="ms")
        )
    if hidden:
        retries = sum(call.http_retries or 0 for call in hidden)
        evidence.append(
            FindingEvidence(
                text=f"botocore retried {plural(retries, 'request')} inside {plural(len(hidden), 'model call')}",
                value=float(retries),
                unit="requests",
                span_ids=tuple(call.span_id for call in hidden),
            )
        )
    return FindingDraft(
        ms_at_stake=ms,
        evidence=tuple(evidence),
        confidence="high" if refused else "medium",
        because="the spans state the throttling error and show the wait"
        if refused
        else "the number of retries is known; their cause and duration are inferred from the other calls",
        values=(("count", str(len(refused) or sum(call.http_retries or 0 for call in hidden))),),
    )


def failed_attempts(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find model calls that failed for another reason than throttling and were retried."""
    failed = [retry for retry in case.retries if not is_throttling(retry.error)]
    if not failed:
        return None
    return FindingDraft(
        ms_at_stake=_lost_ms(failed),
        evidence=(
            FindingEvidence(
                text=f"{plural(len(failed), 'model call')} failed: {one_line(failed[0].error)}",
                value=float(len(failed)),
                unit="calls",
                span_ids=tuple(retry.failed_span_id for retry in failed),
            ),
        ),
        confidence="high",
        because="the spans show the failures and the retries",
        values=(("count", str(len(failed))),),
    )


def chatty_memory(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find many memory calls in one invocation: the time of those beyond the few that it needs."""
    calls = [span for span in _memory_calls(case) if not case.within(span, "execute_tool")]
    if len(calls) < limits["calls"]:
        return None
    elapsed = total(union((span.start_ns, span.end_ns) for span in calls)) / 1e6
    share = case.share(elapsed)
    is_many = len(calls) >= limits["many_calls"] and share >= limits["many_share"]
    if elapsed < limits["ms"] or not (is_many or share >= limits["share"]):
        return None
    needed = min(1.0, limits["needed_calls"] / len(calls))
    names = [f"{count} × {name}" for name, count in _counted(calls)][:4]
    return FindingDraft(
        ms_at_stake=elapsed * (1 - needed),
        evidence=(
            FindingEvidence(
                text=f"{plural(len(calls), 'memory call')} ({', '.join(names)}) took {milliseconds(elapsed)}, "
                f"{percent(share)} of the total",
                value=float(len(calls)),
                unit="calls",
                span_ids=tuple(span.span_id for span in calls),
            ),
        ),
        confidence="medium",
        because="the calls are measured; which of them could be omitted or combined is not in the trace",
        values=(("count", str(len(calls))),),
    )


def slow_memory(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find memory calls that take long."""
    calls = [span for span in _memory_calls(case) if span.duration_ns / 1e6 >= limits["slow_ms"]]
    ms = sum(max(0.0, span.duration_ns / 1e6 - limits["usual_ms"]) for span in calls)
    if not calls or case.share(ms) < limits["share"]:
        return None
    longest = max(span.duration_ns for span in calls) / 1e6
    return FindingDraft(
        ms_at_stake=ms,
        evidence=(
            FindingEvidence(
                text=f"{plural(len(calls), 'memory call')} above {milliseconds(limits['slow_ms'])}, "
                f"the longest {milliseconds(longest)}",
                value=longest,
                unit="ms",
                span_ids=tuple(span.span_id for span in calls),
            ),
        ),
        confidence="high",
        because="measured by the calls' own spans",
        values=(("longest", milliseconds(longest)),),
    )


def agent_overhead(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find time in the agent that is neither model, tool, memory, nor a wait before a retry."""
    part = case.part("agent")
    waited = sum(retry.waited_ns for retry in case.retries) / 1e6
    own = max(0.0, part.duration_ns / 1e6 - waited)
    if own < limits["ms"] or case.share(own) < limits["share"]:
        return None
    return FindingDraft(
        ms_at_stake=max(0.0, own - limits["usual_ms"]),
        evidence=(
            FindingEvidence(
                text=f"{milliseconds(own)} in the agent's own code, {percent(case.share(own))} of the total "
                f"({part.derived_from})",
                value=own,
                unit="ms",
                span_ids=part.span_ids,
            ),
        ),
        confidence="medium" if part.certainty == "measured" else "low",
        because="no other span explains it" + (f"; {part.caveat}" if part.caveat else ""),
        values=(("own", milliseconds(own)),),
    )


def is_throttling(error: str) -> bool:
    """Return whether an error's text says that there were too many requests."""
    lowered = error.lower()
    return any(sign in lowered for sign in _THROTTLED)


def _lost_ms(retries: Sequence[Retry]) -> float:
    return sum(retry.failed_ns + retry.waited_ns for retry in retries) / 1e6


def _hidden_ms(case: InvocationCase, call: ModelCall, usual_ms: float) -> float:
    """Return a call's time beyond the service's own, or beyond comparable calls: retries inside it.

    Where there is neither, at most what its first token took beyond `usual_ms`.
    """
    span = case.trace.span(call.span_id)
    served = None if span is None else number_or_none(span.attributes.get("gen_ai.server.request.duration"))
    if served:  # Strands: the latency that Bedrock itself states, in milliseconds
        return max(0.0, call.duration_ms - served)
    calm = sorted(other.duration_ms for other in case.answered_calls if not other.http_retries)
    if calm:
        return max(0.0, call.duration_ms - calm[len(calm) // 2])
    return max(0.0, min(call.ttft_ms or 0.0, call.duration_ms) - usual_ms)


def _names_other_error(case: InvocationCase, call: ModelCall) -> bool:
    """Return whether an event of the call or its duplicate states another error than throttling."""
    spans = [
        case.trace.span(call.span_id),
        *(duplicate for duplicate in case.trace.duplicates if duplicate.parent_id == call.span_id),
    ]
    texts = [
        str(event.attributes.get("exception.type", "")) + str(event.attributes.get("exception.message", ""))
        for span in spans
        if span is not None
        for event in span.events
        if event.name == "exception"
    ]
    return bool(texts) and not any(is_throttling(text) for text in texts)


def _memory_calls(case: InvocationCase) -> list[Span]:
    """Return memory calls, each once: a span around such calls is not one itself."""
    spans = case.trace.of_operation("memory")
    around = {
        above.span_id
        for span in spans
        for above in case.trace.ancestors(span)
        if case.trace.operation(above) == "memory"
    }
    return [span for span in spans if span.span_id not in around]


def _counted(spans: Sequence[Span]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for span in spans:
        name = one_line(span.name.rpartition(".")[2] or span.name)
        counts[name] = counts.get(name, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
