"""Decisions in the Test panel: pending approvals, and answers to questions of AG-UI runs."""

# pyright: basic

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from loomlib.agents.agui import answer_to, run_input
from loomlib.errors import LoomError

from ...kit import Cancel, Form, PanelPort, action
from ...kit.failures import error_parts
from .agent_calls import AgentCalls
from .code import BEARER_CODE, opening_code
from .conversation import ChatConversation
from .words import describe_answer, short_text

if TYPE_CHECKING:
    from loomlib.memory.approvals import Approval

    from .turns import PanelTurn

_SHOWN: Final = 50


class ApprovalActions:
    """Approvals of the chosen agent in any session, and answers to the questions of a run."""

    def __init__(self, panel: PanelPort, conversation: ChatConversation, calls: AgentCalls) -> None:
        self._panel, self._conversation, self._calls = panel, conversation, calls
        self._about: Mapping[str, Any] = {}  # whose approvals are shown, or why they cannot be read
        self._approvals: Mapping[str, Sequence[Approval]] = {}
        conversation.on_end.append(self._read_after)

    @property
    def documents(self) -> Mapping[str, Any]:
        """The approvals as the views show them, with the time that is left now."""
        now = datetime.now(UTC)
        rows = {name: [_row(approval, now) for approval in approvals] for name, approvals in self._approvals.items()}
        return {**self._about, **rows}

    @action(lane="approvals")
    def approvals(self) -> None:
        """Read the pending approvals from the agent's memory."""
        name = self._panel.state.get("agent", "")
        if not name:
            self._show({})
            return
        try:
            approvals = self._panel.bench.agent(name).approvals.list()
        except Exception as error:  # noqa: BLE001 -- a failure to read approvals must not prevent questions
            problem = error_parts(error)
            sentence = f"Approvals of {name} could not be read: {problem['what']}"
            self._show({"agent": name, "problem": sentence})
            return
        decided = [approval for approval in approvals if not approval.is_pending]
        self._show({"agent": name}, pending=approvals.pending[:_SHOWN], decided=decided[:_SHOWN])

    @action(lane="invoke")
    def decide(self, form: Form) -> Mapping[str, Any]:
        """Approve or reject an action; the agent's answer becomes a turn of the requesting session."""
        id, note, yes = form.text("approval"), form.text("note"), form.flag("approve")
        agent = self._conversation.chosen_agent(form)
        approval = next((item for item in agent.approvals.list() if item.id == id), None)
        if approval is None:
            raise LoomError("There is no such approval", on=id[:80], try_="refresh the list")
        if approval.session_id != self._panel.state.get("session"):
            self._conversation.show_agent(agent.name, agent.qualifier, approval.session_id)
            self._conversation.open(approval.session_id)
        call = "approve" if yes else "reject"
        self._panel.show_code(f"{opening_code(agent)}\ninv = agent.approvals.{call}({id!r}, note={note!r})\ninv.text")
        question = f"{'Approved' if yes else 'Rejected'} {approval.tool}{f': {note}' if note else ''}"
        turn = self._conversation.begin_turn(question, approval.session_id)
        try:
            invocation = agent.approvals.approve(id, note=note) if yes else agent.approvals.reject(id, note=note)
            turn._add(invocation.text)
            turn.end(invocation)
        except Exception as error:
            turn.status, turn.sentence = "error", error_parts(error)["what"]
            raise
        finally:
            self._panel.send_message("ended", **turn.message())
            self._panel.later("approvals")
        self._conversation.end_turn(turn)
        return {"turn": turn.id}

    @action(lane="invoke")
    def answer(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Answer a question of the last run, which continues in the same session, thread and state."""
        asking = self._conversation.turn(form)
        run = None if asking is None else asking.run
        question = (
            next((confirmation for confirmation in run.confirmations if confirmation.id == form.text("question")), None)
            if run
            else None
        )
        if asking is None or run is None or question is None or asking is not self._conversation.turns[-1]:
            raise LoomError("This question can no longer be answered", try_="ask the agent again")
        arguments = _answer_in_form(form)
        agent = self._conversation.chosen_agent(form)
        written = [repr(question.id), *(f"{name}={value!r}" for name, value in arguments.items())]
        if agent.entry.has_authorizer:
            written.append(f"bearer={BEARER_CODE}")
        self._panel.show_code(
            f"{opening_code(agent)}\nfrom loomlib.workbench import confirm\n\n"
            f"inv = confirm(agent.history.get({asking.invocation}), {', '.join(written)})\n"
            "inv.protocols.agui().state"
        )
        resume = answer_to(question.id, **arguments)
        payload = run_input(thread_id=run.thread_id or None, state=run.state, resume=(resume,))
        return self._calls.invoke(agent, describe_answer(resume), asking.session, cancel, payload=payload)

    def clear(self) -> None:
        """Show no approvals."""
        self._show({})

    def _read_after(self, turn: PanelTurn) -> None:
        if turn.waits or self._approvals.get("pending"):
            self._panel.later("approvals")

    def _show(self, about: Mapping[str, Any], **approvals: Sequence[Approval]) -> None:
        self._about, self._approvals = about, approvals
        self._panel.send_message("approvals", **self.documents)


def _answer_in_form(form: Form) -> dict[str, Any]:
    if (text := form.text("payload")).strip():
        try:
            return {"payload": json.loads(text)}
        except (ValueError, RecursionError):
            raise LoomError("The answer is not valid JSON", on=text[:80], try_='such as {"approved": true}') from None
    return {"approved": form["approved"]} if isinstance(form.get("approved"), bool) else {}


def _row(approval: Approval, now: datetime) -> dict[str, Any]:
    return {
        "id": approval.id,
        "state": approval.state,
        "tool": short_text(approval.tool),
        "input": [[short_text(key)[:80], short_text(value)] for key, value in list(approval.input.items())[:20]],
        "actor": short_text(approval.actor),
        "session": approval.session_id,
        "asked_at": approval.asked_at.isoformat(),
        "expires_at": approval.expires_at.isoformat(),
        "left_s": (approval.expires_at - now).total_seconds(),
        "decided_at": approval.decided_at and approval.decided_at.isoformat(),
        "note": short_text(approval.note),
        "result": short_text(approval.result),
    }
