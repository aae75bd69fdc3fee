"""The machine's conditions of evaluation runs: each part of a stopped and resumed run keeps its own."""

from __future__ import annotations

import asyncio
import time

import pytest
from eval_runs import Says, sums

import loomlib as loom
from loomlib.evals.compare import gate_at_least
from loomlib.evals.runs import Budget, CallableTarget, EvalRun, rescore
from loomlib.experiments import StudyConditions, recorded_machine
from loomlib.reports import eval_notes
from loomlib.store import Store

BLOCKED_S = 0.25


class SaysInTime(Says):
    """An evaluator that judges durations."""

    time_limit_ms = 1000.0


async def answer(prompt: str) -> str:
    return str(sum(int(part) for part in prompt.split("+")))


async def interrupt(store: Store, count: int = 6) -> EvalRun:
    """Begin a run on a client that is late at every wake-up, and cancel it at its last case."""
    prompts: list[str] = []
    reached = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def agent(prompt: str) -> str:
        prompts.append(prompt)
        if len(prompts) == count:
            loop.call_soon_threadsafe(reached.set)
            await asyncio.sleep(600)
        time.sleep(BLOCKED_S)  # blocks the evaluation's event loop, as an overloaded machine does
        await asyncio.sleep(0)
        return await answer(prompt)

    target = CallableTarget(agent, key="adder")
    task = asyncio.create_task(
        loom.aevaluate(target, sums(count), [SaysInTime("in time"), Says()], run_id="r1", store=store, concurrency=1)
    )
    await asyncio.wait_for(reached.wait(), 120)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return EvalRun.load(store, "r1")


async def test_a_disturbed_part_stays_recorded_when_its_run_is_resumed(store: Store) -> None:
    interrupted = await interrupt(store)
    assert interrupted.state == "interrupted"
    (first,) = interrupted.summary().conditions.runs
    assert any("wake-up" in phrase for phrase in first.disturbances())
    assert interrupted.summary().timed == ("in time",)
    resumed = await loom.aevaluate(
        CallableTarget(answer, key="adder"), sums(6), [SaysInTime("in time"), Says()], run_id="r1", store=store
    )
    assert resumed.state == "complete"
    summary = resumed.summary()
    assert summary.conditions.runs[0] == first
    assert len(summary.conditions.runs) == 2
    assert summary.conditions.is_disturbed
    assert "of its 2 runs" in resumed._repr_html_()
    assert "the machine was overloaded" in gate_at_least(summary, 0.5, evaluator="in time").sentence()


def test_the_notes_of_a_report_name_the_isolation_of_sessions(store: Store) -> None:
    target = CallableTarget(answer, labels=("local AgentCore", "sessions: bubblewrap, network open"))
    notes = str(eval_notes(loom.evaluate(target, sums(2), Says(), store=store)))
    assert notes.count("Isolation of sessions: bubblewrap, network open.") == 1
    assert "The machine during the measurement" in notes


def test_a_run_that_its_budget_stopped_keeps_the_conditions_of_both_parts(store: Store) -> None:
    def agent(prompt: str) -> dict[str, object]:
        return {"text": prompt, "input_tokens": 1, "output_tokens": 1}

    target = CallableTarget(agent, key="adder")
    stopped = loom.evaluate(target, sums(40), Says(), budget=Budget(tokens=20), run_id="r1", store=store)
    assert stopped.state == "stopped"
    (first,) = stopped.summary().conditions.runs
    resumed = loom.evaluate(target, sums(40), Says(), run_id="r1", store=store)
    assert resumed.state == "complete"
    assert resumed.summary().conditions.runs[0] == first
    assert len(resumed.summary().conditions.runs) == 2


async def test_scoring_again_keeps_the_conditions_under_which_the_cases_were_asked(store: Store) -> None:
    interrupted = await interrupt(store)
    again = rescore(interrupted, [SaysInTime("in time")])
    assert again.summary().conditions == interrupted.summary().conditions
    assert again.summary().conditions.is_disturbed


async def test_conditions_are_stored_meanwhile_because_a_killed_process_stores_none_at_its_end() -> None:
    saved: list[StudyConditions] = []
    async with recorded_machine(StudyConditions(), saved.append, every_s=0.0) as record:
        record.save_when_due()
        assert len(saved) == 1
    async with recorded_machine(saved[0], saved.append) as record:
        record.save_when_due()
        assert len(saved) == 2, "not due yet"
    assert [len(conditions.runs) for conditions in saved] == [1, 1, 2]
    assert saved[2].runs[0] == saved[0].runs[0]
