"""Evaluations beside those of strands_evals, ADK and Inspect: the same number of cases and two deterministic judges."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .table import Row

OTHERS = Path(os.environ.get("LOOM_BENCH_OTHERS", ".venv-others")) / "bin" / "python"
_HERE = Path(__file__).parent

_OURS = """
import json, sys, tempfile, time
import loomlib as loom
from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn
from loomlib.evals.runs import Silent
from loomlib.store import Store

def make(n):
    return EvalSet(name="sums", cases=tuple(
        EvalCase(id=f"c{i}", turns=(Turn(prompt=f"{i} and {i}", expected_answer=f"{i} and {i}",
            expected_tools=(ExpectedTool(name="add", arguments={"a": f"{i} and {i}"}),)),)) for i in range(n)))

def agent(prompt):
    return {"text": prompt, "tools": [{"name": "add", "arguments": {"a": prompt}}]}

n, times = int(sys.argv[1]), []
with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/loom.db") as store:
    def run(evalset, **more):
        began = time.perf_counter()
        done = loom.evaluate(agent, evalset, ["exact", "trajectory"], store=store, progress=Silent(), **more)
        return done, time.perf_counter() - began
    run(make(10))
    for _ in range(int(sys.argv[2])):
        done, taken = run(make(n))
        times.append(taken)
    resumed = run(make(n), run_id=done.id)[1]
    summary = done.summary()
    assert summary["exact"].scored == summary["trajectory"].scored == n, str(summary)
    assert summary["trajectory"].pass_rate.low > 0.9
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1e3
print(json.dumps({"times": times, "resumed": resumed, "peak_mb": peak}))
"""

_STRANDS = """
import json, sys, tempfile, time
began = time.perf_counter()
from strands_evals import Case, Experiment, LocalFileTaskResultStore
from strands_evals.evaluators import Evaluator
from strands_evals.types.evaluation import EvaluationOutput
imported = time.perf_counter() - began

class Exact(Evaluator):
    def evaluate(self, data):
        return [EvaluationOutput(score=float(data.actual_output == data.expected_output), test_pass=True, reason="")]
    async def evaluate_async(self, data):
        return self.evaluate(data)

class Path_(Exact):
    def evaluate(self, data):
        right = data.actual_trajectory == data.expected_trajectory
        return [EvaluationOutput(score=float(right), test_pass=right, reason="")]

n, times = int(sys.argv[1]), []
for _ in range(int(sys.argv[2])):
    cases = [Case(name=f"c{i}", input=f"{i} and {i}", expected_output=f"{i} and {i}", expected_trajectory=["add"])
             for i in range(n)]
    experiment = Experiment(cases=cases, evaluators=[Exact(), Path_()])
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        experiment.run_evaluations(lambda case: {"output": case.input, "trajectory": ["add"]},
                                   evaluation_data_store=LocalFileTaskResultStore(folder))
        times.append(time.perf_counter() - began)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1e3
