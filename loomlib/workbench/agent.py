"""An agent as a notebook sees it: ask it, read its logs and sessions, refresh it, remove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import LoomError
from .agent_approvals import ApprovingAgent
from .agent_capture import CapturedAgent
from .agent_history import AgentHistory
from .agent_telemetry import AgentTelemetry
from .blueprints import find_blueprint
from .cards import card
from .frames import invocation_frame, log_frame, session_frame
from .invocation import Invocation

if TYPE_CHECKING:
    import pandas as pd

    from ..agents import AgentEntry, AsyncEventStream, EventStream, InvocationRecord
    from ..evals import EvalSet
    from ..evals.runs import EvalRun
    from ..store import Store
    from ..telemetry import AgentStart
    from .bench import Workbench
    from .eval_target import AgentTarget


class Agent(AgentTelemetry, AgentHistory, CapturedAgent, ApprovingAgent):
    """An entry of the catalog, ready to be asked. Made by `Workbench.deploy`, `register` and `agent`.

    It is also what a `LatencyStudy` measures (`loomlib.latency.MeasuredAgent`).
    """

    def __init__(self, entry: AgentEntry, bench: Workbench, *, qualifier: str = "DEFAULT") -> None:
        self.entry, self.bench, self.qualifier = entry, bench, qualifier

    @property
    def name(self) -> str:
        """The runtime's name."""
        return self.entry.name

    @property
    def arn(self) -> str:
        """The runtime's ARN."""
        return str(self.entry.arn)

    @property
    def runtime_id(self) -> str:
        """The runtime's id."""
        return self.entry.runtime_id

    @property
    def status(self) -> str:
        """AWS's word for the runtime's state when it was last looked at; `DELETED` when it was gone."""
        return self.entry.status

    @property
    def qualifiers(self) -> tuple[str, ...]:
        """The names of its endpoints."""
        return self.entry.qualifiers

    @property
    def labels(self) -> tuple[str, ...]:
        """What must be said beside every number from this agent."""
        return self.bench.labels

    @property
    def sample_prompt(self) -> str:
        """A prompt worth trying: the first of the blueprint of this name, else a sum, which any agent can try."""
        blueprint = find_blueprint(self.name)
        return blueprint.prompts[0] if blueprint and blueprint.prompts else "What is 2 + 2?"

    @property
    def scope(self) -> str:
        """Which service it belongs to."""
        return self.bench.where

    @property
    def store(self) -> Store:
        """Where its invocations and studies are kept."""
        return self.bench.store

    def at(self, qualifier: str) -> Agent:
        """The same agent, asked through another of its endpoints."""
        if qualifier not in self.qualifiers:
            known = ", ".join(self.qualifiers)
            raise LoomError("The agent has no such endpoint", on=f"{qualifier} of {self.name}", try_=known)
        return Agent(self.entry, self.bench, qualifier=qualifier)

    def invoke(
        self,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str | None = None,
        timeout_s: float | None = None,
    ) -> Invocation:
        """Ask the agent and wait for the whole answer. A failed call is an `Invocation` with `ok` False.

        The payload is `{"prompt": prompt}` unless `payload` is given. A new session is opened unless `session_id`
        (33 to 256 characters) names one. Nothing is retried: what you see is what the agent's first answer was.

            inv = agent.invoke("What is 2+2?")
            inv.text, inv.duration_ms, inv.latency()
        """
        record = self.bench.invoker.invoke(
            self.entry,
            prompt,
            payload=payload,
            session_id=session_id,
            qualifier=qualifier or self.qualifier,
            timeout_s=timeout_s,
            labels=self.labels,
        )
        return Invocation(record, self)

    async def ainvoke(
        self,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str | None = None,
        timeout_s: float | None = None,
    ) -> Invocation:
        """`invoke`, awaited: several can be under way at once with `asyncio.gather`."""
        record = await self.bench.invoker.ainvoke(
            self.entry,
            prompt,
            payload=payload,
            session_id=session_id,
            qualifier=qualifier or self.qualifier,
            timeout_s=timeout_s,
            labels=self.labels,
        )
        return Invocation(record, self)

    def stream(
        self,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str | None = None,
        timeout_s: float | None = None,
    ) -> EventStream:
        """The answer as it comes: `SessionStart`, a `Chunk` for each piece, then `SessionEnd` or `InvocationError`.

        for event in agent.stream("Write about looms"):
            print(getattr(event, "text", ""), end="")
        """
        return self.bench.invoker.stream(
            self.entry,
            prompt,
            payload=payload,
            session_id=session_id,
            qualifier=qualifier or self.qualifier,
            timeout_s=timeout_s,
            labels=self.labels,
        )

    def astream(
        self,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str | None = None,
        timeout_s: float | None = None,
    ) -> AsyncEventStream:
        """`stream` for `async for`."""
        return self.bench.invoker.astream(
            self.entry,
            prompt,
            payload=payload,
            session_id=session_id,
            qualifier=qualifier or self.qualifier,
            timeout_s=timeout_s,
            labels=self.labels,
        )

    def logs(
        self,
        *,
        session_id: str | None = None,
        limit: int = 100,
        start: datetime | None = None,
        end: datetime | None = None,
        qualifier: str | None = None,
    ) -> pd.DataFrame:
        """The newest `limit` log events, oldest first: timestamp, level, message, session_id, request_id, stream.

        With `session_id`: every line of the processes that served that session, also those that do not name it.
        """
        at = qualifier or self.qualifier
        reader = self.bench.log_reader
        if session_id is None:
            return log_frame(reader.agent_logs(self.entry.arn, at, start=start, end=end, limit=limit))
        return log_frame(reader.session_logs(self.entry.arn, at, session_id, start=start, end=end, limit=limit))

    def sessions(self) -> pd.DataFrame:
        """The sessions of this agent that Loom knows, newest first, with their calls, failures and times."""
        return session_frame(self.store.invocations.sessions(self.entry.id))

    def invocations(self, *, session_id: str | None = None, limit: int = 100) -> pd.DataFrame:
        """The stored invocations, newest first."""
        return invocation_frame(self.store.invocations.list(agent_id=self.entry.id, session_id=session_id, limit=limit))

    def last_invocation(self, *, session_id: str | None = None) -> Invocation:
        """The newest stored invocation (of a session); `LoomError` when there is none."""
        rows = self.store.invocations.list(agent_id=self.entry.id, session_id=session_id, limit=1)
        if not rows:
            raise LoomError("No invocation is stored", on=session_id or self.name, try_='agent.invoke("…")')
        return Invocation(self.bench.record_of(rows[0]), self)

    def end_session(self, session_id: str) -> bool:
        """End a runtime session (StopRuntimeSession); False when it was gone already."""
        return self.bench.stop_session(self.entry, session_id, qualifier=self.qualifier)

    def refresh(self) -> Agent:
        """Ask the service about the runtime again; returns this agent, brought up to date."""
        self.entry = self.bench.catalog.refresh(self.entry)
        return self

    def remove(self, *, delete_runtime: bool = False) -> None:
        """Take the agent out of the catalog; with `delete_runtime` the deployed runtime goes too."""
        if delete_runtime:
            self.bench.delete_runtime(self.entry)
        self.bench.catalog.remove(self.entry)

    def evaluate(self, evalset: EvalSet, evaluators: Any = (), repeats: int = 1, **options: Any) -> EvalRun:
        """Ask every case of a set, judge the answers, keep everything (see `loom.evaluate` for the options).

        agent.evaluate(evalset, ["exact", "trajectory"], repeats=3).summary()
        """
        from ..evals.runs import evaluate

        return evaluate(self, evalset, evaluators, repeats, **options)

    async def aevaluate(self, evalset: EvalSet, evaluators: Any = (), repeats: int = 1, **options: Any) -> EvalRun:
        """`evaluate`, awaited."""
        from ..evals.runs import aevaluate

        return await aevaluate(self, evalset, evaluators, repeats, **options)

    def eval_target(self) -> AgentTarget:
        """What an evaluation asks (loomlib.evals.runs.Target); looks up which version of the agent is deployed."""
        from .eval_target import AgentTarget

        return AgentTarget(self.refresh())

    # What a study needs (loomlib.latency.MeasuredAgent).

    async def measure(
        self, prompt: str, *, session_id: str, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> InvocationRecord:
        """One timed call of a study."""
        return await self.bench.invoker.ainvoke(
            self.entry,
            prompt,
            session_id=session_id,
            qualifier=self.qualifier,
            timeout_s=timeout_s,
            labels=(*self.labels, *labels),
        )

    def agent_start(self, invocation_id: int) -> AgentStart:
        """The agent's start for a stored invocation, waited for as long as the settings allow."""
        row = self.store.invocations.get(invocation_id)
        if row is None:
            raise LoomError("No such invocation is stored", on=str(invocation_id))
        return self.bench.find_start(self.bench.record_of(row))

    async def is_alive(self) -> bool:
        """Whether the service behind the agent takes connections."""
        return await self.bench.is_alive(self.entry)

    def __repr__(self) -> str:
        return f"<Agent {self.name}: {self.status}, {self.runtime_id}, {self.qualifier}>"

    def _repr_html_(self) -> str:
        kind = {"READY": "good", "CREATE_FAILED": "bad", "UPDATE_FAILED": "bad", "DELETED": "bad"}.get(
            self.status, "wait"
        )
        return card(
            self.name,
            state=(kind, self.status),
            labels=self.labels,
            facts=[
                ("runtime", self.runtime_id),
                ("region", self.entry.region),
                ("qualifiers", ", ".join(self.qualifiers)),
                ("log group", self.entry.log_group(self.qualifier)),
                ("ask it", 'agent.invoke("…")'),
            ],
        )
