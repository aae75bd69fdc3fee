"""Protocols for what a study of gateways measures; the workbench implements them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from loomlib.aws.converse import ModelAnswer, ToolForm

if TYPE_CHECKING:
    from loomlib.aws.wire import WireBytes
    from loomlib.store import Store
    from loomlib.telemetry.trace_lookup import PollingPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The answer to one tool call; a failure is an answer, too.

    Attributes:
        result: MCP's result of the call; empty when it failed.
        duration_ms: From the request's first byte sent to the answer's last byte at the socket, in milliseconds.
        wire: Bytes in both directions; None when they were not counted.
        connection_reused: Whether an open connection was used.
        failure: The class of the failure, or None.
        error: The error message, or None.
        invocation_id: The stored invocation.
    """

    result: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    duration_ms: float | None = None
    wire: WireBytes | None = None
    connection_reused: bool | None = None
    failure: str | None = None
    error: str | None = None
    invocation_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySpans:
    """Breakdown of the time of one call through a gateway, from its spans.

    Attributes:
        gateway_ms: Duration of the gateway's span.
        target_ms: Duration of the longest span below it, which is the target's; None where the target has none.
    """

    gateway_ms: float
    target_ms: float | None = None


class ToolCaller(Protocol):
    """Calls tools of one MCP endpoint, in one session."""

    async def open(self) -> None:
        """Connect and perform the handshake.

        Raises:
            LoomError: The connection was refused.
        """
        ...

    async def tools(self) -> Sequence[ToolForm]:
        """Return the tools of the endpoint, without the gateway's own search tool.

        Raises:
            LoomError: They cannot be listed.
        """
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> ToolAnswer:
        """Call a tool.

        Args:
            tool: Its name at this endpoint.
            arguments: Its arguments.
            labels: Labels stored with the invocation.
            timeout_s: The limit of the call, in seconds; None for the settings'.
        """
        ...

    async def close(self) -> None:
        """Disconnect; closing twice has no effect."""
        ...


class StudiedGateways(Protocol):
    """Gateways in front of generated catalogues, such as those of `deploy_catalogues`."""

    @property
    def store(self) -> Store:
        """Where studies and invocations are stored."""
        ...

    @property
    def scope(self) -> str:
        """The environment: "local" or "aws"."""
        ...

    @property
    def labels(self) -> Sequence[str]:
        """Provenance labels shown beside every number."""
        ...

    @property
    def name(self) -> str:
        """A common name of the gateways."""
        ...

    @property
    def seed(self) -> int:
        """The seed of the catalogues."""
        ...

    @property
    def arns(self) -> Mapping[int, str]:
        """The ARN of the gateway in front of each catalogue, by the number of its tools."""
        ...

    @property
    def span_polling(self) -> PollingPolicy:
        """How long to wait for spans."""
        ...

    def caller(self, tools: int, *, direct: bool = False) -> ToolCaller:
        """Return a caller of a catalogue's tools that is not open yet.

        Args:
            tools: The catalogue, by the number of its tools.
            direct: Whether it calls the MCP server itself, not through the gateway.
        """
        ...

    def target_name(self, tool: str) -> str:
        """Return the name that the gateway gives to a tool of the MCP server."""
        ...

    def choose(self, model: str, question: str, tools: Sequence[ToolForm]) -> ModelAnswer:
        """Send a question with tools to a model; blocks.

        Raises:
            AwsError: The model did not answer.
        """
        ...

    def spans(self, tools: int, invocation_ids: Sequence[int]) -> Mapping[int, GatewaySpans]:
        """Return the time breakdown of calls through a gateway, for those whose spans have arrived; blocks.

        Args:
            tools: The catalogue.
            invocation_ids: The stored calls.
        """
        ...

    async def is_alive(self) -> bool:
        """Return whether the service accepts connections."""
        ...
