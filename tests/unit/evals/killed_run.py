"""A run in a process of its own, to be killed: notes every question before it is answered."""

from __future__ import annotations

import asyncio
import os

from eval_runs import Says, SaysLater, sums

import loomlib as loom
from loomlib.evals.runs import CallableTarget

COUNT = 60


def main(database: str, asked: str, pace_s: str) -> None:
    """Complete the run; `asked` gets a line for each question, written by one system call."""
    notes = os.open(asked, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def agent(prompt: str) -> str:
        await asyncio.sleep(float(pace_s))
        os.write(notes, f"{prompt}\n".encode())
        return str(sum(int(term) for term in prompt.split("+")))

    target = CallableTarget(agent, key="adder")
    run = loom.evaluate(target, sums(COUNT), [Says(), SaysLater("later")], run_id="run", store=database)
    assert run.state == "complete"