print(json.dumps({"times": times, "imported": imported, "peak_mb": peak}))
"""


def rows(repeats: int = 5) -> Iterator[Row]:
    loom_figures = _measured([sys.executable, "-c", _OURS, "1000", str(repeats)])
    small = statistics.median(loom_figures["times"])
    yield Row(
        what=f"1,000 cases × 2 judges asked, judged, stored, with intervals; peak {loom_figures['peak_mb']:.0f} MB",
        ours=f"{small:.3f} s",
        aim="≤ 0.15 s",
        met=small <= 0.15,
        n=repeats,
    )
    strands = _measured([sys.executable, "-c", _STRANDS, "1000", str(repeats)])
    yield _beside("strands_evals with its file store", small, statistics.median(strands["times"]), strands, repeats)
    if OTHERS.exists():
        adk = _measured([str(OTHERS), str(_HERE / "others" / "adk_service.py"), "1000"])
        yield _beside("ADK's service, nothing stored", small, adk["asked_s"] + adk["judged_s"], adk, 1)
        yield _beside("ADK's service, judging alone", small, adk["judged_s"], adk, 1)
        inspect = _measured([str(OTHERS), str(_HERE / "others" / "inspect_task.py"), "1000"])
        yield _beside("Inspect, log written", small, inspect["whole_s"], inspect, 1)
    else:
        yield Row(what="beside ADK's service and Inspect", ours="not measured: make bench-others", met=None)
    large = _measured([sys.executable, "-c", _OURS, "100000", "1"])
    yield Row(
        what=f"100,000 cases × 2 judges, the same; peak {large['peak_mb']:.0f} MB",
        ours=f"{large['times'][0]:.1f} s",
        aim="≤ 12 s, ≤ 500 MB",
        met=large["times"][0] <= 12 and large["peak_mb"] <= 500,
        n=1,
    )
    yield Row(
        what="a finished run of 100,000 cases resumed",
        ours=f"{large['resumed']:.2f} s",
        aim="≤ 1 s",
        met=large["resumed"] <= 1,
        n=1,
    )


def agents(laboratory: Any, count: int = 200, rounds: int = 2) -> Iterator[Row]:
    """200 cases against the local service beside a bare loop of as many calls at once, in turns."""
    import loomlib as loom
    from loomlib.evals import EvalCase, EvalSet, Turn
    from loomlib.evals.runs import Silent

    evalset = EvalSet(
        name="echoes",
        cases=tuple(
            EvalCase(id=str(place), turns=(Turn(prompt=f"say {place}", expected_answer=str(place)),))
            for place in range(count)
        ),
    )
    with loom.connect(home=laboratory.home) as bench:
        agent = bench.register(laboratory.arns["bare"])
        at_once = agent.targets.eval_target().concurrency
        options: dict[str, Any] = {"reuse": False, "measure": False, "progress": Silent()}
        durations_s: dict[str, list[float]] = {"bare": [], "ours": []}
        for _ in range(rounds):
            began = time.perf_counter()
            sessions = asyncio.run(_bare(agent, evalset, at_once))
            durations_s["bare"].append(time.perf_counter() - began)
            for session_id in sessions:
                agent.end_session(session_id)
            began = time.perf_counter()
            run = agent.evaluate(evalset, ["contains"], **options)
            durations_s["ours"].append(time.perf_counter() - began)
            assert run.summary()["contains"].scored == count
    ratio = statistics.median(b / o for b, o in zip(durations_s["bare"], durations_s["ours"], strict=True))
    yield Row(
        what=f"{count} cases, {at_once} at once, a session each; ours ends them, the loop's end untimed",
        ours=f"{count / statistics.median(durations_s['ours']):.0f} a second",
        reference=f"bare loop {count / statistics.median(durations_s['bare']):.0f} a second",
        compared=f"{ratio:.2f} of its throughput",
        aim="≥ 0.9",
        met=ratio >= 0.9,
        n=rounds,
    )


async def _bare(agent: Any, evalset: Any, at_once: int) -> list[str]:
    turns = asyncio.Semaphore(at_once)

    async def one(prompt: str) -> str:
        async with turns:
            inv = await agent.ainvoke(prompt)
            assert inv.text
            return inv.session_id

    return await asyncio.gather(*(one(case.prompt) for case in evalset))


def _beside(subject: str, ours_s: float, theirs_s: float, figures: dict[str, Any], n: int) -> Row:
    return Row(
        what=f"1,000 cases beside {subject} (peak {figures['peak_mb']:.0f} MB)",
        ours=f"{ours_s:.3f} s",
        reference=f"{theirs_s:.3f} s",
        compared=f"× {theirs_s / ours_s:.1f} as fast",
        aim="faster" if "judging alone" not in subject and "Inspect" not in subject else "",
        met=None if "judging alone" in subject or "Inspect" in subject else ours_s < theirs_s,
        n=n,
    )


def _measured(command: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
        environment = {**os.environ, "PYTHONPATH": str(_HERE.parents[1]), "LOOM_HOME": folder}
        process = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    if process.returncode:
        raise RuntimeError(process.stderr[-2000:])
    return json.loads(process.stdout.splitlines()[-1])
