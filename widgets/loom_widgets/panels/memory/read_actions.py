"""Read a memory: events, records, search, provenance, the timeline, and the records in answers' prompts."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from loomlib.errors import LoomError
from loomlib.memory import TimelineEntry
from loomlib.presentation import formats
from loomlib.presentation.formats import plural

from ...kit import Cancel, Form, PanelPort, action
from ...kit.source import frame_rows
from .chosen_memory import ChosenMemory
from .rows import Pages, event_details, event_row, record_details, record_row

FIRST = 500
"""Number of events and records read at first; more are read on demand."""
_SEEK = 20_000  # events that are searched for one event
_DRAWN = 2_000
_ANSWERS = 100
_OLDEST_DAYS = 36_500  # no memory has older events


class ReadActions:
    """Actions that read the chosen memory."""

    def __init__(self, panel: PanelPort, chosen: ChosenMemory) -> None:
        self._panel, self._chosen = panel, chosen
        self._events: Pages | None = None
        self._records: Pages | None = None

    @action(lane="read")
    def events(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Read the first events of the chosen actor or session."""
        branch, days = form.text("branch"), min(form.number("days"), _OLDEST_DAYS)
        since = timedelta(days=days) if days > 0 else None
        arguments = [repr(self._chosen.actor)] if self._chosen.actor else []
        arguments += [f"session={self._chosen.session!r}"] if self._chosen.actor and self._chosen.session else []
        arguments += [f"branch={branch!r}"] if branch else []
        arguments += [f"since=timedelta(days={days:g})"] if since else []
        self._chosen.show_call(
            *(["from datetime import timedelta"] if since else []), f"memory.events({', '.join(arguments)})"
        )
        self._begin_events(self._chosen.actor, self._chosen.session, since=since, branch=branch or None)
        return self._read_on("events", self._events, FIRST, cancel)

    @action(lane="read")
    def more(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Read more events or records, a given number or all remaining ones."""
        kind = form.text("what", "events")
        pages = self._records if kind == "records" else self._events
        return self._read_on(kind, pages, form.count("count", 10_000, most=10_000_000), cancel)

    @action(lane="read")
    def event(self, form: Form) -> Mapping[str, Any]:
        """Return one of the events read so far in full."""
        place = self._place(form.text("id"))
        event = self._events.values[place]  # type: ignore[union-attr]
        self._panel.say(f"An event of {event.actor_id}, session {event.session_id}, is shown below.")
        return {"event": event_details(event)}

    @action(lane="read")
    def jump(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Go to an event in its session."""
        actor, session, event_id = form.text("actor"), form.text("session"), form.text("id")
        self._chosen.choose_actor(actor, session)
        self._chosen.show_call(f"memory.events({actor!r}, session={session!r})")
        pages = self._begin_events(actor, session)
        for number in pages.read(_SEEK):
            if number % 100 == 0:
                cancel.check()
            if pages.values[-1].event_id == event_id:
                break
        list(pages.read(FIRST))
        cancel.check()
        self._note_read("events", pages)
        place = self._place(event_id)
        self._panel.say(f"Event {place + 1} of {actor}, session {session}, is shown below.")
        return {"at": place, "event": event_details(pages.values[place])}

    @action(lane="read")
    def records(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Read the first records of the chosen actor or namespace."""
        namespace, strategy = form.text("namespace").strip(), form.text("strategy")
        place, arguments = self._where(namespace, strategy)
        self._chosen.show_call(f"memory.records({arguments})")
        names = self._chosen.strategies()
        records = self._chosen.memory.reader.records(namespace or None, **place)
        self._records = Pages(records, lambda record: record_row(record, names))
        return self._read_on("records", self._records, FIRST, cancel)

    @action(lane="read")
    def record(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Return one record in full."""
        record_id = form.text("id")
        self._chosen.show_call(f"memory.reader.record({record_id!r})")
        record = self._chosen.memory.reader.record(record_id)
        cancel.check()  # the panel may show another memory by now
        self._panel.say(f"A record of {', '.join(record.namespaces)} is shown below.")
        return {"record": record_details(record, self._chosen.strategies())}

    @action(lane="read")
    def search(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Find the records nearest in meaning; the result names the actor whose records were searched."""
        query, namespace = form.text("query").strip(), form.text("namespace").strip()
        if not query:
            raise LoomError("There is nothing to search for", on="the question is empty", try_="Where does anna live?")
        top_k, least = max(1, form.count("top_k", 10, most=100)), form.number("least")
        place, arguments = self._where(namespace, form.text("strategy"))
        keep = f'.query("score >= {least:g}")' if least > 0 else ""
        options = ", ".join(filter(None, (repr(query), arguments, f"top_k={top_k}")))
        self._chosen.show_call(f"memory.search({options}){keep}")
        names = self._chosen.strategies()
        records = self._chosen.memory.reader.search(query, namespace or None, **place, top_k=top_k)
        cancel.check()
        self._panel.say(f"{plural(len(records), 'record')} found." if records else "No record was found.")
        return {"rows": [record_row(item, names) for item in records], "actor": place["actor"] or ""}

    @action(lane="read")
    def provenance(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Find the events that a record was extracted from, as the service reports them or inferred."""
        record_id = form.text("id")
        self._chosen.show_call(f"memory.provenance({record_id!r})")
        self._panel.say("Looking for its source events …")
        progress = self._chosen.progress_callback(cancel)
        provenance = self._chosen.memory.provenance(record_id, progress=progress).found
        progress.check()
        self._panel.say(provenance.sentence())
        rows = [
            {
                "certainty": item.certainty, "score": item.score, "at": item.event.timestamp.isoformat(),
                "actor": item.event.actor_id, "session": item.event.session_id, "id": item.event.event_id,
                "excerpt": item.excerpt or item.event.text,
            }
            for item in provenance.sources
        ]  # fmt: skip
        return {"state": provenance.state, "sentence": provenance.sentence(), "rows": rows, "id": record_id}

    @action(lane="read")
    def timeline(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Return the events and the records that were extracted from them, in order."""
        actor = self._chosen.named_actor(form)
        only = f", session={self._chosen.session!r}" if self._chosen.session else ""
        self._chosen.show_call(f"memory.timeline({actor!r}{only})")
        progress = self._chosen.progress_callback(cancel)
        timeline = self._chosen.memory.timeline(actor, session=self._chosen.session or None, progress=progress)
        progress.check()
        spoken = timeline.spoken
        self._panel.say(f"{plural(len(spoken), 'event or record', 'events and records')} of {actor}.")
        self._panel.tables.put("timeline", [_timeline_row(entry) for entry in reversed(spoken)])
        states = [_timeline_row(entry) for entry in reversed(timeline.moments) if entry.is_state]
        self._panel.tables.put("stored states", states)
        drawn = sorted(spoken[-_DRAWN:], key=lambda entry: (not entry.is_message, entry.lane))
        lanes: dict[str, list[Any]] = {}
        for item in drawn:
            lanes.setdefault(item.lane, []).append([item.at.timestamp(), item.what == "record changed"])
        return {
            "lanes": [[name, marks] for name, marks in lanes.items()][:40],
            "note": timeline.note(),
            "total": len(spoken),
            "drawn": len(drawn),
            "states": len(states),
            "actor": actor,
        }

    @action(lane="read")
    def answers(self, form: Form) -> Mapping[str, Any]:
        """Return the agents, and the newest answers of one."""
        agents = [entry.name for entry in self._panel.bench.context.catalog.list()][:500]
        agent = form.text("agent") if form.text("agent") in agents else (agents[0] if agents else "")
        rows = frame_rows(self._panel.bench.agent(agent).history.table(limit=_ANSWERS)) if agent else []
        answers = [
            {"id": row["id"], "at": row.get("client_invoke_time"), "prompt": row.get("prompt"), "status": row["status"]}
            for row in rows
        ]
        self._panel.tables.put("answers", answers)
        self._panel.say(f"{plural(len(answers), 'answer')} of {agent}." if agent else "No agents yet.")
        return {"agents": agents, "agent": agent, "count": len(answers)}

    @action(lane="read")
    def used(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Find the records that an answer's prompt contained."""
        agent, number = form.text("agent"), form.count("invocation", most=2**53)
        self._chosen.show_call(
            f"inv = bench.agent({agent!r}).history.get({number})", "inv.telemetry.memories_used(memory)"
        )
        self._panel.say("Reading the answer's trace …")
        invocation = self._panel.bench.agent(agent).history.get(number)
        progress = self._chosen.progress_callback(cancel)
        uses = invocation.telemetry.memories_used(self._chosen.memory, progress=progress)
        progress.check()
        self._panel.say(f"{plural(len(uses), 'record')} in the answer's prompt.")
        rows = frame_rows(uses)
        return {"rows": [{**row, "id": row["record_id"]} for row in rows[:1_000]], "note": uses.note}

    def clear(self) -> None:
        """Drop the events and records that were read."""
        self._events = self._records = None
        for name in ("events", "records", "timeline", "stored states"):
            self._panel.tables.put(name, ())

    def counts(self) -> dict[str, list[Any]]:
        """Return how many events and records were read, and whether these are all."""
        read = {"events": self._events, "records": self._records}
        return {name: [0, False] if pages is None else [len(pages), pages.is_whole] for name, pages in read.items()}

    # Internal methods.

    def _begin_events(self, actor: str, session: str, **options: Any) -> Pages:
        events = self._chosen.memory.reader.events(
            actor or None, session=(session or None) if actor else None, **options
        )
        self._events = Pages(events, event_row)
        self._panel.tables.put("events", self._events)
        return self._events

    def _read_on(self, kind: str, pages: Pages | None, count: int, cancel: Cancel) -> Mapping[str, Any]:
        if pages is None:
            return {}
        progress = self._chosen.progress_callback()
        try:
            for number in pages.read(count):
                if number % 100 == 0:
                    if cancel.is_set:
                        break
                    if number > FIRST and progress.is_due:
                        progress(f"{formats.number(number)} {kind} read")
                        self._note_read(kind, pages)
        finally:
            self._note_read(kind, pages)
        rest = " (all)" if pages.is_whole else "; there are more"
        stopped = "Stopped: " if cancel.is_set else ""
        self._panel.say(
            f"{stopped}{plural(len(pages), kind[:-1])} read{rest}." if pages.values else f"There are no {kind}."
        )
        return {"count": len(pages), "whole": pages.is_whole}

    def _note_read(self, kind: str, pages: Pages) -> None:
        if pages is not (self._records if kind == "records" else self._events):
            return  # another memory was chosen
        self._panel.tables.put(kind, pages)
        branches = sorted(pages.branches)[:100]
        self._panel.send_message("read", what=kind, count=len(pages), whole=pages.is_whole, branches=branches)

    def _place(self, event_id: str) -> int:
        values = self._events.values if self._events is not None else []
        for place, value in enumerate(values):
            if value.event_id == event_id:
                return place
        raise LoomError(
            "There is no such event", on=event_id, try_="it may have expired or been deleted; read the events again"
        )

    def _where(self, namespace: str, strategy: str) -> tuple[dict[str, Any], str]:
        filters = {"actor": self._chosen.actor or None, "strategy": strategy or None}
        arguments = [repr(namespace)] if namespace else []
        arguments += [f"{name}={value!r}" for name, value in filters.items() if value]
        return filters, ", ".join(arguments)


def _timeline_row(entry: TimelineEntry) -> dict[str, Any]:
    return {
        "at": entry.at.isoformat(),
        "what": entry.what,
        "lane": entry.lane,
        "text": entry.text,
        "session": entry.session_id,
        "namespace": entry.namespace,
        "extractor": entry.extractor,
        "id": entry.id,
    }
