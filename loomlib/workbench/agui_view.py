"""One AG-UI run: text, tools, state and questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..agents.agui import AguiEvent, AguiFold, AguiRun, AguiToolUse, Confirmation
from ..presentation.html import card
from .frames import rows_frame

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 2_000
_KINDS = {"finished": "good", "failed": "bad", "cancelled": "bad", "cut off": "bad"}


class AguiView:
    """A response as AG-UI events; returned by `inv.protocols.agui()`. `run` is their result.

    If `has_ended` is true, the answer has ended: a run without an end event was interrupted.
    """

    def __init__(
        self, events: Sequence[str], *, agent_name: str, labels: Sequence[str] = (), has_ended: bool = True
    ) -> None:
        fold = AguiFold()
        self.events: tuple[AguiEvent, ...] = tuple(
            folded for event in events if (folded := fold.feed(event)) is not None
        )
        if has_ended:
            fold.end()
        self.run: AguiRun = fold.run()
        self._name, self._labels = agent_name, tuple(labels)

    @property
    def status(self) -> str:
        """One of `loomlib.agents.agui.RUN_STATES`."""
        return self.run.status

    @property
    def text(self) -> str:
        """The agent's text."""
        return self.run.text

    @property
    def tools(self) -> tuple[AguiToolUse, ...]:
        """The tool calls."""
        return self.run.tools

    @property
    def state(self) -> Any:
        """The shared state after the last event."""
        return self.run.state

    @property
    def confirmations(self) -> tuple[Confirmation, ...]:
        """Questions to a person."""
        return self.run.confirmations

    def table(self) -> pd.DataFrame:
        """Return one row per event: its type, its fields, and any error in it."""
        return rows_frame(
            [
                {
                    "type": event.type,
                    "fields": json.dumps({key: value for key, value in event.values.items() if key != "type"}),
                    "known": event.is_known,
                    "problem": event.problem,
                }
                for event in self.events
            ],
            ("type", "fields", "known", "problem"),
        )

    def sentence(self) -> str:
        """Return the outcome in one line."""
        run = self.run
        parts = [f"{run.status}, {run.events} events, {len(run.tools)} tool calls"]
        if run.confirmations:
            parts.append(f"waits for an answer: {run.confirmations[0].message or run.confirmations[0].reason}")
        if run.error:
            parts.append(run.error)
        if run.problems:
            parts.append(f"{len(run.problems)} problems, the first: {run.problems[0]}")
        return " · ".join(parts)

    def __repr__(self) -> str:
        return f"<AG-UI run of {self._name}: {self.sentence()}>"

    def _repr_html_(self) -> str:
        run = self.run
        if not run.events:
            return card(f"{self._name} · AG-UI", note="This answer has no AG-UI events.", labels=self._labels)
        state = json.dumps(run.state, ensure_ascii=False, default=repr)
        facts = [
            ("tool", f"{tool.name} {tool.arguments_text} → {tool.result or tool.state}"[:_SHOWN]) for tool in run.tools
        ]
        facts += [("asks", confirmation.message or confirmation.reason) for confirmation in run.confirmations]
        facts += [("steps", " → ".join(run.steps)[:_SHOWN])] if run.steps else []
        facts += [
            (activity.type, json.dumps(activity.content, ensure_ascii=False)[:_SHOWN]) for activity in run.activities
        ]
        facts += [
            ("subagent", f"{subagent.name} · {subagent.state} {subagent.error}"[:_SHOWN]) for subagent in run.subagents
        ]
        facts += [("state", state[:_SHOWN]), ("thread", run.thread_id), ("run", run.run_id)]
        facts += [("code", run.error_code)] if run.error_code else []
        facts += [("tokens", json.dumps(usage)[:_SHOWN]) for usage in run.usage]
        facts += [("unknown types", ", ".join(run.unknown))] if run.unknown else []
        facts += [("problem", problem) for problem in run.problems[:10]]
        return card(
            f"{self._name} · AG-UI",
            state=(_KINDS.get(run.status, "wait"), run.status),
            labels=self._labels,
            text="\n".join(filter(None, (run.error, run.text))),
            facts=facts,
        )
