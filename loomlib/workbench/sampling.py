"""Answers to the sampling requests of MCP servers by a model, local or on AWS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..agents.protocols import Sampling
from ..aws.converse import converse
from ..json_values import as_mapping, as_text, number_or_none

if TYPE_CHECKING:
    from .bench import Workbench

DEFAULT_MODEL: Final = "global.anthropic.claude-sonnet-4-6"


def sampling_model(bench: Workbench, model_id: str = DEFAULT_MODEL) -> Callable[[Sampling], Mapping[str, Any]]:
    """Return a function that lets a model answer the sampling requests of an MCP server.

        with agent.protocols.mcp(on_sample=sampling_model(bench)) as mcp:
            mcp.call("explain", expression="6 * 7").text

    The model gets the text of the messages; other content is replaced by a short description in square brackets. The
    server's tools and its preferred models are not used. Needs `bedrock:InvokeModel` on AWS.

    Args:
        bench: The workbench whose connection is used to call the model.
        model_id: The id of a model or inference profile.

    Returns:
        The function; its results say in `_meta` with `loom/simulated` whether the local scripted model answered.
    """

    def answer(request: Sampling) -> Mapping[str, Any]:
        reply = converse(
            bench.context.clients,
            model_id,
            [
                {
                    "role": "assistant" if as_text(message.get("role")) == "assistant" else "user",
                    "content": [{"text": Sampling(messages=[message]).text or " "}],
                }
                for message in map(as_mapping, request.messages)
            ],
            system=request.system_prompt,
            max_tokens=request.max_tokens or None,
            temperature=number_or_none(request.params.get("temperature")),
        )
        return {
            "role": "assistant",
            "content": {"type": "text", "text": reply.text},
            "model": model_id,
            "stopReason": "maxTokens" if reply.stop_reason == "max_tokens" else "endTurn",
            "_meta": {"loom/simulated": reply.is_simulated},
        }

    return answer
