"""An agent as the target of an evaluation: one session per case; tools, tokens and cost from its traces."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry, InvocationRecord, new_session_id
from ..agents.agui import run_input
from ..aws.bearer import Bearer, token_of
from ..aws.runtimes import served_version, stop_session
from ..errors import EvalError, LoomError
from ..evals.evaluators.connecting import connected
from ..evals.values.answers import CaseFailure, TurnAnswer
from ..evals.values.cases import Turn
from ..evals.values.evaluator import Evaluator
from ..jobs.dask import WorkerReference
from .context import Context
from .conversations import tools_in
from .tracing import find_traces

if TYPE_CHECKING:
    from .trace_view import TraceView

_CONCURRENCY = {"local": 4, "aws": 10}


class AgentTarget:
    """The target that `loom.evaluate` uses for an agent.

    `key` holds the version that the endpoint serves and the labels of the workbench, so that stored answers of an
    older deployment are not reused. The version of an endpoint other than DEFAULT is requested from AWS; if it is
    not returned, the key is empty and answers are not shared between runs.

    Args:
        context: The workbench's resources.
        entry: The agent, as it is deployed now.
        qualifier: The endpoint.
        bearer: The bearer token to send, or a function that returns it.
    """

    def __init__(self, context: Context, entry: AgentEntry, qualifier: str, *, bearer: Bearer | None = None) -> None:
        self._context, self._entry, self._qualifier, self._bearer = context, entry, qualifier, bearer
        self.name = entry.name if qualifier == "DEFAULT" else f"{entry.name} ({qualifier})"
        self.labels = tuple(context.labels)
        self.store, self.scope, self.arn = context.store, context.where, str(entry.arn)
        self.concurrency = _CONCURRENCY.get(context.where, 4)
        version = str(entry.raw_metadata.get("agentRuntimeVersion", ""))
        if qualifier != "DEFAULT":  # DEFAULT serves the newest version, the one in the metadata
            version = served_version(context.clients, entry.arn.runtime_id, qualifier, region=entry.arn.region)
        key = " ".join((str(entry.arn), f"version {version}", qualifier, *self.labels))
        self.key = key if version or qualifier == "DEFAULT" else ""

    def new_session(self) -> str:
        """Return a new session id."""
        return new_session_id()

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Invoke the agent in the session and return its answer."""
        payload: dict[str, Any] | None = None if turn.payload is None else dict(turn.payload)
        if payload is None and self._entry.protocol == "AGUI":
            payload = run_input(turn.prompt, thread_id=session_id)
        if state:
            payload = {**(payload or {}), "state": dict(state)}
        record = await self._context.invoker.ainvoke(
            self._entry,
            turn.prompt if turn.payload is None else None,
            payload=payload,
            session_id=session_id,
            qualifier=self._qualifier,
            timeout_s=timeout_s,
            bearer=token_of(self._bearer),
            labels=(*self.labels, "evaluation"),
        )
        if record.failure is None:
            return _answer(record)
        raise _NotAnsweredError(record)

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers with tools, tokens and cost from their traces, or with the trace's state."""
        ids = [answer.invocation_id for answer in answers if answer.invocation_id is not None]
        views = await asyncio.to_thread(self._views, ids)
        return [_with_trace(answer, views.get(answer.invocation_id or -1)) for answer in answers]

    async def end(self, session_id: str) -> None:
        """End the session; if that fails, the session ends at its idle timeout."""
        with suppress(LoomError):
            await asyncio.to_thread(self._stop_session, session_id)

    def connected(self, evaluator: Evaluator) -> Evaluator:
        """Return the evaluator connected to the workbench's AWS clients and store."""
        return connected(evaluator, self._context.clients, self._context.store)

    def for_workers(self) -> WorkerReference:
        """Return how a worker of a Dask cluster creates this target from its own workbench.

        Raises:
            EvalError: The agent is called with a bearer token, which is not sent to workers.
        """
        if self._bearer is not None:
            raise EvalError(
                "A bearer token is not sent to the workers of a cluster",
                on=self.name,
                try_="an agent that is called with AWS credentials, or run it without Dask",
            )
        return WorkerReference(
            factory="loomlib.workbench.worker_agents:eval_target",
            arguments={"where": self.scope, "arn": self.arn, "qualifier": self._qualifier},
        )

    def _stop_session(self, session_id: str) -> None:
        arn, region = str(self._entry.arn), self._entry.region
        bearer = token_of(self._bearer)
        stop_session(self._context.clients, arn, session_id, qualifier=self._qualifier, region=region, bearer=bearer)

    def _views(self, ids: Sequence[int]) -> dict[int, TraceView]:
        context = self._context
        rows = [row for id in ids if (row := context.store.invocations.get(id)) is not None]
        return {view.invocation_id: view for view in find_traces(context, self._entry, rows, progress=_silent)}


def _silent(_line: str) -> None:
    """Drop a progress line, since the run reports its own progress."""


def _answer(record: InvocationRecord) -> TurnAnswer:
    return TurnAnswer(
        text=record.response,
        duration_ms=record.client_duration_ms,
        ttft_ms=record.ttft_ms,
        session_id=record.session_id,
        invocation_id=record.id,
        trace_id=record.trace_id or "",
    )


class _NotAnsweredError(LoomError):
    """The invocation failed; `failure` is its class, as a run stores it."""

    def __init__(self, record: InvocationRecord) -> None:
        super().__init__(record.error_message or record.failure or "")
        self.failure, self.retry_after_s = record.failure, record.retry_after_s


def _with_trace(answer: TurnAnswer, view: TraceView | None) -> TurnAnswer:
    if view is None:
        return answer
    marks = view.trace.marks
    if not view.trace.spans or (view.state == "partial" and ("orphan" in marks or "partial" not in marks)):
        # Spans are missing, so calls, tokens and cost counted from the others would be too low.
        return replace(answer, tools_state=view.state)
    calls = view.case.calls
    total = view.cost().total
    return replace(
        answer,
        tools=tools_in(view.trace),
        tools_state=view.state,
        input_tokens=_sum([call.input_tokens for call in calls]),
        output_tokens=_sum([call.output_tokens for call in calls]),
        model_calls=len(calls),
        cost=total.value if total.state == "known" else None,
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    """Return the sum, or None where a count is missing."""
    return None if None in counts else sum(count for count in counts if count is not None)
