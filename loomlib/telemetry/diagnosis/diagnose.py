"""Diagnose an invocation, a session or a study: apply the rules and rank their findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from loomlib.presentation.formats import milliseconds, plural

from ..traces import ClientTiming, Trace
from .case import ClientSide, InvocationCase, limits_of
from .finding import CONFIDENCES, Diagnosis, FindingDraft, FindingEvidence, LatencyFinding, RuleProblem, rank
from .rulebook import Rule, RuleBook, rule_book


def diagnose(
    trace: Trace | InvocationCase, client: ClientSide | ClientTiming | None = None, *, rules: RuleBook | None = None
) -> Diagnosis:
    """Diagnose why one invocation took as long as it did.

    Args:
        trace: The invocation's trace, or its case.
        client: The client's measurements; ignored for a case.
        rules: The rules; the shipped ones by default.

    Returns:
        The findings, the most costly first; none when no rule applies.

    Examples:
        >>> diagnose(trace, ClientTiming(sent_ns=sent_ns, done_ns=done_ns)).table()
    """
    case = trace if isinstance(trace, InvocationCase) else InvocationCase.of(trace, client)
    book = _shipped() if rules is None else rules
    problems: list[RuleProblem] = []
    return Diagnosis(
        findings=_ranked(_findings(case, book, problems), book, case.total_ms),
        total_ms=case.total_ms,
        limits=limits_of([case]),
        problems=tuple(problems),
    )


def diagnose_session(cases: Iterable[InvocationCase], *, rules: RuleBook | None = None) -> Diagnosis:
    """Diagnose why a session's invocations took as long as they did, including causes that span several of them.

    Args:
        cases: The session's invocations.
        rules: The rules; the shipped ones by default.
    """
    return _diagnose_many([sorted(cases, key=_order)], _shipped() if rules is None else rules)


def diagnose_study(cases: Iterable[InvocationCase], *, rules: RuleBook | None = None) -> Diagnosis:
    """Diagnose many invocations of any sessions; those that name a session are compared within it.

    A finding counts an invocation as affected only where it exceeds the rule's thresholds there.

    Args:
        cases: The invocations.
        rules: The rules; the shipped ones by default.
    """
    sessions: dict[str, list[InvocationCase]] = {}
    for case in sorted(cases, key=_order):
        sessions.setdefault(case.trace.session_id or f"trace {case.trace.trace_id}", []).append(case)
    return _diagnose_many(list(sessions.values()), _shipped() if rules is None else rules)


@cache
def _shipped() -> RuleBook:
    return rule_book()


def _order(case: InvocationCase) -> tuple[int, str]:
    return case.breakdown.start_ns, case.trace.trace_id


def _diagnose_many(sessions: Sequence[Sequence[InvocationCase]], book: RuleBook) -> Diagnosis:
    cases = [case for session in sessions for case in session]
    total = sum(case.total_ms for case in cases)
    problems: list[RuleProblem] = []
    by_rule: dict[str, list[tuple[InvocationCase, LatencyFinding]]] = {}
    for case in cases:
        for finding in _ranked(_findings(case, book, problems), book, case.total_ms):
            by_rule.setdefault(finding.rule, []).append((case, finding))
    merged = [_merged(findings, len(cases), total) for findings in by_rule.values()]
    for rule in book.rules:
        drafts = [(session, draft) for session in sessions if (draft := _session_draft(rule, session, problems))]
        if drafts:
            merged.append(_merged_sessions(rule, drafts, len(cases), total))
    return Diagnosis(
        findings=_ranked(merged, book, total, several=True),
        total_ms=total,
        invocations=len(cases),
        limits=limits_of(cases),
        problems=tuple(problems),
    )


def _findings(case: InvocationCase, book: RuleBook, problems: list[RuleProblem]) -> list[LatencyFinding]:
    findings: list[LatencyFinding] = []
    for rule in book.rules:
        if rule.check is None:
            continue
        try:
            draft = _checked(rule.check(case, rule.thresholds))
        except Exception as error:  # noqa: BLE001 -- rules come from plugins too, and one must not stop a diagnosis
            problems.append(_problem(rule, error, case.trace.trace_id))
            continue
        if draft is not None:
            draft = _with_caveats(draft, case)
            findings.append(rule.finding(draft, total_ms=case.total_ms, trace_ids=(case.trace.trace_id,)))
    return findings


def _session_draft(rule: Rule, session: Sequence[InvocationCase], problems: list[RuleProblem]) -> FindingDraft | None:
    if rule.session_check is None or len(session) < 2:
        return None
    try:
        return _checked(rule.session_check(session, rule.thresholds))
    except Exception as error:  # noqa: BLE001 -- as above
        problems.append(_problem(rule, error, session[0].trace.trace_id))
        return None


def _checked(draft: object) -> FindingDraft | None:
    if draft is not None and not isinstance(draft, FindingDraft):
        raise TypeError(f"expected a FindingDraft or None, not {type(draft).__name__}")
    return draft


def _problem(rule: Rule, error: Exception, trace_id: str) -> RuleProblem:
    return RuleProblem(rule=rule.name, error=f"{type(error).__name__}: {error}", trace_id=trace_id)


def _with_caveats(draft: FindingDraft, case: InvocationCase) -> FindingDraft:
    """Limit a draft's confidence to its trace's, and its time at stake to the invocation's duration."""
    most = case.total_ms
    draft = replace(draft, ms_at_stake=min(draft.ms_at_stake, most)) if draft.ms_at_stake > most else draft
    if not case.caveats:
        return draft
    return replace(
        draft,
        confidence=max(draft.confidence, "medium", key=CONFIDENCES.index),
        because=f"{draft.because}; {'; '.join(case.caveats)}",
    )


