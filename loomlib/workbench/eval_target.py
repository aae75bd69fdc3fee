"""An agent as something to evaluate: one session a case, tools, tokens and cost from its traces."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..agents import new_session_id
from ..aws.runtimes import served_version
from ..errors import LoomError
from ..evals.values.answers import CaseFailure, TurnAnswer

if TYPE_CHECKING:
    from ..agents import InvocationRecord
    from ..evals.values.cases import Turn
    from ..evals.values.evaluator import Evaluator
    from .agent import Agent
    from .trace_view import TraceView

_AT_ONCE = {"local": 4, "aws": 10}


class AgentTarget:
    """What `loom.evaluate` asks when it is given an agent.

    The key holds the version that the endpoint serves and what the workbench says of its model, so that a new
    deployment's answers are not taken for the old one's. AWS is asked for the version of an endpoint other than
    DEFAULT; where it does not say one, there is no key, and its answers are its run's own.
    """

    def __init__(self, agent: Agent, *, concurrency: int | None = None) -> None:
        self._agent = agent
        self.name = agent.name if agent.qualifier == "DEFAULT" else f"{agent.name} ({agent.qualifier})"
        self.labels = tuple(agent.labels)
        self.concurrency = concurrency or _AT_ONCE.get(agent.scope, 4)
        version = str(agent.entry.raw_metadata.get("agentRuntimeVersion", ""))
        if agent.qualifier != "DEFAULT":  # which serves the newest, the one that was described
            arn = agent.entry.arn
            version = served_version(agent.bench.clients, arn.runtime_id, agent.qualifier, region=arn.region)
        key = " ".join((agent.arn, f"version {version}", agent.qualifier, *self.labels))
        self.key = key if version or agent.qualifier == "DEFAULT" else ""

    def new_session(self) -> str:
        """A session's id that nobody has used."""
        return new_session_id()

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """One invocation in the session."""
        payload: dict[str, Any] | None = None if turn.payload is None else dict(turn.payload)
        if state:
            payload = {**({"prompt": turn.prompt} if payload is None else payload), "state": dict(state)}
        agent = self._agent
        record = await agent.bench.invoker.ainvoke(
            agent.entry,
            turn.prompt if payload is None else None,
            payload=payload,
            session_id=session_id,
            qualifier=agent.qualifier,
            timeout_s=timeout_s,
            labels=(*self.labels, "evaluation"),
        )
        if record.failure is None:
            return _answer(record)
        raise _NotAnswered(record)

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """The answers with the tools, tokens and cost of their traces; the state of a trace that has no spans."""
        wanted = [each.invocation_id for each in answers if each.invocation_id is not None]
        views = await asyncio.to_thread(self._views, wanted)
        return [_with_trace(each, views.get(each.invocation_id or -1)) for each in answers]

    async def end(self, session_id: str) -> None:
        """End the session; one that cannot be ended ends by itself when it has been idle."""
        with suppress(LoomError):
            await asyncio.to_thread(self._agent.end_session, session_id)

    def connected(self, evaluator: Evaluator) -> Evaluator:
        """A judge with the agent's connection to AWS (or the local service), and the spans that it exported."""
        from ..evals.evaluators.connecting import connected

        bench = self._agent.bench
        return connected(evaluator, bench.clients, bench.store)

    def _views(self, ids: Sequence[int]) -> dict[int, TraceView]:
        bench = self._agent.bench
        rows = [row for id in ids if (row := bench.store.invocations.get(id)) is not None]
        return {view.invocation_id: view for view in bench.find_traces(self._agent.entry, rows, progress=_silent)}


def _silent(_line: str) -> None:
    """The run has a progress of its own."""


def _answer(record: InvocationRecord) -> TurnAnswer:
    return TurnAnswer(
        text=record.response,
        duration_ms=record.client_duration_ms,
        ttft_ms=record.ttft_ms,
        session_id=record.session_id,
        invocation_id=record.id,
        trace_id=record.trace_id or "",
    )


class _NotAnswered(LoomError):
    """The invocation failed; `failure` is its class, as an evaluation keeps it."""

    def __init__(self, record: InvocationRecord) -> None:
        super().__init__(record.error_message or record.failure or "")
        self.failure, self.retry_after_s = record.failure, record.retry_after_s


def _with_trace(answer: TurnAnswer, view: TraceView | None) -> TurnAnswer:
    from ..evals.trajectories import tools_of

    if view is None:
        return answer
    if not view.trace.spans:
        return replace(answer, tools_state=view.state)
    calls = view.case.calls
    total = view.cost().total
    return replace(
        answer,
        tools=tools_of(view.trace),
        tools_state=view.state,
        input_tokens=_sum([call.input_tokens for call in calls]),
        output_tokens=_sum([call.output_tokens for call in calls]),
        model_calls=len(calls),
        cost=total.value if total.state == "known" else None,
    )


def _sum(known: Sequence[int | None]) -> int | None:
    """Of all calls; None when one does not say."""
    return None if None in known else sum(each for each in known if each is not None)
