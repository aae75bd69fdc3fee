"""A model for the strands agents that judge, on Loom's own Converse client.

It implements what strands calls (`stream` with Converse's events, `get_config` and the like) without importing strands,
so that a strands evaluator uses the same connection, and its tokens, cost and simulated label are known.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from loomlib.aws.converse import ModelAnswer, ToolForm, converse

from .model import SIMULATED_JUDGE, ConverseJudge, cost_of


class StrandsModel:
    """The model for one verdict; `answers` collects its replies."""

    stateful = False
    context_window_limit = None

    def __init__(self, judge: ConverseJudge) -> None:
        self._judge = judge
        self.config: dict[str, Any] = {"model_id": judge.model_id}
        self.answers: list[ModelAnswer] = []

    @property
    def tokens(self) -> int | None:
        """Tokens of all replies, None when one is unknown."""
        counts = [(answer.input_tokens, answer.output_tokens) for answer in self.answers]
        if any(None in pair for pair in counts):
            return None
        return sum((read or 0) + (wrote or 0) for read, wrote in counts)

    @property
    def cost(self) -> float | None:
        """US dollars of all replies, None when the price of one is unknown."""
        costs = [cost_of(answer, self._judge.model_id, self._judge.prices) for answer in self.answers]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def labels(self) -> tuple[str, ...]:
        """Provenance labels: `SIMULATED_JUDGE` when a reply was simulated."""
        return (SIMULATED_JUDGE,) if any(answer.is_simulated for answer in self.answers) else ()

    def get_config(self) -> dict[str, Any]:
        """Return the configuration from which strands reads the model's name."""
        return self.config

    def update_config(self, **config: Any) -> None:
        """Store settings that strands sets; the model id cannot be changed."""
        self.config.update({name: value for name, value in config.items() if name != "model_id"})

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tool_specs: Sequence[Mapping[str, Any]] | None = None,
        system_prompt: str | None = None,
        *,
        tool_choice: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield one reply as Converse stream events.

        Args:
            messages: The conversation in Converse's form.
            tool_specs: Tools in Converse's form.
            system_prompt: The system prompt.
            tool_choice: Tool choice in Converse's form.

        Raises:
            AwsError: The request failed.
        """
        answer = await asyncio.to_thread(self._converse, messages, tool_specs or (), system_prompt or "", tool_choice)
        self.answers.append(answer)
        yield {"messageStart": {"role": "assistant"}}
        for block in answer.content:
            if "toolUse" in block:
                use: Mapping[str, Any] = block["toolUse"]
                yield {
                    "contentBlockStart": {"start": {"toolUse": {"name": use["name"], "toolUseId": use["toolUseId"]}}}
                }
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(use.get("input") or {})}}}}
            elif "text" in block:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": block["text"]}}}
            else:
                continue
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": answer.stop_reason or "end_turn"}}
        read, wrote = answer.input_tokens or 0, answer.output_tokens or 0
        usage = {"inputTokens": read, "outputTokens": wrote, "totalTokens": read + wrote}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": answer.latency_ms or 0}}}

    async def structured_output(
        self, output_model: Any, prompt: Sequence[Mapping[str, Any]], system_prompt: str | None = None, **_: Any
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield a reply as an object of a pydantic model, by a tool that the model must call.

        Args:
            output_model: The pydantic model.
            prompt: The conversation in Converse's form.
            system_prompt: The system prompt.
        """
        spec = {
            "name": str(output_model.__name__),
            "description": str(output_model.__doc__ or "The answer."),
            "inputSchema": {"json": output_model.model_json_schema()},
        }
        choice = {"tool": {"name": spec["name"]}}
        answer = await asyncio.to_thread(self._converse, prompt, (spec,), system_prompt or "", choice)
        self.answers.append(answer)
        yield {"output": output_model.model_validate(dict(answer.calls[0][1]) if answer.calls else {})}

    def _converse(
        self,
        messages: Sequence[Mapping[str, Any]],
        specs: Sequence[Mapping[str, Any]],
        system: str,
        choice: Mapping[str, Any] | None,
    ) -> ModelAnswer:
        tools = [
            ToolForm(
                name=str(spec["name"]),
                description=str(spec.get("description") or spec["name"]),
                schema=spec["inputSchema"]["json"],
            )
            for spec in specs
        ]
        return converse(
            self._judge.clients,
            self._judge.model_id,
            messages,
            system=system,
            tools=tools,
            tool_choice=choice if tools else None,
            max_tokens=self._judge.max_tokens,
            temperature=self._judge.temperature,
        )
