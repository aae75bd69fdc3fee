"""The triggers of an agent: what invokes it automatically, and how to fire a trigger manually."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..deploy.triggers import AgentTrigger, agent_triggers, find_trigger
from ..deploy.triggers.firing import TriggerAnswer, fire_trigger
from ..deploy.triggers.removal import deployed_triggers
from ..deploy.triggers.requests import base_payload
from ..presentation.html import card, table
from .context import Context
from .deploy_options import read_source

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("name", "when", "sends", "is_deployed")


class AgentTriggers:
    """The triggers of an agent's `loom-agent.toml`; returned by `Workbench.tools.triggers`.

        triggers = bench.tools.triggers("my_agent")
        triggers                              # their names, and whether they are deployed
        triggers.fire("schedule-1").answer
        triggers.fire("s3-1", key="invoices/new/1.pdf")

    Args:
        context: The workbench's resources.
        source: A blueprint's name, or the path of an `agent.py` or of its folder.
    """

    def __init__(self, context: Context, source: str | Path) -> None:
        self._context, self._spec = context, read_source(context, source, {}).spec

    @property
    def value(self) -> tuple[AgentTrigger, ...]:
        """The triggers, in the order of the file."""
        return agent_triggers(self._spec)

    def table(self) -> pd.DataFrame:
        """Return the triggers, one row each: what starts it, what it sends, and whether it is deployed."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=list(_COLUMNS))

    def fire(self, name: str, *, key: str = "", size: int = 0) -> TriggerFired:
        """Fire a deployed trigger now: the agent gets exactly what the schedule or the event would send.

        Args:
            name: The trigger's name, such as `schedule-1`.
            key: The key of the object, for an S3 trigger; the object need not exist.
            size: The object's size in bytes, for an S3 trigger.

        Raises:
            LoomError: There is no such trigger, it is not deployed, or the agent failed.
        """
        trigger = find_trigger(self._spec, name)
        return TriggerFired(fire_trigger(self._context.clients, trigger, key=key, size=size))

    def _rows(self) -> list[tuple[str, str, str, bool]]:
        deployed_names = set(deployed_triggers(self._context.clients, self._spec.name))
        return [
            (trigger.name, _when(trigger), _sends(trigger), trigger.name in deployed_names) for trigger in self.value
        ]

    def __repr__(self) -> str:
        lines = [
            f"{name:<12} {when}: {sends}{'' if is_deployed else ' (not deployed)'}"
            for name, when, sends, is_deployed in self._rows()
        ]
        return "\n".join(lines) or f"{self._spec.name} has no triggers: add [[trigger]] to its loom-agent.toml"

    def _repr_html_(self) -> str:
        rows = self._rows()
        note = "" if rows else "No triggers: add [[trigger]] with schedule or s3 to loom-agent.toml."
        labels: Sequence[str] = self._context.labels or ("AWS",)
        body = table(_COLUMNS, rows) if rows else ""
        return card(f"Triggers of {self._spec.name}", labels=labels, note=note, body=body)


class TriggerFired:
    """The answer of an agent to a trigger.

    Args:
        answer: What was sent and what came back.
    """

    def __init__(self, answer: TriggerAnswer) -> None:
        self._answer = answer

    @property
    def value(self) -> TriggerAnswer:
        """What was sent, in which session, and what came back."""
        return self._answer

    @property
    def answer(self) -> str:
        """The agent's answer."""
        return self._answer.answer

    @property
    def session_id(self) -> str:
        """The session of this run."""
        return self._answer.session_id

    def __repr__(self) -> str:
        payload = json.dumps(dict(self._answer.payload), ensure_ascii=False)
        return f"{self._answer.through} sent {payload}\n{self._answer.answer}"

    def _repr_html_(self) -> str:
        payload = json.dumps(dict(self._answer.payload), ensure_ascii=False, indent=2)
        return card(
            f"Trigger {self._answer.trigger}",
            facts=[("sent by", self._answer.through), ("session", self._answer.session_id), ("sent", payload)],
            text=self._answer.answer,
        )


def _when(trigger: AgentTrigger) -> str:
    ending = f" ({trigger.spec.suffix})" if trigger.spec.suffix else ""
    return trigger.spec.schedule or f"new objects in s3://{trigger.spec.s3}{ending}"


def _sends(trigger: AgentTrigger) -> str:
    return json.dumps(base_payload(trigger), ensure_ascii=False)
