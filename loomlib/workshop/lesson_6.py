"""Lesson 6, four protocols: the same calculator over HTTP, MCP and A2A, and an agent whose user decides over AG-UI."""

from __future__ import annotations

from typing import Final

from ..presentation.formats import number
from ..workbench import Invocation, Workbench
from ..workbench.a2a_client import A2aCall
from ..workbench.protocol_call import ProtocolCall
from .exercise import Exercise, a_number, an, expect, quoted

_CALL: Final = 'a tool call, which is what mcp.call("…", …) returns'
BILL: Final = 84
"""The amount of the bill that is split in the lesson."""


def _called(answer: object, bench: Workbench) -> str:
    call = an(answer, ProtocolCall, _CALL)
    expect(call.ok, f"the call failed: {call.error}")
    expect(call.title.startswith("calculator("), f"this calls {quoted(call.title)}; the exercise asks for calculator.")
    expect(str(call.value) == "1764", f"it returned {quoted(str(call.value))}; 42 times 42 is 1764.")
    return "no model was involved: over MCP, you choose the tool and its arguments yourself."


def _answered(answer: object, bench: Workbench) -> str:
    call = an(answer, ProtocolCall, _CALL)
    questions = [entry for entry in call.entries if entry.method == "elicitation/create"]
    expect(
        bool(questions),
        "the server did not ask a question: only split_bill does, and only if the client has on_elicit.",
    )
    expect(call.ok, f"the server asked, but the call failed: {call.error or quoted(call.text)}. Does on_elicit answer?")
    people = BILL / float(call.value)
    expect(people.is_integer(), f"it returned {quoted(str(call.value))}; split a bill of {BILL}.")
    return f"the server asked while its tool was running, and your function answered: {number(people)} people."


def _predicted(answer: object, bench: Workbench) -> str:
    count = a_number(answer, "a number: how many messages a call takes when the server asks a question")
    expect(count >= 1, "the call itself is already a message.")
    return "noted. Any prediction is fine; the next cell shows the messages."


def _sent(answer: object, bench: Workbench) -> str:
    call = an(answer, A2aCall, 'a message and its answer, which is what a2a.send("…") returns')
    expect(call.ok, f"the message failed: {call.error}")
    expect(call.state == "completed", f"the task is {call.state}, not completed.")
    text = call.task.text
    expect("1764" in text.replace(",", ""), f"the task's artifact is {quoted(text)}; 42 times 42 is 1764.")
    return "the answer is a task with an artifact. A task has a state, and callers can query it by its id."


def _delegated(answer: object, bench: Workbench) -> str:
    inv = an(answer, Invocation, 'an invocation, which is what orchestrator.invoke("…") returns')
    expect(inv.ok, f"the call failed: {inv.error or inv.sentence()}")
    names = [tool_call.name for tool_call in inv.trace().trajectory().tool_calls]
    expect(
        "ask_calculator" in names,
        f"the answer is {quoted(inv.text)}, but no agent was called: ask it to calculate something, with a *.",
    )
    expect("1764" in inv.text.replace(",", ""), f"it answered {quoted(inv.text)}; 42 times 42 is 1764.")
    return "its tool is another agent, which it found by its card; it sent a message and passed the answer on."


def _approved(answer: object, bench: Workbench) -> str:
    inv = an(answer, Invocation, "the invocation that answered the question, which is what agui.confirm(…) returns")
    expect(inv.ok, f"the call failed: {inv.error or inv.sentence()}")
    run = inv.protocols.agui()
    expect(run.status != "interrupted", "this run is still waiting for the user; agui.confirm(…) answers it.")
    results = [str(tool.result) for tool in run.tools if tool.result]
    expect(bool(results), "no tool ran in this run. Is it the run that answers the question?")
    expect(any("Ordered" in result for result in results), f"nothing was ordered: {quoted(results[0])}.")
    return "the run stopped at an interrupt, and a second run of the same thread continued from there."


EXERCISES: Final = (
    Exercise(
        id="6.1",
        title="Call a tool without a model",
        hints=(
            "mcp.tools() lists the tools with their arguments.",
            "mcp.call takes the tool's name, then its arguments by name.",
            'answer = mcp.call("calculator", expression="42 * 42")',
        ),
        judge=_called,
    ),
    Exercise(
        id="6.2",
        title="Predict: how many messages?",
        hints=(
            "The call and its result are two messages. The server asks a question in between.",
            "A question is a message, and so is its answer: answer = 4.",
        ),
        judge=_predicted,
    ),
    Exercise(
        id="6.3",
        title="Answer the server's question",
        hints=(
            "server.protocols.mcp needs on_elicit: a function that takes the question and returns the answer's fields.",
            'The question asks for the field people: on_elicit=lambda question: {"people": 4}',
            f'with server.protocols.mcp(on_elicit=lambda question: {{"people": 4}}) as mcp: '
            f'answer = mcp.call("split_bill", bill={BILL})',
        ),
        judge=_answered,
    ),
    Exercise(
        id="6.4",
        title="Send a message to an agent",
        hints=(
            "a2a.card() is the agent's card; a2a.send takes a question as a string.",
            "answer.state is the task's state, and answer.artifacts are its results.",
            'answer = a2a.send("What is 42 * 42?")',
        ),
        judge=_sent,
    ),
    Exercise(
        id="6.5",
        title="Delegate to another agent",
        hints=(
            "The orchestrator needs to know which agents it can call: its variable A2A_AGENTS contains ARNs.",
            "Ask it to calculate something: its tool is the other agent.",
            'answer = orchestrator.invoke("Calculate 42 * 42.")',
        ),
        judge=_delegated,
    ),
    Exercise(
        id="6.6",
        title="Let the user decide",
        hints=(
            "agui.questions are the questions at which the last run stopped.",
            "agui.confirm answers the question: approved=True or approved=False.",
            "answer = agui.confirm(approved=True)",
        ),
        judge=_approved,
    ),
)
