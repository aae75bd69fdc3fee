"""An A2A client for notebooks: the agent's card, messages, streams, tasks and artifacts."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..agents.protocols.a2a_session import A2aSession
from ..agents.protocols.a2a_values import A2aEvent, A2aTask, Artifact, fold_task, message_params
from ..agents.protocols.measuring import CallOutcome
from ..agents.protocols.running import Running
from ..aws.engine import shared_engine
from ..closing import Closing
from ..json_values import as_list, as_mapping, as_text
from ..presentation.html import card
from .context import Context
from .frames import invocation_frame, rows_frame
from .protocol_call import ProtocolCall

if TYPE_CHECKING:
    import pandas as pd

    from .session_target import SessionTarget

_SKILLS: Final = ("id", "name", "description", "tags", "examples")


class A2aCall(ProtocolCall):
    """One request to an A2A agent, with the task or message that it led to."""

    @property
    def results(self) -> Sequence[Mapping[str, Any]]:
        """The results in the protocol's form, in order."""
        return [as_mapping(result) for result in as_list(self.result.get("results"))]

    @property
    def task(self) -> A2aTask:
        """The task as of the last result."""
        return fold_task(self.results)

    @property
    def state(self) -> str:
        """The task's state; "message" for an answer without a task."""
        return self.task.state

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The task's artifacts."""
        return self.task.artifacts

    @property
    def value(self) -> Any:
        """The text of the answer."""
        return self.text


class A2aStream:
    """A streamed request: iterate over its events, then take `result()`."""

    def __init__(
        self,
        running: Running[CallOutcome],
        events: queue.SimpleQueue[A2aEvent | None],
        finish: Callable[[CallOutcome], A2aCall],
    ) -> None:
        self._running, self._events, self._finish = running, events, finish

    def __iter__(self) -> Iterator[A2aEvent]:
        while (event := self._events.get()) is not None:
            yield event
        self._events.put(None)

    def cancel(self) -> None:
        """Close the connection; the agent's task may continue (see `A2aClient.cancel`)."""
        self._running.cancel()

    def result(self) -> A2aCall:
        """Wait for the end, and return the stored request."""
        return self._finish(self._running.result())


