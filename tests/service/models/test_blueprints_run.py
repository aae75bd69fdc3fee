"""Every blueprint, unchanged and as its own process, against the scripted model."""

from __future__ import annotations

import re


def test_the_calculator_streams_an_exact_answer(start_blueprint) -> None:
    agent = start_blueprint("calculator")
    assert "597" in agent.text("15*37, add 42")


def test_the_first_thing_an_invocation_logs_is_its_start_time(start_blueprint) -> None:
    agent = start_blueprint("calculator")
    agent.text("What is 2+2?", session_id="start-line-" + "x" * 30)
    line = next(
        line
        for line in agent.log.read_text().splitlines()
        if line.startswith("Agent invoked") and "start-line-" in line
    )
    assert re.match(
        r"Agent invoked - Start time: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00, Session ID: start-line-x+, Request ID: \S+",
        line,
    )
