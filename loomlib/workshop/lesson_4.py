"""Lesson 4, what does it remember: new sessions, isolation, personal data, provenance and deletion."""

from __future__ import annotations

from typing import Final

from ..memory.forgetting import ForgetPreview, ForgetResult
from ..memory.health import Finding
from ..memory.isolation import IsolationReport
from ..workbench import Invocation, Workbench
from ..workbench.agent_history import AgentHistory
from ..workbench.memory_views import ProvenanceView
from .exercise import Exercise, an, expect, quoted

WHO: Final = "anna"
FEWEST_ACTORS: Final = 4


def _remembered(answer: object, bench: Workbench) -> str:
    inv = an(answer, Invocation, "an invocation, which is what agent.invoke(payload={…}) returns")
    expect(inv.ok, f"the call failed: {inv.sentence()}")
    rows = AgentHistory(inv.context, inv.entry).conversation(inv.session_id)
    expect(
        rows[0].record.id == inv.record.id,
        "this session was already open, so the agent may know it from the conversation. Ask in a new session.",
    )
    used = inv.telemetry.memories_used()
    expect(len(used) > 0, f"it answered {quoted(inv.text)}, but no memory record was in the prompt. Which actor asked?")
    remembered = quoted(str(used["text"].iloc[0]))
    return f"in a new session, the record {remembered} was in the prompt."


def _isolated(answer: object, bench: Workbench) -> str:
    report = an(answer, IsolationReport, "a report, which is what memory.check_isolation(…) returns")
    expect(len(report.actors) >= FEWEST_ACTORS, f"only {len(report.actors)} actors were tested; use {FEWEST_ACTORS}.")
    expect(not report.not_checked, f"not everything could be tested: {'; '.join(report.not_checked)}.")
    expect(
        not report.crossings,
        f"{report.crossed_reads} of {report.reads} reads returned another actor's records. print(answer) names them.",
    )
    return (
        f"{report.reads} reads by {len(report.actors)} actors with similar names, and none returned another's records."
    )


def _should_not(answer: object, bench: Workbench) -> str:
    finding = an(answer, Finding, "a finding: one of memory.health().findings")
    expect(
        finding.kind in ("personal_data", "secret"),
        f"this one is about {finding.kind.replace('_', ' ')}; look for something that should not have been stored.",
    )
    records = [evidence for evidence in finding.evidence if evidence.what == "record"]
    expect(
        bool(records),
        "these are events, which expire. The same text is in a record as well.",
    )
    return f"{finding.what}, in {records[0].namespace}. It is redacted in the report, but the memory stores it in full."


def _came_from(answer: object, bench: Workbench) -> str:
    view = an(answer, ProvenanceView, "a provenance, which is what memory.provenance(record) returns")
    expect(bool(view.found.sources), f"no source was found: {view.sentence()}")
    digits = sum(character.isdigit() for character in view.found.record.text)
    expect(digits >= 8, f"this is where {quoted(view.found.record.text)} came from. Which record has the card number?")
    source = view.found.sources[0]
    event = source.event
    return f"{view.state}: {event.actor_id} stated it at {event.timestamp:%H:%M:%S}. The agent did not ask for it."


def _previewed(answer: object, bench: Workbench) -> str:
    preview = an(answer, ForgetPreview, "a preview, which is what memory.forget(…) returns, without .confirm()")
    expect(
        preview.actor_id == WHO,
        f"this is about {preview.actor_id}, but {WHO} requested the deletion. Ids must match exactly.",
    )
    expect(
        bool(preview.events or preview.records), f"no data of {WHO} is stored any more; send a message as {WHO} first."
    )
    return f"{preview.events} events and {preview.records} records would be deleted; nothing has been deleted yet."


def _forgotten(answer: object, bench: Workbench) -> str:
    result = an(answer, ForgetResult, "what .confirm() of a preview returns")
    expect(result.actor_id == WHO, f"this deleted the data of {result.actor_id}.")
    now = result.verify()
    expect(
        now.is_verified, f"{now.left_events} events and {now.left_records} records are still stored, or stored again."
    )
    others = {actor for actor in result.reader.actors() if actor != WHO and any(result.reader.events(actor, limit=1))}
    expect(bool(others), "no other actor is left in this memory: too much was deleted.")
    return (
        f"a second search finds no data of {WHO}; the data of {', '.join(sorted(others)[:3])} still exists. "
        f"Copies may exist in {len(now.may_still_hold)} other places, listed in .may_still_hold."
    )


EXERCISES: Final = (
    Exercise(
        id="4.1",
        title="Does it remember in a new session?",
        hints=(
            "Without session_id, an invocation opens a new session.",
            "The payload names the actor: ask as the actor who told the agent about it.",
            'answer = agent.invoke(payload={"prompt": "What am I allergic to?", "actor": "anna"})',
        ),
        judge=_remembered,
    ),
    Exercise(
        id="4.2",
        title="Are the actors isolated?",
        hints=(
            "The check writes as one test actor and reads as others.",
            "memory.check_isolation takes actors=…",
            "answer = memory.check_isolation(actors=4)",
        ),
        judge=_isolated,
    ),
    Exercise(
        id="4.3",
        title="What should not be stored?",
        hints=(
            "health.findings has all findings, the worst first.",
            'health.of("personal_data") returns findings about personal data: one in a record, one in events.',
            'answer = next(f for f in health.of("personal_data") if f.evidence[0].what == "record")',
        ),
        judge=_should_not,
    ),
    Exercise(
        id="4.4",
        title="Where did it come from?",
        hints=(
            "The finding's evidence has the id of the record.",
            "memory.provenance takes that id.",
            "answer = memory.provenance(finding.evidence[0].id)",
        ),
        judge=_came_from,
    ),
    Exercise(
        id="4.5",
        title="What would be deleted?",
        hints=("memory.forget shows what would be deleted; it deletes nothing.", 'answer = memory.forget("anna")'),
        judge=_previewed,
    ),
    Exercise(
        id="4.6",
        title="Delete her data",
        hints=(
            "The preview has a method that deletes.",
            "answer = preview.confirm()",
        ),
        judge=_forgotten,
    ),
)
