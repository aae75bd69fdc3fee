"""Calls of runtimes with a prepared request, such as that of a schedule."""

from __future__ import annotations

from collections.abc import Mapping

from .connection import Clients
from .errors import translated

_LONGEST_ANSWER_BYTES = 4_000_000


def invoke_with(clients: Clients, members: Mapping[str, str]) -> str:
    """Invoke a runtime with the members of a request, and return at most 4 MB of its answer as text.

    Args:
        clients: The AWS clients of a connection.
        members: The members of InvokeAgentRuntime; the payload as text.

    Raises:
        AgentFailedError: The agent did not start or did not answer.
        AwsError: AgentCore rejects the request.
    """
    request = {**members, "payload": members.get("payload", "").encode()}
    client = clients.client("bedrock-agentcore", read_timeout_s=900)
    with translated("Invoking the agent", on=members.get("agentRuntimeArn", "")):
        answer = client.invoke_agent_runtime(**request)
        with answer["response"] as body:
            content: bytes = body.read(_LONGEST_ANSWER_BYTES)
    return content.decode("utf-8", "replace")
