"""An agent of the catalog: invoke it, evaluate it, read its history and telemetry, remove it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from ..agents import AgentEntry, AsyncEventStream, EventStream
from ..agents.requests import CallOptions, InvokeOptions
from ..aws import runtimes
from ..aws.bearer import Bearer, token_of
from ..deprecation import renamed_members, warn_renamed
from ..dispatch import call
from ..errors import LoomError
from ..evals import EvalSet
from ..evals.runs import EvalRun, evaluate
from .bench_memories import Memories, memory_variables
from .cards import agent_card
from .context import Context
from .invocation import Invocation
from .renamed import AGENT_MEMBERS, AGENT_REPLACEMENTS
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

    from .agent_approvals import AgentApprovals
    from .agent_evals import AgentEvals
    from .agent_history import AgentHistory
    from .agent_protocols import AgentProtocols
    from .agent_releases import AgentEndpoint, AgentReleases
    from .agent_targets import AgentTargets
    from .agent_telemetry import AgentTelemetry
    from .memory import Memory


class Agent:
    """An agent of the catalog; returned by `Workbench.deploy`, `register` and `agent`.

    Args:
        entry: The catalog's entry.
        context: The workbench's resources.
        qualifier: The endpoint to invoke.
        bearer: The token that its calls send instead of a signature, or a function that returns it.
    """

    def __init__(
        self, entry: AgentEntry, context: Context, *, qualifier: str = "DEFAULT", bearer: Bearer | None = None
    ) -> None:
        self.entry, self.context, self.qualifier = entry, context, qualifier
        self._bearer = bearer

    @property
    def name(self) -> str:
        """The runtime's name."""
        return self.entry.name

    @property
    def arn(self) -> str:
        """The runtime's ARN."""
        return str(self.entry.arn)

    @property
    def status(self) -> str:
        """The runtime's status in AWS's terms when it was last refreshed; `DELETED` if it no longer existed."""
        return self.entry.status

    @property
    def protocol(self) -> str:
        """The protocol that the runtime speaks: HTTP, MCP, A2A or AGUI."""
        return self.entry.protocol

    @property
    def approvals(self) -> AgentApprovals:
        """Actions that wait for a person: list, approve, reject."""
        from .agent_approvals import AgentApprovals

        return AgentApprovals(self.context, self.entry, self.qualifier, self._bearer)

    @property
    def evals(self) -> AgentEvals:
        """Eval cases created from this agent's invocations."""
        from .agent_evals import AgentEvals

        return AgentEvals(self.context, self.entry)

    @property
    def history(self) -> AgentHistory:
        """The stored invocations and conversations."""
        from .agent_history import AgentHistory

        return AgentHistory(self.context, self.entry)

    @property
    def protocols(self) -> AgentProtocols:
        """Clients for MCP, A2A, AG-UI and WebSockets, and the message format."""
        from .agent_protocols import AgentProtocols

        def changed(entry: AgentEntry) -> None:
            self.entry = entry

        return AgentProtocols(self.context, self.entry, self.qualifier, self._bearer, changed)

    @property
    def releases(self) -> AgentReleases:
        """Deployed versions and endpoints, A/B tests, tags, and the plan of a removal."""
        from .agent_releases import AgentReleases

        return AgentReleases(self.context, self.entry, self.refresh)

    @property
    def telemetry(self) -> AgentTelemetry:
        """Log lines, traces, ready-made queries, processes and an overview."""
        from .agent_telemetry import AgentTelemetry

        return AgentTelemetry(self.context, self.entry, self.qualifier)

    @property
    def targets(self) -> AgentTargets:
        """This agent as a target of evaluations and studies, and a sample prompt."""
        from .agent_targets import AgentTargets

        return AgentTargets(self.context, self.entry, self.qualifier, self._bearer)

    def versions(self) -> pd.DataFrame:
        """Return the versions, newest first, with their code and the endpoints that serve them."""
        return self.releases.versions()

    def endpoint(self, name: str) -> AgentEndpoint:
        """Return an endpoint: the version that it serves, and `promote`, `rollback`, `history` and `delete`.

            agent.endpoint("prod").promote(version=4)

        Args:
            name: The endpoint's name.

        Raises:
            ResourceNotFoundError: The agent has no such endpoint; `agent.releases.create(name)` creates one.
        """
        return self.releases.get(name)

    def at(self, qualifier: str | None = None, *, bearer: Bearer | None = None) -> Agent:
        """Return the same agent, invoked through another of its endpoints or with a bearer token.

        The endpoint and the token apply to all calls, also to those of studies and evaluations.

            agent.at("prod").invoke("What is 2+2?")
            agent.at(bearer=lambda: bench.identity.token("alice")).evaluate(evalset)

        Args:
            qualifier: The endpoint; this object's by default.
            bearer: The token, or a function that returns it, called for each request: a token may expire before a study
                ends. This object's by default.

        Raises:
            LoomError: The agent has no such endpoint.
        """
        if qualifier is not None and qualifier not in self.entry.qualifiers:
            qualifiers = ", ".join(self.entry.qualifiers)
            raise LoomError("The agent has no such endpoint", on=f"{qualifier} of {self.name}", try_=qualifiers)
        return Agent(self.entry, self.context, qualifier=qualifier or self.qualifier, bearer=bearer or self._bearer)

    def invoke(
        self,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str | None = None,
        timeout_s: float | None = None,
        bearer: str | None = None,
    ) -> Invocation:
        """Send a prompt and wait for the whole answer. Nothing is retried; a failed call has `ok` False.

            inv = agent.invoke("What is 2+2?")
            inv.text, inv.duration_ms, inv.latency()

        Args:
            prompt: Sent as `{"prompt": prompt}`.
            payload: Sent instead: a mapping as JSON, or bytes unchanged.
            session_id: The runtime session (33 to 256 characters); a new one by default.
            qualifier: The endpoint; this object's by default.
            timeout_s: Seconds without a byte after which the request fails; the settings' by default.
            bearer: A token that the runtime's authorizer accepts, sent instead of a signature. It is neither stored nor
                logged.
        """
        options = self._options(
            payload=payload, session_id=session_id, qualifier=qualifier, timeout_s=timeout_s, bearer=bearer
        )
        return Invocation(self.context.invoker.invoke(self.entry, prompt, **options), self.context, self.entry)

    async def ainvoke(self, prompt: str | None = None, **options: Unpack[CallOptions]) -> Invocation:
        """Invoke the agent asynchronously, as `invoke` does; run several calls at once with `asyncio.gather`.

        Args:
            prompt: Sent as `{"prompt": prompt}`.
            **options: `payload`, `session_id`, `qualifier`, `timeout_s` and `bearer`, as in `invoke`.
        """
        record = await self.context.invoker.ainvoke(self.entry, prompt, **self._options(**options))
        return Invocation(record, self.context, self.entry)

    def stream(self, prompt: str | None = None, **options: Unpack[CallOptions]) -> EventStream:
        """Send a prompt and iterate over the answer as it arrives.

        The events are `SessionStart`, a `Chunk` for each piece, then `SessionEnd` or `InvocationError`.

            for event in agent.stream("Write about looms"):
                print(getattr(event, "text", ""), end="")

        Args:
            prompt: Sent as `{"prompt": prompt}`.
            **options: `payload`, `session_id`, `qualifier`, `timeout_s` and `bearer`, as in `invoke`.
        """
        return self.context.invoker.stream(self.entry, prompt, **self._options(**options))

    def astream(self, prompt: str | None = None, **options: Unpack[CallOptions]) -> AsyncEventStream:
        """Stream the answer as `stream` does, for `async for`.

        Args:
            prompt: Sent as `{"prompt": prompt}`.
            **options: `payload`, `session_id`, `qualifier`, `timeout_s` and `bearer`, as in `stream`.
        """
        return self.context.invoker.astream(self.entry, prompt, **self._options(**options))

    def end_session(self, session_id: str, *, bearer: str | None = None) -> bool:
        """End a runtime session (StopRuntimeSession); return False if it had already ended.

        Args:
            session_id: The session.
            bearer: A token that the runtime's authorizer accepts, sent instead of a signature.
        """
        return runtimes.stop_session(
            self.context.clients,
            self.arn,
            session_id,
            qualifier=self.qualifier,
            region=self.entry.region,
            bearer=bearer or token_of(self._bearer),
        )

    def refresh(self) -> Agent:
        """Read the runtime's current state from the service, and return this agent."""
        self.entry = self.context.catalog.refresh(self.entry)
        return self

    def configure(self, environment: Mapping[str, str] | None = None, *, memory: Memory | str | None = None) -> Agent:
        """Add environment variables to those of the runtime, and wait until its new version is READY.

        Its code, role and other settings are kept, even if another tool deployed it.

            agent.configure({"KNOWLEDGE_BASE_ID": handbook.value.id}, memory="support")

        Args:
            environment: The variables. Loom neither shows nor stores them.
            memory: A memory, its name, id or ARN, passed to the agent as LOOM_MEMORY_ID.

        Raises:
            AwsError: AgentCore refuses the request, or the new version failed.
        """
        variables = dict(environment or {})
        if memory is not None:
            opened = Memories(self.context).get(memory, region=self.entry.region) if isinstance(memory, str) else memory
            variables = {**memory_variables(opened, self.name), **variables}
        runtimes.change_environment(
            self.context.clients, self.entry.runtime_id, variables, region=self.entry.region, progress=WaitLine()
        )
        return self.refresh()

    def remove(self, *, delete_runtime: bool = False) -> None:
        """Remove the agent from the catalog.

        To delete its packages, endpoints and role as well, apply `releases.removal_plan()`.

        Args:
            delete_runtime: Delete the deployed runtime as well.
        """
        if delete_runtime:
            runtimes.delete_runtime(self.context.clients, self.entry.runtime_id, region=self.entry.region)
        self.context.catalog.remove(self.entry)

    def evaluate(self, evalset: EvalSet, evaluators: Any = (), repeats: int = 1, **options: Any) -> EvalRun:
        """Run every case of a set, score the answers, and store everything.

            agent.evaluate(evalset, ["exact", "trajectory"], repeats=3).summary()

        Args:
            evalset: The cases.
            evaluators: Names of evaluators, or evaluators; the set's own by default.
            repeats: Number of runs of each case.
            **options: Options of `loom.evaluate`.
        """
        return evaluate(self, evalset, evaluators, repeats, **options)

    def _options(self, **options: Unpack[CallOptions]) -> InvokeOptions:
        bearer = options.get("bearer")
        return {
            **options,
            "qualifier": options.get("qualifier") or self.qualifier,
            "bearer": token_of(self._bearer) if bearer is None else bearer,
            "labels": self.context.labels,
        }

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in AGENT_REPLACEMENTS:
                warn_renamed(f"Agent.{name}", AGENT_REPLACEMENTS[name])
                return call(f"Agent.{name}", self)
            return renamed_members(self, AGENT_MEMBERS, name)

    def __repr__(self) -> str:
        return f"<Agent {self.name}: {self.status}, {self.entry.runtime_id}, {self.qualifier}>"

    def _repr_html_(self) -> str:
        return agent_card(self.entry, self.qualifier, self.context.labels)
