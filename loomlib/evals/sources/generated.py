"""Cases that a model writes from a description of the task, by strands_evals' generator."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from loomlib.errors import EvalError

from ..judges.strands_model import StrandsModel
from ..values.cases import EvalCase, Turn
from ..values.digests import digest_of
from ..values.eval_set import EvalSet
from .users import load_module

if TYPE_CHECKING:
    from ..judges.model import ConverseJudge


def generated_set(
    model: ConverseJudge,
    task: str,
    *,
    topics: Sequence[str] = (),
    context: str = "",
    count: int = 5,
    name: str = "generated",
) -> EvalSet:
    """`count` cases or fewer (two that ask the same are one) for an agent that does `task`, from strands_evals'
    ExperimentGenerator: about `topics`, or out of `context`, to be asked and answered by what it says.

        generated_set(ConverseJudge(clients=bench.clients), "Answers questions on parcels", topics=["prices"])

    What a case expects is the model's own answer: read it before it decides anything. Cases are tagged "generated",
    those of the local scripted model "simulated" too. Raises `EvalError` when the model wrote none.
    """
    if count < 1:
        raise ValueError(f"count is at least 1, not {count}")
    if bool(topics) == bool(context):
        raise ValueError("cases are written about topics or out of a context: give one of the two")
    asked = StrandsModel(model)
    generators: Any = load_module("generators.experiment_generator")

    async def generate() -> Any:
        made = generators.ExperimentGenerator(str, str, include_expected_output=True, model=asked)
        if topics:
            return await made.from_scratch_async(list(topics), task, num_cases=count)
        return await made.from_context_async(context, task, num_cases=count)

    with ThreadPoolExecutor(max_workers=1) as thread:  # a notebook's own loop is running already
        found = thread.submit(lambda: asyncio.run(generate())).result()
    tags = ("generated", *(("simulated",) if asked.labels else ()))
    cases: dict[str, EvalCase] = {}
    for each in found.cases:
        prompt = str(each.input or "").strip()
        if prompt:
            case = EvalCase(
                id=f"generated-{digest_of(prompt)[:8]}",
                turns=(Turn(prompt=prompt, expected_answer=str(each.expected_output or "") or None),),
                tags=tags,
                metadata={"generated": {"name": str(each.name or ""), "by": model.model_id}},
                source="generated",
            )
            cases.setdefault(case.id, case)
    if not cases:
        raise EvalError("The model wrote no case", on=model.model_id, try_="another model, or more context")
    return EvalSet(name=name, cases=tuple(cases.values()), description=task, metadata={"source": "generated"})
