"""Lesson 1, your first agent: deploy, invoke, continue a session, find the cold start, write an agent."""

from __future__ import annotations

from typing import Final

from ..errors import LoomError
from ..presentation.formats import milliseconds
from ..workbench import Agent, Invocation, Workbench
from ..workbench.agent_history import AgentHistory
from .exercise import Exercise, a_number, an, expect, quoted, several

_INVOCATION: Final = 'an invocation, which is what agent.invoke("…") returns'
PRICES: Final = {"apple": 30, "pear": 45, "quince": 80}
"""Prices of fruit in cents, as in the agent that is written in the lesson."""


def _deployed(answer: object, bench: Workbench) -> str:
    agent = an(answer, Agent, 'an agent, which is what bench.deploy("…") returns')
    expect(agent.name == "writer", f"this is {agent.name}; the exercise asks for the blueprint that writes texts.")
    expect(agent.refresh().status == "READY", f"the runtime is {agent.status}.")
    return (
        f"the service lists {agent.entry.runtime_id} as {agent.status}, and a process starts with the first invocation."
    )


def _asked(answer: object, bench: Workbench) -> str:
    inv = an(answer, Invocation, _INVOCATION)
    expect(inv.ok, f"the call failed: {inv.sentence()}")
    names = [tool_call.name for tool_call in inv.trace().trajectory().tool_calls]
    expect(
        "calculator" in names,
        f"the answer is {quoted(inv.text)}, but no tool was called: ask for a multiplication, with a *.",
    )
    expect("1764" in inv.text.replace(",", ""), f"it answered {quoted(inv.text)}; 42 times 42 is 1764.")
    return "its trace shows a tool call: the model chose the tool, and your agent's code did the calculation."


def _went_on(answer: object, bench: Workbench) -> str:
    first, second = several(answer, Invocation, 2, "two invocations in a list: [first, second]")
    expect(first.ok and second.ok, "one of the two failed; its .error says why.")
    expect(first.record.id != second.record.id, "this is the same invocation twice.")
    expect(
        first.session_id == second.session_id,
        "each has its own session, so the second does not know the first.",
    )
    expect((first.record.id or 0) < (second.record.id or 0), "the order is wrong: first, then second.")
    return "both are in one session: one process served both, and it was warm for the second."


def _cold(answer: object, bench: Workbench) -> str:
    inv = an(answer, Invocation, "the invocation that opened a session")
    rows = AgentHistory(inv.context, inv.entry).conversation(inv.session_id)
    expect(len(rows) > 1, "this session has only one call, so there is no warm call to compare it with.")
    expect(rows[0].record.id == inv.record.id, "this is a later call of its session: the process was already running.")
    start = inv.latency()
    expect(start.cold_start_latency_ms is not None, f"its start could not be found ({start.state}).")
    waited, whole, again = start.cold_start_latency_ms or 0.0, inv.duration_ms or 0.0, rows[1].duration_ms or 0.0
    return (
        f"{milliseconds(waited)} of its {milliseconds(whole)} passed before your agent's first line ran; "
        f"the next call of that session took {milliseconds(again)}."
    )


def _written(answer: object, bench: Workbench) -> str:
    agent = an(answer, Agent, 'your agent, which is what bench.deploy(check.folder / "fruit_shop") returns')
    wrong: list[str] = []
    session: str | None = None
    for fruit, cents in PRICES.items():
        inv = agent.invoke(f"What is the price of one {fruit}?", session_id=session)
        if not inv.ok:
            raise LoomError(
                "Your agent failed", on=str(inv.error), try_="agent.telemetry.logs(), the log lines of your agent"
            )
        session = inv.session_id
        if str(cents) not in inv.text:
            wrong.append(f"asked for the price of one {fruit}, it answered {quoted(inv.text)}")
    call_count = sum(
        len(trace.trajectory().tool_calls) for trace in agent.telemetry.traces(len(PRICES), session_id=session)
    )
    expect(call_count > 0, "it was asked for three prices and called no tool. Is the tool in tools=[…]?")
    silent = any(answer.endswith((": null.”", ": None.”")) for answer in wrong)
    fix = "Does the tool return the price?" if silent else "The tool should return the price from PRICES, in cents."
    expect(not wrong, f"{'; '.join(wrong[:2])}. {fix}")
    return f"asked for {len(PRICES)} prices, your agent called its tool {call_count} times and answered all of them."


def _predicted(answer: object, bench: Workbench) -> str:
    factor = a_number(answer, "a number: how many times longer the first call of a session takes")
    expect(factor > 0, "a call cannot take less than 0 ms.")
    calculators = [row for row in bench.context.catalog.list() if row.name == "calculator"]
    expect(bool(calculators), 'there is no calculator yet. Deploy it: bench.deploy("calculator").')
    agent = bench.agent("calculator")
    expect(
        not bench.context.store.invocations.list(agent_id=agent.entry.id, limit=1) or factor >= 1,
        "a first call has more to do than a later one: can it be shorter?",
    )
    return "noted. Any prediction is fine; the next cells show the measured value."


EXERCISES: Final = (
    Exercise(
        id="1.1",
        title="Deploy a second agent",
        hints=(
            "bench.blueprints() lists the agents that can be deployed by name, with descriptions.",
            "The blueprint that writes texts of a given length is called writer.",
            'answer = bench.deploy("writer")',
        ),
        judge=_deployed,
    ),
    Exercise(
        id="1.2",
        title="Make it use its tool",
        hints=(
            "agent.invoke takes the question as a string; its return value is the answer to this exercise.",
            "The question must contain a multiplication, such as: What is 3 * 4?",
            'answer = agent.invoke("What is 42 * 42?")',
        ),
        judge=_asked,
    ),
    Exercise(
        id="1.3",
        title="Predict: how much longer does the first call take?",
        hints=(
            "The first call waits until its session is restored, and your agent does some things for the first time.",
            "Any number from 1 is accepted: answer = 5 means “five times as long”.",
        ),
        judge=_predicted,
    ),
    Exercise(
        id="1.4",
        title="Continue a session",
        hints=(
            "Every invocation has a session_id.",
            "agent.invoke takes session_id=… and continues that session.",
            'first = agent.invoke("What is 6 * 7?"); answer = [first, agent.invoke("What is 2 + 2?", '
            "session_id=first.session_id)]",
        ),
        judge=_went_on,
    ),
    Exercise(
        id="1.5",
        title="Find the cold call",
        hints=(
            "The first call of a session is the cold one: it waited for the session to start.",
            "Exercise 1.4 created a session with two calls.",
            "answer = first, if first is the first of the two invocations of exercise 1.4",
        ),
        judge=_cold,
    ),
    Exercise(
        id="1.6",
        title="Write an agent that knows prices",
        hints=(
            "The tool gets the name of a fruit and should return its price from PRICES, which is defined above it.",
            "In price, return the value of PRICES for fruit, in a sentence. Then rerun the cell that writes "
            "the file and the cell that deploys it.",
            'return f"One {fruit} costs {PRICES[fruit]} cents."',
        ),
        judge=_written,
    ),
)