def _ranked(
    findings: Iterable[LatencyFinding], book: RuleBook, total_ms: float, *, several: bool = False
) -> tuple[LatencyFinding, ...]:
    """Rank findings and drop those too small to report; over several invocations a small share may be reported."""
    return rank(
        finding
        for finding in findings
        if finding.ms_at_stake >= book.least_ms and (several or finding.ms_at_stake >= book.least_share * total_ms)
    )


def _merged(case_findings: Sequence[tuple[InvocationCase, LatencyFinding]], of: int, total_ms: float) -> LatencyFinding:
    """Merge a cause over several invocations: summed time at stake, and the worst invocation's evidence."""
    ordered = sorted(case_findings, key=lambda pair: (-pair[1].ms_at_stake, _order(pair[0])))
    worst = ordered[0][1]
    if len(case_findings) == 1 and of == 1:
        return worst
    ms = sum(finding.ms_at_stake for _, finding in ordered)
    spread = FindingEvidence(
        text=f"over the rule's thresholds in {len(case_findings)} of {plural(of, 'invocation')}; "
        f"{milliseconds(ms / len(case_findings))} each on average, at most {milliseconds(worst.ms_at_stake)}",
        value=float(len(case_findings)),
        unit="invocations",
    )
    names = [finding.confidence for _, finding in ordered]
    return replace(
        worst,
        ms_at_stake=ms,
        share=ms / total_ms if total_ms else 0.0,
        evidence=(spread, *worst.evidence),
        confidence=max(CONFIDENCES, key=lambda confidence: (names.count(confidence), -CONFIDENCES.index(confidence))),
        affected=len(case_findings),
        of=of,
        trace_ids=tuple(id for _, finding in ordered for id in finding.trace_ids),
    )


def _merged_sessions(
    rule: Rule, drafts: Sequence[tuple[Sequence[InvocationCase], FindingDraft]], of: int, total_ms: float
) -> LatencyFinding:
    ordered = sorted(drafts, key=lambda draft: (-draft[1].ms_at_stake, _order(draft[0][0])))
    ids = tuple(case.trace.trace_id for session, _ in ordered for case in session)
    worst = rule.finding(ordered[0][1], total_ms=total_ms, trace_ids=ids)
    ms = sum(draft.ms_at_stake for _, draft in ordered)
    evidence = worst.evidence
    if len(ordered) > 1:
        spread = FindingEvidence(
            text=f"in {plural(len(ordered), 'session')}", value=float(len(ordered)), unit="sessions"
        )
        evidence = (spread, *evidence)
    return replace(
        worst, ms_at_stake=ms, share=ms / total_ms if total_ms else 0.0, evidence=evidence, affected=len(ids), of=of
    )
