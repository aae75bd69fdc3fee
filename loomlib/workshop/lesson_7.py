"""Lesson 7, move a Bedrock agent: assess, snapshot, generate and deploy it, and measure that it behaves the same."""

from __future__ import annotations

from typing import Final

from ..errors import LoomError
from ..imports.bedrock_agents.parity.agent_parity import AgentParity
from ..presentation.formats import join
from ..workbench import Agent, Workbench
from ..workbench.agent_snapshot import AgentSnapshotView
from ..workbench.bedrock_agent_reply import BedrockAgentReply
from .exercise import Exercise, NotSolvedError, an, expect, quoted, several

OLD: Final = "loom-shop"
STATUS: Final = "What is the status of order 4711?"
REFUND: Final = "Pay a refund of 25 euros for order 4711"
_CASES: Final = 5


def _taken_stock(answer: object, bench: Workbench) -> str:
    if not isinstance(answer, list | set | tuple) or not answer:
        raise NotSolvedError("the exercise asks for a list of feature names.")
    items: list[object] = list(answer)  # pyright: ignore[reportUnknownArgumentType]
    names = {an(item, str, "a list of feature names") for item in items}
    states = bench.bedrock.agents.get(OLD).features("live")
    changed = set(states[states["state"].isin(["approximated", "lost", "needs you"])]["feature"])
    expect(not names - changed, f"{join(sorted(names - changed))}: unchanged, or not used by the agent.")
    missing = len(changed - names)
    expect(not missing, f"the list is incomplete: {missing} missing. It also has the features of collaborators.")
    return f"{len(changed)} features work differently; the column reason explains how."


def _answered(answer: object, bench: Workbench) -> str:
    reply = an(answer, BedrockAgentReply, "a reply, which is what old.ask(…) and reply.answer(…) return")
    expect(
        not reply.requests, "the agent is waiting: it returned the call to you. Send the result with reply.answer({…})."
    )
    refund = "refund" in reply.text.lower() and "25" in reply.text
    expect(refund, f"it answered {quoted(reply.text)}. Ask it to pay a refund of 25 euros for order 4711.")
    return "Bedrock did not execute this call: it was returned to you, as to the applications that use the agent today."


def _snapshot(answer: object, bench: Workbench) -> str:
    snapshot = an(answer, AgentSnapshotView, 'a snapshot, which is what old.snapshot("…") returns')
    agent = snapshot.agent
    expect(agent.name == OLD, f"this is a snapshot of {agent.name}; the exercise asks for {OLD}.")
    expect(agent.version != "DRAFT", "this is the working draft, which can change. Which alias do users call?")
    return f"{agent.alias_name} points to version {agent.version}, which never changes, and neither does this snapshot."


def _deployed(answer: object, bench: Workbench) -> str:
    agent = an(answer, Agent, "the new agent, which is what plan.apply() returns")
    inv = agent.invoke(STATUS)
    if not inv.ok:
        raise LoomError("Your agent failed", on=str(inv.error), try_="agent.telemetry.logs(), its log lines")
    expect("shipped" in inv.text, f"asked for the status of order 4711, it answered {quoted(inv.text)}.")
    names = [call.name for call in inv.trace().trajectory().tool_calls]
    expect("order_desk" in names, f"it called {join(names) or 'no tool'}, not its collaborator order_desk.")
    return "the same Lambda function was called with the same event, by code that you can read and change."


def _compared(answer: object, bench: Workbench) -> str:
    parity = an(answer, AgentParity, "a comparison, which is what old.parity(…) returns")
    share = parity.share
    expect(share.cases >= _CASES - 1, f"only {share.cases} cases have a verdict; run all {_CASES} of the example.")
    expect(not parity.differing, f"different behaviour: {join([item.pair.case.id for item in parity.differing])}.")
    alike, outcome = f"{share.alike} of {share.judged} behave alike", parity.gate.outcome
    return f"{alike}, and the gate is {outcome}: too few cases to show that 95 % do."


def _found(answer: object, bench: Workbench) -> str:
    parity, case = several(answer, object, 2, "a list of a comparison and a case id: [parity, case]")
    compared = an(parity, AgentParity, "a comparison, which is what old.parity(…) returns")
    name = an(case, str, "the id of a case, as a string")
    differing = {item.pair.case.id: item for item in compared.differing}
    expect(bool(differing), "no case differs: is the changed agent deployed, and did you compare with it?")
    expect(name in differing, f"{quoted(name)} behaves alike. parity.differing has the cases that differ.")
    changes, reasons = join([f"the {part}" for part in differing[name].parts]), "; ".join(differing[name].reasons)
    return f"in the case {name}, {changes} changed ({reasons})."


EXERCISES: Final = (
    Exercise(
        id="7.1",
        title="Which features will work differently?",
        hints=(
            'old.features("live") has one row for each feature of the agent and of its collaborators.',
            "The column state says what becomes of a feature: kept, approximated, lost, needs you or unused.",
            'states = old.features("live"); '
            'answer = list(states[states["state"] == "approximated"]["feature"].unique())',
        ),
        judge=_taken_stock,
    ),
    Exercise(
        id="7.2",
        title="Answer a call that the agent returns",
        hints=(
            f'reply = old.ask("{REFUND}", alias="live") returns a call: reply.requests shows it.',
            "reply.answer takes the result of each call by its name, and returns the next reply.",
            'answer = reply.answer({"pay_refund": "The refund of 25 euros was paid."})',
        ),
        judge=_answered,
    ),
    Exercise(
        id="7.3",
        title="Take a snapshot that cannot change",
        hints=(
            "A version of an agent never changes, but its working draft can.",
            "Users call the alias live, which points to a version.",
            'answer = old.snapshot("live")',
        ),
        judge=_snapshot,
    ),
    Exercise(
        id="7.4",
        title="Generate the new agent, and deploy it",
        hints=(
            'snapshot.generate(check.folder / "shop", framework="strands") writes its code.',
            'bench.plan(check.folder / "shop") shows what would be created; plan.apply() creates it.',
            'answer = bench.plan(check.folder / "shop").apply()',
        ),
        judge=_deployed,
    ),
    Exercise(
        id="7.5",
        title="Measure it",
        hints=(
            'cases = bench.bedrock.agents.example_cases("shop") returns five cases.',
            "old.parity runs the same cases with both agents, and compares the answers in pairs.",
            'answer = old.parity(new, cases, alias="live", imported=snapshot.agent)',
        ),
        judge=_compared,
    ),
    Exercise(
        id="7.6",
        title="Find what a change broke",
        hints=(
            "Compare again, this time with the changed agent.",
            "parity.differing has the pairs that differ; item.pair.case.id is the id of a case.",
            'parity = old.parity(changed, cases, alias="live", imported=snapshot.agent); '
            "answer = [parity, parity.differing[0].pair.case.id]",
        ),
        judge=_found,
    ),
)
