"""A latency study in a process of its own, to be killed: it notes every timed call before it is answered."""

from __future__ import annotations

import os
from collections.abc import Sequence

from latency_agent import Reply, ScriptedAgent

from loomlib.latency import LatencyStudy, Silent
from loomlib.store import Store

CALLS = 30


def run(url: str, notes: str) -> None:
    """Run the study, or go on with it; each timed call gets a line in the file of notes by one system call."""
    notes_fd = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def reply(number: int, labels: Sequence[str]) -> Reply:
        if "timed" in labels:
            position = next(label for label in labels if label.startswith("position:"))
            os.write(notes_fd, f"{position}\n".encode())
        return Reply(duration_ms=10 + number, delay_s=0.005)

    with Store.open(url) as store:
        agent = ScriptedAgent(store, script=reply)
        per_scenario = CALLS // 3
        LatencyStudy(
            agent, cold=per_scenario, warm=per_scenario, sticky=per_scenario, study_id="killed", find_starts=False
        ).run(Silent())
