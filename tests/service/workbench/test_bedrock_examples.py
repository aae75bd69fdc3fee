"""The examples of Bedrock Agents that ship with Loom are made by one call, and not a second time."""

from __future__ import annotations

from typing import Any

import pytest

import loomlib as loom
from loomlib.aws.bedrock_agent_examples import create_agents
from loomlib.errors import ConflictError, ResourceNotFoundError
from loomlib.workbench.bedrock_examples import read_example
from tests.bedrock_agent_shapes import SHAPES_BY_NAME, create_shape
from tests.bedrock_agent_shapes.parts import ORDER_STATUS, declaration, functions
from tests.bedrock_agent_shapes.parts import agent as declare


def test_the_shop_is_made_by_one_call_and_answers(bench: loom.Workbench) -> None:
    agents = bench.bedrock.agents
    shop = agents.create_example("shop")
    assert "shipped" in shop.ask("What is the status of order 4711?", alias="live").text
    response = shop.ask("Pay a refund of 25 euros for order 4711", alias="live")
    assert [(request.name, request.agent) for request in response.requests] == [
        ("pay_refund", "return_and_refund_desk")
    ]
    assert "was paid" in response.answer({"pay_refund": "The refund was paid."}).text
    before = agents.table()
    assert agents.create_example("shop").value.id == shop.value.id
    assert list(agents.table()["id"]) == list(before["id"])


def test_the_cases_of_the_shop_are_answered_without_a_person(bench: loom.Workbench) -> None:
    shop = bench.bedrock.agents.create_example("shop")
    cases = bench.bedrock.agents.example_cases("shop")
    scores = shop.evaluate(cases, alias="live").scores()
    assert list(scores["value"]) == [1.0] * len(cases.cases)


def test_an_agent_that_is_left_half_made_is_made_again(bench: loom.Workbench) -> None:
    agents = bench.bedrock.agents
    before = agents.create_example("shop")
    control = bench.clients.client("bedrock-agent")
    arn = f"arn:aws:bedrock:{bench.clients.region}:{bench.clients.account_id()}:agent/{before.value.id}"
    control.untag_resource(resourceArn=arn, tagKeys=["loom:digest"])
    after = agents.create_example("shop")
    assert after.value.id != before.value.id
    assert list(agents.table()["name"]).count("loom-shop") == 1


def test_a_creation_that_is_stopped_anywhere_is_completed_by_the_next(bench: loom.Workbench) -> None:
    shop = read_example("shop")
    for agent in shop["agents"]:
        if agent["name"] in set(bench.bedrock.agents.table()["name"]):
            bench.bedrock.agents.delete(agent["name"])
    lines = list[str]()
    for stop in range(len(shop["functions"]) + len(shop["knowledge_bases"]) + len(shop["agents"])):

        def progress(line: str, *, stop: int = stop, begun: int = len(lines)) -> None:
            lines.append(line)
            if len(lines) - begun > stop:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            create_agents(bench.clients, shop, progress=progress)
    created = create_agents(bench.clients, shop)
    names = list(bench.bedrock.agents.table()["name"])
    assert [names.count(name) for name in created.agents] == [1] * len(shop["agents"])
    assert (
        "shipped" in bench.bedrock.agents.get("loom-shop").ask("What is the status of order 4711?", alias="live").text
    )
    assert create_agents(bench.clients, shop) == created


def test_an_agent_of_somebody_else_is_left_alone(bench: loom.Workbench) -> None:
    agents = bench.bedrock.agents
    shop = agents.create_example("shop")
    control = bench.clients.client("bedrock-agent")
    arn = f"arn:aws:bedrock:{bench.clients.region}:{bench.clients.account_id()}:agent/{shop.value.id}"
    control.untag_resource(resourceArn=arn, tagKeys=["loom:example"])
    with pytest.raises(ConflictError, match="does not belong to this example"):
        agents.create_example("shop")
    control.tag_resource(resourceArn=arn, tags={"loom:example": "shop"})
    with pytest.raises(ResourceNotFoundError, match="one of shop"):
        agents.create_example("nothing")


def test_what_has_changed_in_a_declaration_is_brought_up_to_date(bench: loom.Workbench) -> None:
    def agent(text: str, rule: str, word: str) -> Any:
        code = f"""
def handler(event, context):
    body = {{"TEXT": {{"body": "{text}"}}}}
    answer = {{"actionGroup": event["actionGroup"], "function": event["function"],
               "functionResponse": {{"responseBody": body}}}}
    return {{"messageVersion": "1.0", "response": answer}}
"""
        declared = declaration(
            "changing",
            declare(
                "changing",
                {**functions("orders", ORDER_STATUS), "actionGroupExecutor": {"lambda": "@function:changing"}},
                knowledge_bases=[
                    {"knowledgeBaseId": "@knowledge_base:changing", "description": "Search the rules about parcels"}
                ],
                guardrailConfiguration={"guardrailIdentifier": "@guardrail:changing", "guardrailVersion": "1"},
            ),
            functions={"changing": code},
            knowledge_bases={"changing": {"rule": rule}},
            guardrails={
                "changing": {
                    "wordPolicyConfig": {"wordsConfig": [{"text": word}]},
                    "blockedInputMessaging": "Blocked.",
                    "blockedOutputsMessaging": "Blocked.",
                }
            },
        )
        create_agents(bench.clients, declared)
        return bench.bedrock.agents.get("changing")

    agent("It is lost.", "Parcels are blue.", "banana")
    changed = agent("It is found.", "Parcels are green.", "cherry")
    assert "It is found." in changed.ask("What is the status of order 4711?", alias="live").text
    assert "green" in changed.ask("Search the rules about parcels", alias="live").text
    assert changed.ask("cherry", alias="live").text == "Blocked."
    assert changed.ask("banana", alias="live").text != "Blocked."


def test_what_an_agent_remembers_is_read_and_forgotten(bench: loom.Workbench) -> None:
    create_shape(bench.clients, SHAPES_BY_NAME["memory"])
    agent = bench.bedrock.agents.get("shape-memory")
    reply = agent.ask("My name is Zoe.", memory_id="zoe", alias="live")
    memory = agent.memory("zoe", alias="live")
    assert memory.table().empty
    memory.end_session(reply.session_id)
    (row,) = memory.table().to_dict("records")
    assert row["session_id"] == reply.session_id
    assert "Zoe" in row["text"]
    assert "Zoe" in agent.ask("What is my name?", memory_id="zoe", alias="live").text
    memory.forget()
    assert memory.table().empty


def test_steps_show_code_and_the_steps_around_the_orchestration(bench: loom.Workbench) -> None:
    for name in ("code-interpreter", "prompt-overrides"):
        create_shape(bench.clients, SHAPES_BY_NAME[name])
    agents = bench.bedrock.agents
    steps = agents.get("shape-code-interpreter").ask('Execute the Python code "print(6 * 7)"', alias="live").steps
    (code,) = steps[steps["name"] == "code"].to_dict("records")
    assert (code["input"], code["output"]) == ("print(6 * 7)", "42")
    program = "open('sum.txt', 'w').write(str(sum(map(int, open('numbers.txt')))))"
    coder = agents.get("shape-code-interpreter")
    reply = coder.ask(f'Execute the Python code "{program}"', alias="live", files={"numbers.txt": b"1\n2\n"})
    assert reply.files == {"sum.txt": b"3"}
    steps = agents.get("shape-prompt-overrides").ask("What is the status of order 4711?", alias="live").steps
    assert list(steps["kind"]) == ["model", "model", "action", "model", "answer", "model"]
