"""Where the requests of a load test go, and what authorizes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loomlib.aws.bearer import Bearer
from loomlib.aws.connection import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTarget:
    """The target of a load test's requests: an AgentCore runtime, or a plain HTTP address.

    It does not contain credentials. The engine obtains them through `connection` while it runs (environment, profile,
    role) and passes them to its processes through their input: they are never on a command line or in a file.

    Examples:
        >>> LoadTarget.http("http://127.0.0.1:8080/invocations").url
        'http://127.0.0.1:8080/invocations'

    Attributes:
        arn: The runtime's ARN; None for a plain address.
        qualifier: The endpoint's name.
        connection: The connection to AWS or to the local AgentCore (`bench.context.clients.connection`).
        region: The runtime's region; None for the ARN's own.
        bearer: A token, or a function that returns one, that is sent instead of a signature.
        url: The address of a plain HTTP server.
        headers: Further headers of every request. They are not treated as secret: use `bearer` for a token.
        content_type: The media type of the bodies.
        is_json_rpc: Whether the agent speaks JSON-RPC (MCP, A2A): its responses say whether a call failed.
    """

    arn: str | None = None
    qualifier: str = "DEFAULT"
    connection: Connection | None = field(default=None, repr=False)
    region: str | None = None
    bearer: Bearer | None = field(default=None, repr=False)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content_type: str = "application/json"
    is_json_rpc: bool = False

    def __post_init__(self) -> None:
        if (self.arn is None) == (self.url is None):
            raise ValueError("a target has either an ARN or a URL")
        if self.arn is not None and self.connection is None:
            raise ValueError("a runtime needs the connection through which credentials are obtained")
        for name, value in self.headers.items():
            if not f"{name}{value}".isprintable() or not name:
                raise ValueError(f"the header {name!r} has characters that HTTP does not allow")

    @classmethod
    def runtime(
        cls,
        arn: str,
        connection: Connection,
        *,
        qualifier: str = "DEFAULT",
        bearer: Bearer | None = None,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        is_json_rpc: bool = False,
    ) -> LoadTarget:
        """Return the target for an AgentCore runtime, here or on AWS.

        Args:
            arn: The runtime's ARN.
            connection: The connection to AWS or to the local AgentCore.
            qualifier: The endpoint's name.
            bearer: A token, or a function that returns one, instead of a signature.
            headers: Further headers of every request.
            content_type: The media type of the bodies.
            is_json_rpc: Whether the agent speaks JSON-RPC (MCP, A2A).
        """
        return cls(
            arn=arn,
            connection=connection,
            qualifier=qualifier,
            bearer=bearer,
            headers=headers or {},
            content_type=content_type,
            is_json_rpc=is_json_rpc,
        )

    @classmethod
    def http(
        cls,
        url: str,
        *,
        bearer: Bearer | None = None,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> LoadTarget:
        """Return the target for a plain HTTP server that takes POST requests, such as an agent started by hand.

        Args:
            url: The address.
            bearer: A token, or a function that returns one.
            headers: Further headers of every request.
            content_type: The media type of the bodies.
        """
        return cls(url=url, bearer=bearer, headers=headers or {}, content_type=content_type)
