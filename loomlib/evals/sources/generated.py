"""Cases that a model writes from a task description, with strands_evals' ExperimentGenerator."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from loomlib.errors import EvalError

from ..judges.model import ConverseJudge
from ..judges.strands_model import StrandsModel
from ..values.cases import EvalCase, Turn
from ..values.digests import digest_of
from ..values.eval_set import EvalSet
from .users import load_module


def generated_set(
    model: ConverseJudge,
    task: str,
    *,
    topics: Sequence[str] = (),
    context: str = "",
    count: int = 5,
    name: str = "generated",
) -> EvalSet:
    """Return cases that a model wrote.

    The expected answers are the model's own: review them before use. Cases are tagged "generated", those of the local
    scripted model also "simulated".

    Args:
        model: The model that writes the cases.
        task: What the agent does.
        topics: Topics of the cases; pass either topics or a context.
        context: A text that the cases are about and that contains the answers.
        count: The largest number of cases; duplicates are merged.
        name: The set's name.

    Raises:
        EvalError: The model wrote no case.
        ValueError: Both or neither of `topics` and `context` are passed, or `count` is below 1.

    Examples:
        >>> generated_set(ConverseJudge(clients=bench.clients), "Answers questions on parcels", topics=["prices"])
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    if bool(topics) == bool(context):
        raise ValueError("Pass either topics or a context")
    strands_model = StrandsModel(model)
    generators: Any = load_module("generators.experiment_generator")

    async def generate() -> Any:
        generator = generators.ExperimentGenerator(str, str, include_expected_output=True, model=strands_model)
        if topics:
            return await generator.from_scratch_async(list(topics), task, num_cases=count)
        return await generator.from_context_async(context, task, num_cases=count)

    with ThreadPoolExecutor(max_workers=1) as thread:  # a notebook already runs a loop
        experiment = thread.submit(lambda: asyncio.run(generate())).result()
    tags = ("generated", *(("simulated",) if strands_model.labels else ()))
    cases: dict[str, EvalCase] = {}
    for generated_case in experiment.cases:
        prompt = str(generated_case.input or "").strip()
        if prompt:
            case = EvalCase(
                id=f"generated-{digest_of(prompt)[:8]}",
                turns=(Turn(prompt=prompt, expected_answer=str(generated_case.expected_output or "") or None),),
                tags=tags,
                metadata={"generated": {"name": str(generated_case.name or ""), "by": model.model_id}},
                source="generated",
            )
            cases.setdefault(case.id, case)
    if not cases:
        raise EvalError("The model wrote no case", on=model.model_id, try_="another model, or more context")
    return EvalSet(name=name, cases=tuple(cases.values()), description=task, metadata={"source": "generated"})
