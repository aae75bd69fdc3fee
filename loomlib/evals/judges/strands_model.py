"""A model for strands agents that judge: the workbench's own Converse client in the shape that strands asks for.

It is made of what strands calls, without importing strands: `stream` with Converse's events, `get_config` and the like.
So a strands evaluator asks over the same connection, and its tokens, cost and "simulated" are known.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .model import SIMULATED_JUDGE, ConverseJudge, cost_of

if TYPE_CHECKING:
    from loomlib.aws.converse import ModelAnswer


class StrandsModel:
    """One judge's model for one verdict; `answers` collects what it said."""

    stateful = False
    context_window_limit = None

    def __init__(self, judge: ConverseJudge) -> None:
        self._judge = judge
        self.config: dict[str, Any] = {"model_id": judge.model_id}
        self.answers: list[ModelAnswer] = []

    @property
    def tokens(self) -> int | None:
        """Of all its answers; None when one does not say."""
        known = [(each.input_tokens, each.output_tokens) for each in self.answers]
        if any(None in each for each in known):
            return None
        return sum((read or 0) + (wrote or 0) for read, wrote in known)

    @property
    def cost(self) -> float | None:
        """US dollars of all its answers; None when one has no price."""
        costs = [cost_of(each, self._judge.model_id, self._judge.prices) for each in self.answers]
        return None if None in costs else sum(each for each in costs if each is not None)

    @property
    def labels(self) -> tuple[str, ...]:
        return (SIMULATED_JUDGE,) if any(each.is_simulated for each in self.answers) else ()

    def get_config(self) -> dict[str, Any]:
        """What strands reads the model's name from."""
        return self.config

    def update_config(self, **config: Any) -> None:
        """Takes what strands wants to remember; the model stays the one it is."""
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
        """One answer as Converse's stream events. Raises `AwsError`'s kin."""
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
        """An answer as an object of `output_model` (a pydantic model), by a tool that the model is made to call."""
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
        from loomlib.aws.converse import ToolForm, converse

        tools = [
            ToolForm(
                name=str(each["name"]),
                description=str(each.get("description") or each["name"]),
                schema=each["inputSchema"]["json"],
            )
            for each in specs
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
