"""Gateways in front of generated catalogues of tools, for `loom.GatewayStudy`."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from ..agents import new_session_id
from ..agents.protocols.mcp_session import McpSession
from ..agents.protocols.mcp_values import Callbacks
from ..agents.protocols.measuring import CallOutcome
from ..aws import gateways
from ..aws.converse import ModelAnswer, ToolForm, converse
from ..aws.engine import shared_engine
from ..errors import LoomError, ResourceNotFoundError
from ..json_values import as_mapping, as_text
from ..latency.gateways import GatewaySpans, ToolAnswer, generate_catalogue
from ..latency.gateways.study import SEARCH_TOOL
from ..store import InvocationRow, Store
from ..telemetry.span_records import SpanReader
from ..telemetry.trace_lookup import PollingPolicy
from ..telemetry.traces.read import read_spans
from ..telemetry.traces.span import Span
from ..telemetry.traces.trace import Trace
from .agent import Agent
from .agent_sessions import agent_mcp, stop_agent_session
from .bench import Workbench
from .blueprints import find_code
from .liveness import accepts_connections
from .protocol_sessions import gateway_session

T = TypeVar("T")

DEFAULT_SIZES: Final = (5, 20, 100, 500)
_BLUEPRINT: Final = "tool_catalogue"
_TARGET: Final = "tools"
_SKEW_S: Final = 60.0


def deploy_catalogues(
    bench: Workbench, sizes: Sequence[int] = DEFAULT_SIZES, *, seed: int = 0, name: str = "catalogue"
) -> ToolCatalogues:
    """Deploy, for each size, an MCP server with that many tools and a gateway with tool search in front of it.

        subject = deploy_catalogues(bench, (5, 20, 100, 500))
        loom.GatewayStudy(subject).run()

    Existing gateways with these names are used unchanged.

    Args:
        bench: The workbench.
        sizes: The numbers of tools.
        seed: Seed of the tools.
        name: Prefix of the names: with size and seed, agents are named `catalogue_5_0`, gateways `catalogue-5-0`.

    Raises:
        NotSupportedError: On AWS, where this release does not deploy; see `find_catalogues`.
    """

    def deploy(size: int) -> None:
        agent_name, gateway_name = _names(name, size, seed)
        try:
            gateway = bench.gateways.get(gateway_name)
        except ResourceNotFoundError:
            gateway = bench.gateways.create(gateway_name, search=True)
        statuses = dict(gateway.targets()[["name", "status"]].itertuples(index=False))
        if statuses.get(_TARGET) == "READY":
            return
        if _TARGET in statuses:
            gateway.remove(_TARGET)
        with tempfile.TemporaryDirectory() as folder:
            code = write_catalogue(Path(folder) / agent_name, size, seed=seed)
            agent = bench.deploy(code, name=agent_name, protocol="MCP", progress=_silent)
        gateway.add_agent(_TARGET, agent)

    with ThreadPoolExecutor(max_workers=2) as pool:
        for deployment in [pool.submit(deploy, size) for size in dict.fromkeys(sizes)]:
            deployment.result()
    return find_catalogues(bench, sizes, seed=seed, name=name)


def find_catalogues(
    bench: Workbench, sizes: Sequence[int] = DEFAULT_SIZES, *, seed: int = 0, name: str = "catalogue"
) -> ToolCatalogues:
    """Return catalogues that exist already, such as those on AWS.

    The agent with 20 tools and seed 0 is `catalogue_20_0`: the code that `write_catalogue` writes, as an MCP runtime.
    Its gateway is `catalogue-20-0`, with tool search and the target `tools`, which is that agent.

    Args:
        bench: The workbench.
        sizes: The numbers of tools.
        seed: Seed of the tools.
        name: Prefix of the names.

    Raises:
        LoomError: There is no such agent or gateway.
    """
    catalogues = {
        size: (bench.agent(agent_name), bench.gateways.get(gateway_name).value)
        for size in dict.fromkeys(sizes)
        for agent_name, gateway_name in [_names(name, size, seed)]
    }
    return ToolCatalogues(bench, catalogues, name=name, seed=seed)


def write_catalogue(folder: str | Path, tools: int, *, seed: int = 0) -> Path:
    """Write the code of an MCP server with generated tools into a new folder, and return the folder.

    Args:
        folder: The folder.
        tools: Number of tools.
        seed: Seed of the tools.
    """
    path = Path(folder)
    listed = [tool.definition() for tool in generate_catalogue(tools, seed=seed)]
    shutil.copytree(find_code(_BLUEPRINT), path, ignore=shutil.ignore_patterns("__pycache__"))
    (path / "tools.json").write_text(json.dumps(listed, indent=1), "utf-8")
    return path


class ToolCatalogues:
    """Gateways in front of generated catalogues; returned by `deploy_catalogues` and `find_catalogues`.

    Args:
        bench: The workbench.
        by_size: The MCP server and the gateway of each catalogue, by the number of its tools.
        name: A name for all of them.
        seed: The seed of the catalogues.
    """

    def __init__(
        self, bench: Workbench, by_size: Mapping[int, tuple[Agent, gateways.Gateway]], *, name: str, seed: int
    ) -> None:
        self._context, self._by_size, self.name, self.seed = bench.context, dict(by_size), name, seed

    def __repr__(self) -> str:
        """Return the name and the sizes."""
        return f"<{self.name}: gateways with {', '.join(map(str, sorted(self._by_size)))} tools>"

    @property
    def store(self) -> Store:
        """The store for studies and invocations."""
        return self._context.store

    @property
    def scope(self) -> str:
        """The environment: "local" or "aws"."""
        return self._context.where

    @property
    def labels(self) -> Sequence[str]:
        """Provenance labels shown beside every number."""
        return self._context.labels

    @property
    def arns(self) -> Mapping[int, str]:
        """The ARN of the gateway in front of each catalogue, by the number of its tools."""
        return {size: gateway.arn for size, (_, gateway) in self._by_size.items()}

    @property
    def span_polling(self) -> PollingPolicy:
        """How long to wait for spans."""
        return self._context.environment.span_polling()

    def caller(self, tools: int, *, direct: bool = False) -> _McpToolCaller:
        """Return an unopened caller of a catalogue's tools.

        Args:
            tools: The catalogue, by the number of its tools.
            direct: Whether it calls the MCP server itself, not through the gateway.
        """
        agent, gateway = self._by_size[tools]
        session_id = new_session_id()
        if not direct:
            session = gateway_session(self._context, gateway.url, gateway.region, Callbacks(), session_id, signed=True)
            return _McpToolCaller(session)
        session = agent_mcp(self._context, agent.entry, "DEFAULT", None, session_id, Callbacks())
        return _McpToolCaller(
            session, end=lambda: stop_agent_session(self._context, agent.entry, "DEFAULT", None, session_id)
        )

    def target_name(self, tool: str) -> str:
        """Return the name that the gateway gives to a tool of the MCP server."""
        return f"{_TARGET}___{tool}"

    def choose(self, model: str, question: str, tools: Sequence[ToolForm]) -> ModelAnswer:
        """Send a question with tools to a model; blocks.

        Args:
            model: The id of a model or inference profile.
            question: The question.
            tools: The tools that it may call.

        Raises:
            AwsError: The model did not answer.
        """
        message = {"role": "user", "content": [{"text": question}]}
        return converse(self._context.clients, model, [message], tools=tools, max_tokens=500, temperature=0.0)

    def spans(self, tools: int, invocation_ids: Sequence[int]) -> Mapping[int, GatewaySpans]:
        """Return where the time of calls through a gateway went, for those whose spans are available now; blocks.

        Args:
            tools: The catalogue.
            invocation_ids: The stored calls.
        """
        agent, gateway = self._by_size[tools]
        stored = [row for id in invocation_ids if (row := self._context.store.invocations.get(id)) is not None]
        calls = {row.trace_id: row for row in stored if row.trace_id and row.client_invoke_time is not None}
        return self._read_spans(agent, gateway, calls) if calls else {}

    async def is_alive(self) -> bool:
        """Return whether the service accepts connections."""
        return await accepts_connections(self._context.clients, next(iter(self._by_size.values()))[1].region)

    def _read_spans(
        self, agent: Agent, gateway: gateways.Gateway, calls: Mapping[str, InvocationRow]
    ) -> dict[int, GatewaySpans]:
        reader = SpanReader(self._context.clients)
        sent_times = [row.client_invoke_time or 0.0 for row in calls.values()]
        start_ms, end_ms = int((min(sent_times) - _SKEW_S) * 1000), int((max(sent_times) + 900) * 1000)
        try:
            records = [
                record.document
                for term in (gateway.id, agent.entry.runtime_id)
                for record in reader.spans(agent.entry, term=term, start_ms=start_ms, end_ms=end_ms)
                if record.trace_id in calls
            ]
        except ResourceNotFoundError:  # nothing has exported a span yet
            return {}
        times: dict[int, GatewaySpans] = {}
        for trace in Trace.of(read_spans(records).spans):
            own = [span for span in trace.spans if _is_of_gateway(span)]
            if own and trace.trace_id in calls:
                gateway_span = max(own, key=lambda span: span.duration_ns)
                below = [
                    span.duration_ns / 1e6
                    for span in trace.spans
                    if not _is_of_gateway(span) and gateway_span in trace.ancestors(span)
                ]
                times[calls[trace.trace_id].id] = GatewaySpans(
                    gateway_ms=gateway_span.duration_ns / 1e6, target_ms=max(below, default=None)
                )
        return times


class _McpToolCaller:
    """Calls tools of one MCP endpoint; its session runs on the engine's loop."""

    def __init__(self, session: McpSession, *, end: Any = None) -> None:
        self._engine, self._session, self._end = shared_engine(), session, end

    async def open(self) -> None:
        """Connect and perform the handshake."""
        await self._run(self._session.open())

    async def tools(self) -> Sequence[ToolForm]:
        """Return the tools of the endpoint, without the gateway's own search tool."""
        return [
            ToolForm(
                name=as_text(tool.get("name")),
                description=as_text(tool.get("description")),
                schema=as_mapping(tool.get("inputSchema")),
            )
            for tool in await self._run(self._session.list("tools"))
            if tool.get("name") != SEARCH_TOOL
        ]

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> ToolAnswer:
        """Call a tool.

        Args:
            tool: Its name at this endpoint.
            arguments: Its arguments.
            labels: Labels stored with the invocation.
            timeout_s: Timeout of the call in seconds; None for the settings'.
        """
        payload = {"tool": tool, "arguments": dict(arguments)}
        outcome: CallOutcome = await self._run(
            self._session.ask(json.dumps(payload), payload, timeout_s=timeout_s, labels=labels)
        )
        record = outcome.record
        return ToolAnswer(
            result=outcome.result,
            duration_ms=record.client_duration_ms,
            wire=record.wire,
            connection_reused=record.connection_reused,
            failure=record.failure,
            error=record.error_message,
            invocation_id=record.id,
        )

    async def close(self) -> None:
        """End the session."""
        await self._run(self._session.close())
        end, self._end = self._end, None
        if end is not None:
            try:
                await asyncio.to_thread(end)
            except LoomError:  # the session ends by itself after its idle timeout
                return

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(self._engine.submit(work))


def _is_of_gateway(span: Span) -> bool:
    return span.attributes.get("aws.operation.name") == "InvokeGateway"


def _names(name: str, size: int, seed: int) -> tuple[str, str]:
    return f"{name}_{size}_{seed}", f"{name}-{size}-{seed}".replace("_", "-")


def _silent(_line: str) -> None:
    """Drop a line of progress."""