class A2aClient(Closing):
    """A client of one A2A agent; returned by `Agent.protocols.a2a` and `Workbench.tools.a2a`. Close it, or use `with`.

        a2a = agent.protocols.a2a()
        a2a.card()["skills"]
        a2a.send("Plan a trip to Oslo").artifacts

    Every request is stored as an invocation with its transcript.

    Args:
        make_session: Makes a session for a session id.
        read_card: Reads the agent's card in a session.
        session_id: The runtime session.
        context: The workbench's resources.
        end_session: Ends the runtime session when the client closes; None to keep it running.
        stop_session: Ends the sessions of evaluations and studies; None where there are none.
        timeout_s: Timeout of each request in seconds.
    """

    def __init__(
        self,
        make_session: Callable[[str], A2aSession],
        read_card: Callable[[str], Mapping[str, Any]],
        session_id: str,
        context: Context,
        *,
        end_session: Callable[[str], object] | None = None,
        stop_session: Callable[[str], object] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        self._engine, self._make, self._read_card, self.context = shared_engine(), make_session, read_card, context
        self._session = make_session(session_id)
        self._end_session, self._stop_session, self.timeout_s = end_session, stop_session, timeout_s
        self._card: Mapping[str, Any] | None = None
        self._is_closed = False
        Running(self._engine, lambda _run: self._session.open()).result()

    @property
    def name(self) -> str:
        """The agent's name."""
        return self._session.entry.name

    @property
    def session_id(self) -> str:
        """The runtime session."""
        return self._session.session_id

    def card(self) -> Mapping[str, Any]:
        """Return the agent's card, in the protocol's form; it is read once (GetAgentCard)."""
        if self._card is None:
            self._card = self._read_card(self.session_id)
        return self._card

    def skills(self) -> pd.DataFrame:
        """Return the skills of the agent's card, one row each."""
        rows = [{name: as_mapping(skill).get(name) for name in _SKILLS} for skill in as_list(self.card().get("skills"))]
        return rows_frame(rows, _SKILLS)

    def send(
        self,
        text: str,
        *,
        parts: Sequence[Mapping[str, Any]] = (),
        task_id: str | None = None,
        context_id: str | None = None,
        timeout_s: float | None = None,
    ) -> A2aCall:
        """Send a message and wait for the result (message/send).

            first = a2a.send("Plan a trip")
            a2a.send("To Oslo", task_id=first.task.id, context_id=first.task.context_id)

        Args:
            text: The message.
            parts: Further parts, such as `{"kind": "data", "data": {…}}`.
            task_id: The task that the message continues.
            context_id: The context that the message belongs to.
            timeout_s: Timeout of the request in seconds; the client's by default.
        """
        params = message_params(text, parts, task_id=task_id, context_id=context_id)
        return self._request("message/send", params, prompt=text, timeout_s=timeout_s)

    def stream(
        self,
        text: str,
        *,
        parts: Sequence[Mapping[str, Any]] = (),
        task_id: str | None = None,
        context_id: str | None = None,
        timeout_s: float | None = None,
    ) -> A2aStream:
        """Send a message and iterate over the events of the answer (message/stream).

        Args:
            text: The message's text.
            parts: Further parts of the message, in A2A's form.
            task_id: The task that the message continues.
            context_id: The context that the message belongs to; the agent opens a new one by default.
            timeout_s: Timeout of the whole request in seconds; the client's by default.

        Examples:
            >>> for event in a2a.stream("Plan a trip to Oslo"):
            ...     print(event.kind, event.state, event.text)
        """
        params = message_params(text, parts, task_id=task_id, context_id=context_id)
        events: queue.SimpleQueue[A2aEvent | None] = queue.SimpleQueue()
        running = self._start("message/stream", params, text, timeout_s, events.put, lambda: events.put(None))
        return A2aStream(running, events, lambda outcome: self._call_of("message/stream", outcome))

    def task(self, id: str) -> A2aCall:
        """Return the current state of a task (tasks/get)."""
        return self._request("tasks/get", {"id": id}, prompt=f"task {id}")

    def cancel(self, id: str) -> A2aCall:
        """Cancel a task (tasks/cancel)."""
        return self._request("tasks/cancel", {"id": id}, prompt=f"cancel task {id}")

    def history(self, *, limit: int = 100) -> pd.DataFrame:
        """Return the stored requests to this agent, newest first."""
        return invocation_frame(self.context.store.invocations.list(self._session.entry.id, limit=limit))

    def eval_target(self) -> SessionTarget:
        """Return this agent as the target of an evaluation or a latency study."""
        from .session_target import SessionTarget

        return SessionTarget(self._make, self._session.entry, self.context, end_session=self._stop_session)

    def close(self) -> None:
        """Disconnect, and end the runtime session that this client started."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            Running(self._engine, lambda _run: self._session.close()).result()
        finally:
            if self._end_session is not None:
                self._end_session(self.session_id)

    def _request(
        self, method: str, params: Mapping[str, Any], *, prompt: str, timeout_s: float | None = None
    ) -> A2aCall:
        return self._call_of(method, self._start(method, params, prompt, timeout_s).result())

    def _start(
        self,
        method: str,
        params: Mapping[str, Any],
        prompt: str,
        timeout_s: float | None,
        on_event: Callable[[A2aEvent], object] | None = None,
        on_end: Callable[[], object] | None = None,
    ) -> Running[CallOutcome]:
        limit = self.timeout_s if timeout_s is None else timeout_s

        async def work() -> CallOutcome:
            try:
                return await self._session.call(method, params, prompt=prompt, timeout_s=limit, on_event=on_event)
            finally:
                if on_end is not None:
                    on_end()

        return Running(self._engine, lambda _run: work())

    def _call_of(self, title: str, outcome: CallOutcome) -> A2aCall:
        entry = self._session.entry
        return A2aCall(f"{entry.name} · {title}", outcome.record, outcome.result, outcome.events, self.context, entry)

    def __repr__(self) -> str:
        return f"<A2A client of {self.name}>"

    def _repr_html_(self) -> str:
        # Reading the card after the end would start the runtime session again.
        agent_card = (self._card or {}) if self._is_closed else self.card()
        return card(
            f"{self.name} · A2A",
            state=("wait", "closed") if self._is_closed else ("good", "open"),
            labels=self.context.labels,
            facts=[
                ("agent", f"{as_text(agent_card.get('name'))} {as_text(agent_card.get('version'))}".strip()),
                ("description", as_text(agent_card.get("description"))),
                (
                    "skills",
                    ", ".join(as_text(as_mapping(one).get("name")) for one in as_list(agent_card.get("skills"))),
                ),
                ("session", self.session_id),
            ],
        )
