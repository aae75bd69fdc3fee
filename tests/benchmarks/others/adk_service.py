"""ADK's own evaluation service on N cases: seconds of asking and of judging, as JSON. Runs in its own environment."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import AsyncGenerator

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.evaluation.base_eval_service import EvaluateConfig, EvaluateRequest, InferenceConfig, InferenceRequest
from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from google.adk.evaluation.local_eval_service import LocalEvalService
from google.adk.events.event import Event
from google.genai import types


class Adder(BaseAgent):
    """Calls its tool by name and answers, without a model."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        prompt = ctx.user_content.parts[0].text
        call = types.FunctionCall(name="add", args={"a": prompt})
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            content=types.Content(role="model", parts=[types.Part(function_call=call)]),
        )
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            content=types.Content(role="model", parts=[types.Part(text=prompt)]),
        )


def _content(text: str, role: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


async def main(n: int) -> None:
    manager = InMemoryEvalSetsManager()
    manager.create_eval_set("bench", "sums")
    for place in range(n):
        sum_text = f"{place} and {place}"
        uses = IntermediateData(tool_uses=[types.FunctionCall(name="add", args={"a": sum_text})])
        turn = Invocation(
            user_content=_content(sum_text, "user"), final_response=_content(sum_text, "model"), intermediate_data=uses
        )
        manager.add_eval_case("bench", "sums", EvalCase(eval_id=f"c{place}", conversation=[turn]))
    service = LocalEvalService(root_agent=Adder(name="adder"), eval_sets_manager=manager)
    began = time.perf_counter()
    inference_request = InferenceRequest(
        app_name="bench", eval_set_id="sums", inference_config=InferenceConfig(parallelism=16)
    )
    answers = [answer async for answer in service.perform_inference(inference_request)]
    inferred = time.perf_counter()
    metrics = [
        EvalMetric(metric_name=name, threshold=0.8) for name in ("tool_trajectory_avg_score", "response_match_score")
    ]
    evaluate_request = EvaluateRequest(
        inference_results=answers, evaluate_config=EvaluateConfig(eval_metrics=metrics, parallelism=16)
    )
    results = [result async for result in service.evaluate(evaluate_request)]
    end = time.perf_counter()
    assert len(results) == n
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"asked_s": inferred - began, "judged_s": end - inferred, "peak_mb": peak_mb}))


asyncio.run(main(int(sys.argv[1])))
