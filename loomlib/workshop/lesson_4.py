"""Lesson 4, what does it remember: across sessions, for whom, from where, what it should not, and forgetting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..memory.forgetting import ForgetPreview, Forgotten
from ..memory.health import Finding
from ..memory.isolation import IsolationReport
from ..workbench import Invocation
from ..workbench.agent_history import AgentHistory
from ..workbench.memory_views import ProvenanceView
from .exercise import Exercise, an, expect, quoted

if TYPE_CHECKING:
    from ..workbench import Workbench

WHO: Final = "anna"
FEWEST_ACTORS: Final = 4


def _remembered(answer: object, bench: Workbench) -> str:
    inv = an(answer, Invocation, "an invocation, which is what agent.invoke(payload={…}) returns")
    expect(inv.ok, f"the call failed: {inv.sentence()}")
    rows = AgentHistory(inv.context, inv.entry).conversation(inv.session_id)
    expect(
        rows[0].record.id == inv.record.id,
        "this session was open already, so the agent may have known it from the conversation. Ask in a new one.",
    )
    used = inv.telemetry.memories_used()
    expect(
        len(used) > 0, f"it answered {quoted(inv.text)}, and no record of its memory stood in the prompt. Who asked?"
    )
    told = quoted(str(used["text"].iloc[0]))
    return f"in a session that had never heard of it, the record {told} stood in the prompt."


def _isolated(answer: object, bench: Workbench) -> str:
    found = an(answer, IsolationReport, "a report, which is what memory.check_isolation(…) returns")
    expect(len(found.actors) >= FEWEST_ACTORS, f"only {len(found.actors)} actors were tried; take {FEWEST_ACTORS}.")
    expect(not found.not_checked, f"not all could be tried: {'; '.join(found.not_checked)}.")
    expect(
        not found.crossings,
        f"{found.crossed_reads} of {found.reads} reads crossed: this memory mixes its people up. "
        "print(answer) names them.",
    )
    return f"{found.reads} reads by {len(found.actors)} people with names nearly alike, and none saw another's."


def _should_not(answer: object, bench: Workbench) -> str:
    found = an(answer, Finding, "a finding: one of memory.health().findings")
    expect(
        found.kind in ("personal_data", "secret"),
        f"this one is about {found.kind.replace('_', ' ')}; look for something that nobody should have kept.",
    )
    records = [each for each in found.evidence if each.what == "record"]
    expect(
        bool(records),
        "these are events: what was said, which goes by itself when it expires. The same stands in a record, too.",
    )
    return f"{found.what}, in {records[0].namespace}. It was struck out in the report, and it is in the memory in full."


def _came_from(answer: object, bench: Workbench) -> str:
    view = an(answer, ProvenanceView, "a provenance, which is what memory.provenance(record) returns")
    expect(bool(view.found.sources), f"no source was found: {view.sentence()}")
    digits = sum(each.isdigit() for each in view.found.record.text)
    expect(digits >= 8, f"this is where {quoted(view.found.record.text)} came from; the exercise asks for the card.")
    source = view.found.sources[0]
    return f"{view.state}: {source.event.actor_id} said it at {source.event.timestamp:%H:%M:%S}. Nobody asked for it."


def _previewed(answer: object, bench: Workbench) -> str:
    found = an(answer, ForgetPreview, "a preview, which is what memory.forget(…) returns, without .confirm()")
    expect(found.actor_id == WHO, f"this is about {found.actor_id}, and it was {WHO} who asked. Ids are exact.")
    expect(bool(found.events or found.records), f"nothing of {WHO} is here any more; tell it something again first.")
    return f"{found.events} events and {found.records} records would go, and not one has gone yet."


def _forgotten(answer: object, bench: Workbench) -> str:
    found = an(answer, Forgotten, "what .confirm() of a preview returns")
    expect(found.actor_id == WHO, f"this has forgotten {found.actor_id}.")
    now = found.verify()
    expect(now.is_verified, f"{now.left_events} events and {now.left_records} records are there again or still.")
    others = {each for each in found.reader.actors() if each != WHO and any(found.reader.events(each, limit=1))}
    expect(bool(others), "nobody else is left in this memory: too much was forgotten.")
    return (
        f"a second look finds nothing of {WHO}, and {', '.join(sorted(others)[:3])} is untouched. "
        f"Where something may be still: {len(now.may_still_hold)} places, listed in .may_still_hold."
    )


EXERCISES: Final = (
    Exercise(
        id="4.1",
        title="Does it know in a new session?",
        hints=(
            "A new session is what you get when you name none.",
            "The payload says who asks: the same actor has to ask what the same actor told.",
            'answer = agent.invoke(payload={"prompt": "What am I allergic to?", "actor": "anna"})',
        ),
        judge=_remembered,
    ),
    Exercise(
        id="4.2",
        title="Does anything cross?",
        hints=(
            "A memory can be tried: scratch people write, and others read.",
            "memory.check_isolation takes actors=…",
            "answer = memory.check_isolation(actors=4)",
        ),
        judge=_isolated,
    ),
    Exercise(
        id="4.3",
        title="What should not be there?",
        hints=(
            "health.findings holds all findings, the worst first.",
            'health.of("personal_data") are those about persons. One is about a record, one about events.',
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
        title="What would be forgotten?",
        hints=("memory.forget shows what would go; it deletes nothing.", 'answer = memory.forget("anna")'),
        judge=_previewed,
    ),
    Exercise(
        id="4.6",
        title="Forget her",
        hints=(
            "A preview has a method that does it.",
            "answer = preview.confirm()",
        ),
        judge=_forgotten,
    ),
)
