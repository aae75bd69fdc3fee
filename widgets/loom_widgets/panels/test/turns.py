"""A question and its answer while it arrives: the part that is shown, and the part that is left out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, cast

from loomlib import Invocation
from loomlib.agents import Chunk, note_of
from loomlib.agents.agui import AguiFold, AguiRun, Confirmation
from loomlib.agents.mcp_apps import AppView
from loomlib.agents.notes import Note

from .words import describe_prompt, short_text, short_values, tree_json, well_formed

LONGEST_SHOWN: Final = 200_000
"""Largest number of characters of an answer that is sent to a page; the invocation's `.text` has all of them."""
_MOST_NOTES: Final = 500
_MOST_VIEWS: Final = 20
_MOST_SHOWN: Final = 100
_RUN_INTERVAL_S: Final = 0.1


@dataclass(slots=True, kw_only=True)
class PanelTurn:
    """A question, and its answer so far."""

    id: int
    prompt: str
    who: str = "You"
    text: str = ""
    length: int = 0
    status: str = "streaming"
    session: str = ""
    sentence: str = ""
    invocation: int | None = None
    notes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tools: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tasks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])  # cards of an A2A task
    figures: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    views: list[AppView] = field(default_factory=list["AppView"])
    is_prompt: bool = True
    """Whether a person wrote the prompt; False when it describes a decision or a call."""
    is_socket: bool = False
    """Whether it is an open WebSocket, beside which other questions can be asked."""
    waits: bool = False
    """Whether the agent reported a pending approval."""
    began_s: float = field(default_factory=time.monotonic)
    """When it was asked, by the monotonic clock."""
    taken: int = 0
    """Number of notes that `take` has returned; a view that opens later has these and skips them in the stream."""
    _taking: Lock = field(default_factory=Lock)
    _fold: AguiFold | None = None
    _run_at: float = 0.0
    _run_is_new: bool = False

    @classmethod
    def of(cls, id: int, invocation: Invocation) -> PanelTurn:
        """Return a turn of a stored invocation."""
        record = invocation.record
        who, prompt = describe_prompt(record.prompt or "")
        turn = cls(id=id, prompt=well_formed(prompt), who=who, status=record.status, session=record.session_id)
        turn.is_prompt = prompt == record.prompt
        turn._add(record.response)
        for event in invocation.protocols.events():
            if (note := note_of(event.encode("utf-8", "surrogatepass"))) is not None:
                turn._note(note)
        turn.end(invocation)
        return turn

    def end(self, invocation: Invocation) -> None:
        """Record the outcome; a turn that the user stopped is not a failure."""
        record = invocation.record
        stopped = record.failure == "cancelled"
        self.status = "stopped" if stopped else record.status
        # The panel shows the session and the labels of all numbers, such as simulated, beside it.
        summary = invocation.sentence().partition(" · session ")[0] if invocation.ok else invocation.sentence()
        self.sentence = "Stopped. The part received so far is stored." if stopped else well_formed(summary)
        self.invocation = record.id or self.invocation
        if self._fold is not None:
            self._fold.end()

    def take(self, chunk: Chunk) -> list[dict[str, Any]]:
        """Add a chunk of the answer; return the notes to send to views, each with its `number`."""
        with self._taking:
            notes = [{**note, "number": number} for number, note in enumerate(self._notes_of(chunk), self.taken + 1)]
            self.taken += len(notes)
        return notes

    def _notes_of(self, chunk: Chunk) -> list[dict[str, Any]]:
        notes: list[dict[str, Any]] = []
        if chunk.text and (visible := self._add(chunk.text)):
            notes.append({"kind": "text", "text": visible})
        note = note_of(chunk.data)
        if note is not None and (note.kind == "agui" or not chunk.text):
            notes += self._note(note)
            if self._run_is_new and time.monotonic() >= self._run_at:
                begun = time.monotonic()
                notes.append(self.run_message())
                self._run_at = time.monotonic() + max(_RUN_INTERVAL_S, 10 * (time.monotonic() - begun))
        return notes

    @property
    def summary(self) -> str:
        """The result for the panel's status line; the reason for a failure is shown below the question."""
        return f"Question {self.id} failed." if self.status == "error" else self.sentence

    @property
    def run(self) -> AguiRun | None:
        """The run that its AG-UI events describe; None without events."""
        return None if self._fold is None else self._fold.run()

    def run_message(self) -> dict[str, Any]:
        """Return the run as a message to a view: its tools, state and questions."""
        run = self.run
        self._run_is_new = False
        if run is None:
            return {}
        return {
            "kind": "run",
            "status": run.status,
            "events": run.events,
            "state": "" if run.state is None else tree_json(run.state),
            "tools": [
                {
                    "id": short_text(item.id),
                    "name": short_text(item.name) or "a tool",
                    "state": item.state,
                    "arguments": short_text(item.arguments_text),
                    "result": short_text(item.result or ""),
                }
                for item in run.tools[:_MOST_SHOWN]
            ],
            "thoughts": short_text("\n\n".join(item.text for item in run.messages if item.kind == "reasoning")),
            "steps": [short_text(step) for step in run.steps[:_MOST_SHOWN]],
            "beside": [
                *(
                    f"{short_text(activity.type)}: {short_text(activity.content)}"
                    for activity in run.activities[:_MOST_SHOWN]
                ),
                *(
                    f"Subagent {short_text(subagent.name)}: {subagent.state} {short_text(subagent.error)}".rstrip()
                    for subagent in run.subagents[:_MOST_SHOWN]
                ),
            ],
            "confirmations": [
                {
                    "id": short_text(confirmation.id),
                    "reason": short_text(confirmation.reason),
                    "message": short_text(confirmation.message),
                    "expires_at": confirmation.expires_at and short_text(confirmation.expires_at),
                    "yes_or_no": _is_yes_or_no(confirmation),
                    "wanted": "" if confirmation.response_schema is None else short_text(confirmation.response_schema),
                }
                for confirmation in run.confirmations[:20]
            ],
            "error": short_text(run.error),
            "problems": [short_text(problem) for problem in run.problems],
        }

    def _note(self, note: Note) -> list[dict[str, Any]]:
        if note.kind == "agui":
            return self._note_agui(note)
        if note.kind == "view":
            return self._note_view(note.values["view"])
        if note.kind == "event" and isinstance(note.values["data"].get("pending"), dict):
            self.waits = True
        return self._keep({"kind": note.kind, **short_values(note.values)})

    def _note_agui(self, note: Note) -> list[dict[str, Any]]:
        self._fold = self._fold or AguiFold()
        self._fold.feed(note.values["event"])
        self._run_is_new = True
        kind, last = short_text(note.values["type"]), self.notes[-1] if self.notes else {}
        if last.get("kind") == "agui" and last["type"] == kind and kind.endswith(("_CONTENT", "_ARGS", "_CHUNK")):
            last["count"] += 1
            return [{"kind": "agui", "type": kind, "again": True}]
        fields = {key: value for key, value in note.values["event"].items() if key != "type"}
        item = {"kind": "agui", "type": kind, "count": 1, "problem": short_text(note.values["problem"])}
        return self._keep(item | {"data": short_text(fields)})

    def _note_view(self, view: AppView) -> list[dict[str, Any]]:
        if len(self.views) >= _MOST_VIEWS:
            return []
        self.views.append(view)
        item = {"kind": "view", "view": len(self.views) - 1, "tool": short_text(view.tool)}
        may = ", ".join(short_text(entry) for entry in view.tools[:20])
        return self._keep(
            item | {"title": short_text(view.title), "may": may, "problem": short_text(view.problem)}, always=True
        )

    def _keep(self, item: dict[str, Any], *, always: bool = False) -> list[dict[str, Any]]:
        if len(self.notes) >= _MOST_NOTES and not always:
            return []
        self.notes.append(item)
        return [item]

    def _add(self, text: str) -> str:
        visible = well_formed(text[: max(0, LONGEST_SHOWN - self.length)])
        self.length += len(text)
        self.text += visible
        return visible

    def message(self, *, text: bool = True, longest: int = LONGEST_SHOWN) -> dict[str, Any]:
        """Return the turn as a message to a view.

        Args:
            text: Whether the message includes the text and the notes.
            longest: Maximum number of characters of the text.
        """
        with self._taking:
            notes = [dict(note) for note in self.notes]
            shown = {"text": self.text[:longest], "notes": notes, "taken": self.taken} if text else {}
            cut = max(0, len(self.text) - longest) if text else 0
        return {
            "turn": self.id,
            "who": self.who,
            "prompt": self.prompt[:LONGEST_SHOWN],
            **shown,
            "cut": cut,
            "left_out": max(0, self.length - LONGEST_SHOWN),
            "status": self.status,
            "elapsed_ms": (time.monotonic() - self.began_s) * 1000,
            "session": self.session,
            "socket": self.is_socket,
            "sentence": self.sentence,
            "invocation": self.invocation,
            "run": self.run_message(),
            "tools": self.tools,
            "figures": self.figures,
        }


def _is_yes_or_no(confirmation: Confirmation) -> bool:
    properties: object = confirmation.response_schema.get("properties") if confirmation.response_schema else None
    return confirmation.response_schema is None or (
        isinstance(properties, dict) and list(cast("dict[str, object]", properties)) == ["approved"]
    )
