"""Conclusions of a study of session starts: the cost of a new session on each platform, and its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loomlib.experiments import Gate, StudyFinding, StudyMethod, StudyTable, failure_counts, pending_count
from loomlib.presentation.formats import milliseconds, number, percent, plural
from loomlib.statistics.gates import decide_at_most
from loomlib.statistics.percentiles import CONFIDENCE, PERCENTILE_METHOD

from ..method import timeout_argument
from .design import LABELS, PLATFORMS, PROCESS
from .figures import figures
from .parts import COST, FIRST_CALL, LATER_CALL, ORDER, PlatformStarts, Quantity, platform_starts, process_starts, saved
from .result import StartUpResult

if TYPE_CHECKING:
    from markupsafe import Markup

FORMAT = "loom.start-up-study/1"

__all__ = ["details", "figures", "findings", "judge", "method", "sections", "sentences", "table"]


def sentences(result: StartUpResult) -> list[str]:
    """Return what a new session costs on each platform, what V2 saves, and the largest part of each."""
    starts, process = platform_starts(result), process_starts(result)
    texts = [
        _saving(result),
        *(_cost(start) for start in starts),
        *(_process_cost(result, start) for start in process),
        *(_largest(start) for start in (*starts, *process)),
    ]
    return [*(text for text in texts if text), _failures(result)]


def _saving(result: StartUpResult) -> str:
    difference = saved(result, COST)
    if difference.value is None or difference.low is None or difference.high is None:
        return (
            f"Too few sessions were answered to tell what V2 saves ({plural(difference.n, 'pair')}, "
            f"{difference.needed_n} are needed)."
        )
    if difference.low <= 0 <= difference.high:
        return (
            "A new session shows no difference between V1 and V2 "
            f"({milliseconds(difference.value)}, 95 % interval {difference.interval_text('ms')})."
        )
    less = "less" if difference.value > 0 else "more"
    return (
        f"A new session costs {milliseconds(abs(difference.value))} {less} on V2 than on V1 (95 % interval of the "
        f"difference {difference.interval_text('ms')}, {plural(difference.n, 'pair')})."
    )


def _cost(start: PlatformStarts) -> str:
    cost = start.cost
    if cost.p50.value is None:
        return ""
    return (
        f"On {start.platform} a new session costs {milliseconds(cost.p50.value)} at the median "
        f"(95 % interval {cost.p50.interval_text('ms')}); three of four sessions cost at most {cost.p75.text('ms')}."
    )


def _process_cost(result: StartUpResult, start: PlatformStarts) -> str:
    cost = start.cost
    if cost.p50.value is None:
        return ""
    differences = [
        f"{milliseconds(abs(difference.value))} {'more' if difference.value > 0 else 'less'} on {platform} "
        f"({difference.interval_text('ms')})"
        for platform in PLATFORMS
        if (difference := saved(result, COST, (platform, PROCESS))).value is not None
    ]
    compared = f" In comparison, a new session costs {' and '.join(differences)}." if differences else ""
    return (
        "The agent's process itself, started as “python agent.py” without AgentCore and without isolation, costs "
        f"{milliseconds(cost.p50.value)} at the median (95 % interval {cost.p50.interval_text('ms')}).{compared}"
    )


def _largest(start: PlatformStarts) -> str:
    parts = sorted((part for part in start.parts if part.share), key=lambda part: -(part.share or 0))
    if not parts:
        return ""
    shares = ", ".join(f"{part.label} {percent(part.share or 0)}" for part in parts)
    return (
        f"Where the time of a new session goes on {start.platform}: {shares}."
        if start.platform != PROCESS
        else f"Where the time of the process itself goes: {shares}."
    )


def _failures(result: StartUpResult) -> str:
    failed = failure_counts(result.sessions)
    attempts = len(result.sessions) - pending_count(result.sessions)
    listed = ", ".join(f"{count} {name}" for name, count in failed.most_common())
    count = plural(sum(failed.values()), "failure") if failed else "No failures"
    return f"{count} in {plural(attempts, 'session')}{f': {listed}' if failed else ''}."


def table(result: StartUpResult) -> StudyTable:
    """Return one row for each part, then what a new session costs, its first call and a later one."""
    process = process_starts(result)
    starts = [*platform_starts(result), *process]
    pairs = [PLATFORMS, *([(platform, PROCESS) for platform in PLATFORMS] if process else [])]
    columns = ["part"]
    for start in starts:
        columns += [f"{start.label} {name}" for name in ("p50 [95 %] ms", "p75 [95 %] ms", "p90 [95 %] ms", "share")]
    columns += [f"{' − '.join(LABELS[condition] for condition in pair)} [95 %] ms" for pair in pairs]
    names = [name for name in ORDER if any(start.find(name) for start in starts)]
    rows = [
        (
            next(part.label for start in starts if (part := start.find(name)) is not None),
            *(cell for start in starts for cell in _cells(start.find(name))),
            *(_difference(result, starts, name, pair) for pair in pairs),
        )
        for name in names
    ]
    counts = (
        "sessions",
        *(cell for start in starts for cell in (start.counts(), "–", "–", "–")),
        *("–" for _ in pairs),
    )
    return StudyTable(columns=columns, rows=[*rows, counts])


def _difference(result: StartUpResult, starts: Sequence[PlatformStarts], name: str, pair: tuple[str, ...]) -> str:
    has_both = all(start.find(name) for start in starts if start.platform in pair)
    return str(saved(result, name, pair)) if has_both else "–"


def _cells(quantity: Quantity | None) -> tuple[str, str, str, str]:
    if quantity is None:
        return "–", "–", "–", "–"
    share = "–" if quantity.share is None else percent(quantity.share)
    return str(quantity.p50), str(quantity.p75), str(quantity.p90), share


def findings(result: StartUpResult) -> list[StudyFinding]:
    """Return the notable findings."""
    notable: list[StudyFinding] = []
    done_sessions = [session for session in result.sessions if session.is_done]
    of_v2 = [session for session in done_sessions if session.platform == "V2"]
    booted = [session for session in of_v2 if session.start is not None and session.start.kind == "boot"]
    if booted:
        notable.append(
            StudyFinding(
                kind="booted",
                title=f"{plural(len(booted), 'session')} of platform V2 booted instead of being restored",
                evidence="no snapshot of this version could be used",
                advice="The agent's log says why: look for “Loom: this session was booted and not restored”.",
            )
        )
    unknown = [session for session in done_sessions if session.start is None and session.platform != PROCESS]
    if unknown and result.scope == "local":
        notable.append(
            StudyFinding(
                kind="starts",
                title=f"The parts of {plural(len(unknown), 'start')} are unknown",
                evidence=f"{plural(len(done_sessions), 'session')} answered, "
                f"{number(len(done_sessions) - len(unknown), 0)} recorded",
                advice="Run the study again: it starts no session and reads the records again.",
            )
        )
    return notable


def method(result: StartUpResult) -> StudyMethod:
    """Return how the study was made."""
    design = result.design
    notes = [
        "Each unit opens a new session with a timed call and makes "
        f"{plural(design.later_calls, 'later call')} in it, one at a time, in randomized blocks of one session on each "
        f"platform{' and one start of the process' if design.source else ''} (seed {design.seed}).",
        "What a new session costs is its first call minus the median of its later calls: what the agent itself takes "
        "to answer is in neither platform's cost.",
        *(_PROCESS_NOTES if design.source else ()),
        *_PARTS_NOTES,
        f"Percentiles: {PERCENTILE_METHOD} ({percent(CONFIDENCE)} intervals); ≥ before an upper end means that the "
        "sessions are too few to bound it. V1 − V2 is the median of the differences in each block. Shares are of the "
        "sums over all sessions; a negative part counts as zero.",
        "A session with a failed call is counted by class and has no times.",
    ]
    if result.scope == "aws":
        notes = [note for note in notes if note not in _PARTS_NOTES]
    return StudyMethod(
        notes=notes,
        limits=_limits(result),
        run_again=f"loom.StartUpStudy(v1, v2, {'source=FOLDER, ' if design.source else ''}"
        f"sessions={design.sessions}, later_calls={design.later_calls}, "
        f"prompt={design.prompt!r}, seed={design.seed}{timeout_argument(design.timeout_s)}).run()",
        facts={"seed": design.seed},
    )


_PARTS_NOTES = (
    "Preparation: creating the session's folder and keys. Boot: from the start of the process and its sandbox to the "
    "first line of the agent's script. Imports: from that line until the server accepts connections. Restore: from the "
    "request for a copy of the snapshot's process until the copy serves requests. Network: setting up the restored "
    "session's network. First ping: until the answer to the first health check.",
    "First request: what is left of the cost. On V1 these are imports and connections that the agent makes when it is "
    "first used; on V2 also the first access to the snapshot's memory, whose pages each session copies when it writes "
    "to them.",
    "The process and the service read the same clock, and the process reports its own times.",
)


_PROCESS_NOTES = (
    "“python agent.py” is the agent's process alone: it is started on this machine in a copy of the agent's folder, "
    "asked for its first ping, then called over HTTP. There is no AgentCore in front of it and no isolation, and it "
    "sends no telemetry. One thing is changed: its server listens on a socket that is already open. Its first call "
    "counts from the start of the process to the end of the first answer.",
    "Sessions do not import optional format checkers of jsonschema that JupyterLab installs and AWS's image lacks; "
    "the process imports what is installed.",
)


def _limits(result: StartUpResult) -> list[str]:
    limits: list[str] = []
    if result.scope == "local":
        limits.append("The sessions ran on this machine as processes: a microVM's boot and snapshot take other times.")
    else:
        limits.append(
            "AWS does not record the parts of a session's start, so only the cost of a new session is shown: the "
            "difference that a client sees."
        )
    if any("simulated" in label for label in result.labels):
        limits.append("The model is simulated; its time is in the calls and cancels in the cost.")
    return limits


def details(result: StartUpResult) -> dict[str, Any]:
    """Return this study's additions to the common JSON summary."""
    return {
        "format": FORMAT,
        "agents": dict(result.agents),
        "platforms": [start.summary() for start in platform_starts(result)],
        "process": [start.summary() for start in process_starts(result)],
        "saved_ms": {name: saved(result, name).summary() for name in (COST, FIRST_CALL, LATER_CALL)},
    }


