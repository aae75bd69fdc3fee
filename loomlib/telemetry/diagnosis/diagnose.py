"""From one invocation, a session or a study to ranked findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from ..traces import ClientTiming, Trace
from .case import Case, ClientSide, limits_of
from .finding import CONFIDENCES, Diagnosis, Draft, Evidence, Finding, RuleProblem, rank
from .rulebook import Rule, RuleBook, rule_book
from .wording import milliseconds, plural


def diagnose(
    trace: Trace | Case, client: ClientSide | ClientTiming | None = None, *, rules: RuleBook | None = None
) -> Diagnosis:
    """Why one invocation took its time, the costliest cause first; nothing where nothing stands out.

    diagnose(trace, ClientTiming(sent_ns=…, done_ns=…)).table()
    """
    case = trace if isinstance(trace, Case) else Case.of(trace, client)
    book = _shipped() if rules is None else rules
    problems: list[RuleProblem] = []
    return Diagnosis(
        findings=_told(_findings(case, book, problems), book, case.total_ms),
        total_ms=case.total_ms,
        limits=limits_of([case]),
        problems=tuple(problems),
    )


def diagnose_session(cases: Iterable[Case], *, rules: RuleBook | None = None) -> Diagnosis:
    """Why the invocations of one session took their time, summed up by cause, with what shows only between them."""
    return _several([sorted(cases, key=_place)], _shipped() if rules is None else rules)


def diagnose_study(cases: Iterable[Case], *, rules: RuleBook | None = None) -> Diagnosis:
    """As `diagnose_session` for many invocations of any sessions; those that name a session are compared within it."""
    sessions: dict[str, list[Case]] = {}
    for case in sorted(cases, key=_place):
        sessions.setdefault(case.trace.session_id or f"trace {case.trace.trace_id}", []).append(case)
    return _several(list(sessions.values()), _shipped() if rules is None else rules)


@cache
def _shipped() -> RuleBook:
    return rule_book()


def _place(case: Case) -> tuple[int, str]:
    return case.breakdown.start_ns, case.trace.trace_id


def _several(sessions: Sequence[Sequence[Case]], book: RuleBook) -> Diagnosis:
    cases = [case for session in sessions for case in session]
    total = sum(case.total_ms for case in cases)
    problems: list[RuleProblem] = []
    by_rule: dict[str, list[tuple[Case, Finding]]] = {}
    for case in cases:
        for finding in _told(_findings(case, book, problems), book, case.total_ms):
            by_rule.setdefault(finding.rule, []).append((case, finding))
    joined = [_joined(found, len(cases), total) for found in by_rule.values()]
    for rule in book.rules:
        drafts = [(session, draft) for session in sessions if (draft := _session_draft(rule, session, problems))]
        if drafts:
            joined.append(_joined_sessions(rule, drafts, len(cases), total))
    return Diagnosis(
        findings=_told(joined, book, total, several=True),
        total_ms=total,
        invocations=len(cases),
        limits=limits_of(cases),
        problems=tuple(problems),
    )


def _findings(case: Case, book: RuleBook, problems: list[RuleProblem]) -> list[Finding]:
    found: list[Finding] = []
    for rule in book.rules:
        if rule.check is None:
            continue
        try:
            draft = rule.check(case, rule.thresholds)
        except Exception as error:  # noqa: BLE001 -- rules come from plugins too, and one must not end a diagnosis
            problems.append(_problem(rule, error, case.trace.trace_id))
            continue
        if draft is not None:
            doubted = _doubted(draft, case)
            found.append(rule.finding(doubted, total_ms=case.total_ms, trace_ids=(case.trace.trace_id,)))
    return found


def _session_draft(rule: Rule, session: Sequence[Case], problems: list[RuleProblem]) -> Draft | None:
    if rule.session_check is None or len(session) < 2:
        return None
    try:
        return rule.session_check(session, rule.thresholds)
    except Exception as error:  # noqa: BLE001 -- as above
        problems.append(_problem(rule, error, session[0].trace.trace_id))
        return None


def _problem(rule: Rule, error: Exception, trace_id: str) -> RuleProblem:
    return RuleProblem(rule=rule.name, error=f"{type(error).__name__}: {error}", trace_id=trace_id)


def _doubted(draft: Draft, case: Case) -> Draft:
    """The draft, no surer than its trace is whole, and with no more at stake than the invocation took."""
    most = case.total_ms
    draft = replace(draft, ms_at_stake=min(draft.ms_at_stake, most)) if draft.ms_at_stake > most else draft
    if not case.doubts:
        return draft
    return replace(
        draft,
        confidence=max(draft.confidence, "medium", key=CONFIDENCES.index),
        because=f"{draft.because}; {'; '.join(case.doubts)}",
    )


def _told(found: Iterable[Finding], book: RuleBook, total_ms: float, *, several: bool = False) -> tuple[Finding, ...]:
    """Ranked; what is not worth telling left out. Of several invocations a rare cause may be a small share."""
    return rank(
        each
        for each in found
        if each.ms_at_stake >= book.least_ms and (several or each.ms_at_stake >= book.least_share * total_ms)
    )


def _joined(found: Sequence[tuple[Case, Finding]], of: int, total_ms: float) -> Finding:
    """One cause over several invocations: the sum at stake, the worst invocation's evidence."""
    ordered = sorted(found, key=lambda each: (-each[1].ms_at_stake, _place(each[0])))
    worst = ordered[0][1]
    if len(found) == 1 and of == 1:
        return worst
    ms = sum(finding.ms_at_stake for _, finding in ordered)
    spread = Evidence(
        text=f"in {plural(len(found), 'invocation')} of {of}; {milliseconds(ms / len(found))} each on average, "
        f"at most {milliseconds(worst.ms_at_stake)}",
        value=float(len(found)),
        unit="invocations",
    )
    names = [finding.confidence for _, finding in ordered]
    return replace(
        worst,
        ms_at_stake=ms,
        share=ms / total_ms if total_ms else 0.0,
        evidence=(spread, *worst.evidence),
        confidence=max(CONFIDENCES, key=lambda each: (names.count(each), -CONFIDENCES.index(each))),
        affected=len(found),
        of=of,
        trace_ids=tuple(id for _, finding in ordered for id in finding.trace_ids),
    )


def _joined_sessions(rule: Rule, drafts: Sequence[tuple[Sequence[Case], Draft]], of: int, total_ms: float) -> Finding:
    ordered = sorted(drafts, key=lambda each: (-each[1].ms_at_stake, _place(each[0][0])))
    ids = tuple(case.trace.trace_id for session, _ in ordered for case in session)
    worst = rule.finding(ordered[0][1], total_ms=total_ms, trace_ids=ids)
    ms = sum(draft.ms_at_stake for _, draft in ordered)
    evidence = worst.evidence
    if len(ordered) > 1:
        spread = Evidence(text=f"in {plural(len(ordered), 'session')}", value=float(len(ordered)), unit="sessions")
        evidence = (spread, *evidence)
    return replace(
        worst, ms_at_stake=ms, share=ms / total_ms if total_ms else 0.0, evidence=evidence, affected=len(ids), of=of
    )
