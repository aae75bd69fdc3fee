"""An Inspect task of N samples with two deterministic scorers: seconds, as JSON. Runs in its own environment."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import exact, includes
from inspect_ai.solver import Generate, TaskState, solver


@solver
def answering():
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output.completion = state.input_text
        return state

    return solve


n = int(sys.argv[1])
task = Task(
    dataset=MemoryDataset([Sample(id=str(place), input=f"{place}", target=f"{place}") for place in range(n)]),
    solver=answering(),
    scorer=[exact(), includes()],
)
began = time.perf_counter()
with tempfile.TemporaryDirectory() as folder:
    (log,) = eval(task, model="mockllm/model", log_dir=folder, display="none", max_samples=100)
assert log.status == "success", log.error
taken = time.perf_counter() - began
print(json.dumps({"whole_s": taken, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
