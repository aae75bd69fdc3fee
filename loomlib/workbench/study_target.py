"""An agent as the target of a latency study (`loomlib.latency.MeasuredAgent`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ..agents import AgentEntry, InvocationRecord
from ..agents.agui import run_input
from ..agents.payloads import make_payload
from ..aws.bearer import Bearer, token_of
from ..aws.runtimes import served_version, stop_session
from ..aws.versions import describe_version
from ..errors import LoomError, StudyError
from ..jobs.dask import WorkerReference
from ..store import Store
from ..telemetry import AgentStart
from ..telemetry.process_starts import processes_began
from ..telemetry.session_starts import SessionStartRecord
from ..telemetry.trace_lookup import TraceRequest
from .capturing import stored_row
from .context import Context
from .liveness import accepts_connections
from .tracing import find_start, find_traces, first_session_starts

_log = logging.getLogger(__name__)


class StudyTarget:
    """One endpoint of an agent with the operations that a study needs; returned by `agent.targets.study_target()`.

    Args:
        context: The workbench's resources.
        entry: The agent.
        qualifier: The endpoint.
        bearer: The bearer token to send, or a function that returns it.
    """

    def __init__(self, context: Context, entry: AgentEntry, qualifier: str, *, bearer: Bearer | None = None) -> None:
        self._context, self._entry, self._bearer = context, entry, bearer
        self.name, self.arn, self.qualifier = entry.name, str(entry.arn), qualifier
        self.labels, self.scope = context.labels, context.where
        self.platform_version = str(entry.raw_metadata.get("platformVersion") or "")

    @property
    def store(self) -> Store:
        """The store for studies and invocations."""
        return self._context.store

    async def measure(
        self, prompt: str, *, session_id: str, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> InvocationRecord:
        """Make one timed call; a failed call is a record with status "error".

        Args:
            prompt: The prompt.
            session_id: The runtime session.
            labels: Labels of the call, in addition to the workbench's.
            timeout_s: Seconds without a byte after which the call fails.
        """
        return await self._context.invoker.ainvoke(
            self._entry,
            prompt,
            payload=self._payload(prompt, session_id),
            session_id=session_id,
            qualifier=self.qualifier,
            timeout_s=timeout_s,
            bearer=token_of(self._bearer),
            labels=(*self.labels, *labels),
        )

    def for_workers(self) -> WorkerReference:
        """Return how a worker of a Dask cluster creates this agent from its own workbench.

        Raises:
            StudyError: The agent is called with a bearer token, which is not sent to workers.
        """
        if self._bearer is not None:
            raise StudyError(
                "A bearer token is not sent to the workers of a cluster",
                on=self.name,
                try_="an agent that is called with AWS credentials, or run it without Dask",
            )
        return WorkerReference(
            factory="loomlib.workbench.worker_agents:agent",
            arguments={"where": self.scope, "arn": self.arn, "qualifier": self.qualifier},
        )

    def process_variables(self) -> Mapping[str, str]:
        """Return the variables that point AWS clients to the agent's environment."""
        return self._context.environment.environment()

    def request_body(self, prompt: str, session_id: str) -> bytes:
        """Return the body that a call sends."""
        payload = self._payload(prompt, session_id)
        return make_payload(prompt, payload, form=self._entry.message_format, session_id=session_id).body

    def _payload(self, prompt: str, session_id: str) -> Mapping[str, Any] | None:
        return run_input(prompt, thread_id=session_id) if self._entry.protocol == "AGUI" else None

    def release(self) -> Mapping[str, str]:
        """Return the version that the endpoint serves and a digest of its code, both from AgentCore."""
        runtime, region = self._entry.runtime_id, self._entry.region
        try:
            version = served_version(self._context.clients, runtime, self.qualifier, region=region)
            if not version:
                return {}
            described = describe_version(self._context.clients, runtime, version, region=region)
        except LoomError as error:
            _log.warning("The agent's version is unknown: %s", error)
            return {}
        return {"version": version, "code": described.code_digest}

    def end_session(self, session_id: str) -> bool:
        """End a runtime session; return False if it had already ended."""
        clients, region = self._context.clients, self._entry.region
        bearer = token_of(self._bearer)
        return stop_session(clients, self.arn, session_id, qualifier=self.qualifier, region=region, bearer=bearer)

    def agent_start(self, invocation_id: int) -> AgentStart:
        """Find the agent's start for a stored call; wait as long as the settings allow."""
        row = stored_row(self._context, invocation_id)
        return find_start(self._context, self._context.catalog.get(row.agent_arn), invocation_id)

    def garbage_collections_ms(self, invocation_ids: Sequence[int]) -> Mapping[int, float]:
        """Return the ms of full garbage collections in each stored call; only the local service records them."""
        if self.scope != "local":
            return {}
        rows = [stored_row(self._context, id) for id in invocation_ids]
        views = find_traces(self._context, self._entry, rows, progress=lambda _line: None)
        parts = {view.invocation_id: view.breakdown()["garbage_collection"] for view in views}
        return {id: part.duration_ms for id, part in parts.items() if part.certainty != "missing"}

    def process_starts(self, invocation_ids: Sequence[int]) -> Mapping[int, bool]:
        """Return whether a process was started for each stored call, by the log streams; unknown ones are omitted."""
        rows = [stored_row(self._context, id) for id in invocation_ids]
        requests = [TraceRequest.of(row, (), agent_exports=False) for row in rows]
        began = processes_began(self._context.clients, self._entry.arn, requests)
        return {id: is_cold for id, is_cold in began.items() if is_cold is not None}

    def session_starts(self, session_ids: Sequence[str]) -> Mapping[str, SessionStartRecord]:
        """Return the first start of each session; wait for late records. Only the local service records them."""
        return first_session_starts(self._context, self._entry, session_ids, qualifier=self.qualifier)

    async def is_alive(self) -> bool:
        """Return whether the service accepts connections."""
        return await accepts_connections(self._context.clients, self._entry.region)