def sections(result: StartUpResult) -> list[Markup]:
    """Return no further sections of the page."""
    return []


def judge(result: StartUpResult, max_p75_ms: float, platform: str) -> Gate:
    """Compare the third quartile of what a new session costs with a limit.

    Args:
        result: The study.
        max_p75_ms: The limit, in milliseconds.
        platform: The platform.
    """
    if max_p75_ms <= 0:
        raise ValueError(f"a limit must be above 0 ms, not {max_p75_ms}")
    if platform not in PLATFORMS:
        raise ValueError(f"a platform is {' or '.join(PLATFORMS)}, not {platform!r}")
    cost = next(start for start in platform_starts(result) if start.platform == platform).cost
    decision = decide_at_most(cost.p75, max_p75_ms, cost.values, percentile=0.75)
    text = f"p75 of a new session's cost on {platform}: {cost.p75.text('ms')}, limit {milliseconds(max_p75_ms)}"
    if decision.is_missed_by_all and cost.p75.value is None:
        text += f"; {decision.all_missed('session')}"
    elif advice := decision.advice("session"):
        text += f"; {advice}"
    return Gate(
        outcome=decision.outcome, limit=max_p75_ms, figure=cost.p75, text=f"Gate {decision.outcome}: {text}.",
        data={"platform": platform, "limit_ms": max_p75_ms, "p75": cost.p75.summary(), "needed_n": decision.needed_n},
    )  # fmt: skip
