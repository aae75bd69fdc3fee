"""AG-UI runs of an agent: one conversation with its thread, state and messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from ..agents import AgentEntry, Chunk, new_session_id
from ..agents.agui import AguiEvent, Confirmation, answer_to, conversation_of, read_event, run_input
from ..agents.requests import InvokeOptions
from ..aws.bearer import Bearer, token_of
from ..errors import ProtocolError
from ..json_values import as_list, as_mapping, as_text
from .context import Context
from .invocation import Invocation

AguiTransport = Literal["sse", "websocket"]
"""Transport of a run's events: server-sent events of InvokeAgentRuntime, or messages of a WebSocket."""


class AguiClient:
    """An AG-UI conversation with an agent; returned by `Agent.protocols.agui`. Each run is an invocation.

        agui = agent.protocols.agui()
        agui.run("Add 2 lamps to the cart.").text
        agui.state, agui.questions
        agui.confirm(approved=True)

    Args:
        context: The workbench's resources.
        entry: The agent.
        qualifier: The endpoint.
        session_id: The runtime session; a new one by default.
        state: The initial shared state.
        tools: The tools that the client offers (see `run_input`).
        bearer: The bearer token to send, or a function that returns it.
        transport: The transport of the events; a WebSocket is opened for each run.
    """

    def __init__(
        self,
        context: Context,
        entry: AgentEntry,
        qualifier: str,
        *,
        session_id: str | None = None,
        state: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        bearer: Bearer | None = None,
        transport: AguiTransport = "sse",
    ) -> None:
        if transport not in get_args(AguiTransport):
            raise ValueError(f'transport must be "sse" or "websocket", not {transport!r}')
        self._bearer, self.transport = bearer, transport
        self._invoker = context.invoker if transport == "sse" else context.invoker.agui_over_websocket()
        self._context, self._entry, self._qualifier = context, entry, qualifier
        self.session_id, self.tools = session_id or new_session_id(), tuple(tools)
        self._state, self._thread_id = state, ""
        self.runs: tuple[Invocation, ...] = ()

    @property
    def state(self) -> Any:
        """The shared state after the last run."""
        return self._state

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, as the next run sends it."""
        return agui_conversation(self.runs)

    @property
    def questions(self) -> tuple[Confirmation, ...]:
        """The questions with which the last run ended."""
        return self.runs[-1].protocols.agui().confirmations if self.runs else ()

    def run(self, prompt: str, *, timeout_s: float | None = None) -> Invocation:
        """Send a prompt with the conversation and the state, and wait for the end of the run."""
        return self._send(prompt, timeout_s=timeout_s)

    def stream(self, prompt: str, *, timeout_s: float | None = None) -> Iterator[AguiEvent]:
        """Send a prompt and yield the run's events as they arrive; the run is added to `runs` at the end."""
        options = self._options(self._payload(prompt), timeout_s)
        with self._invoker.stream(self._entry, prompt, **options) as events:
            for event in events:
                if isinstance(event, Chunk) and (one := read_event(event.data)) is not None:
                    yield one
        record = events.record
        if record is not None:
            self._keep(Invocation(record, self._context, self._entry))

    def confirm(self, question: str | None = None, *, approved: bool | None = None, payload: Any = None) -> Invocation:
        """Answer a question of the last run and wait for the run that continues it.

        Args:
            question: The question's id; the first one by default.
            approved: The decision.
            payload: An answer in the form that the question requires; if neither is given, the question is cancelled.

        Raises:
            ProtocolError: The last run did not ask a question.
        """
        if not self.questions:
            raise ProtocolError("The last run did not ask a question", on=self._entry.name, try_="agui.questions")
        answer = answer_to(question or self.questions[0].id, approved=approved, payload=payload)
        return self._send(None, resume=(answer,))

    def _send(
        self, prompt: str | None, *, resume: Sequence[Mapping[str, Any]] = (), timeout_s: float | None = None
    ) -> Invocation:
        options = self._options(self._payload(prompt, resume), timeout_s)
        record = self._invoker.invoke(self._entry, prompt, **options)
        return self._keep(Invocation(record, self._context, self._entry))

    def _payload(self, prompt: str | None, resume: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        return run_input(
            prompt,
            thread_id=self._thread_id or None,
            state=self._state,
            messages=() if resume else self.messages,  # an answer goes to the run that asked
            tools=self.tools,
            resume=resume,
        )

    def _options(self, payload: Mapping[str, Any], timeout_s: float | None) -> InvokeOptions:
        return {
            "payload": payload,
            "session_id": self.session_id,
            "qualifier": self._qualifier,
            "timeout_s": timeout_s,
            "labels": self._context.labels,
            "bearer": token_of(self._bearer),
        }

    def _keep(self, inv: Invocation) -> Invocation:
        run = inv.protocols.agui().run
        self.runs = (*self.runs, inv)
        self._thread_id = run.thread_id or self._thread_id
        self._state = run.state if inv.ok and run.state is not None else self._state
        return inv

    def __repr__(self) -> str:
        return f"<AG-UI conversation with {self._entry.name}: {len(self.runs)} runs>"


def agui_conversation(invocations: Sequence[Invocation]) -> list[dict[str, Any]]:
    """Return invocations of one session, oldest first, as the messages of the next AG-UI run.

    Examples:
        >>> ask_agui(agent, "And one chair.", session_id=id, messages=agui_conversation(agent.history.conversation(id)))
    """
    return conversation_of(
        (
            f"asked-{invocation.record.id}",
            asked_in_agui(invocation.record.prompt or ""),
            invocation.protocols.agui().run,
        )
        for invocation in invocations
    )


def asked_in_agui(prompt: str) -> str:
    """Return the last user message of a stored AG-UI payload; "" for a resumed run."""
    if not prompt.startswith("{"):
        return prompt
    try:
        value: object = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    payload = as_mapping(value)
    if "threadId" not in payload:
        return prompt
    messages = as_list(payload.get("messages"))
    last = as_mapping(messages[-1] if messages else None)
    return (as_text(last.get("content")) or "") if last.get("role") == "user" else ""
