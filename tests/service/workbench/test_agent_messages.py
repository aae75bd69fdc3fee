"""Agents of other forms: probed, asked, evaluated and measured on the local AgentCore."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import loomlib as loom
from loomlib.errors import LoomError
from loomlib.workbench import Agent, Workbench

AGENT = """
import os

from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()
FORM = os.environ["FORM"]


def total(text):
    words = text.replace("?", " ").split()
    return sum(int(word) for word in words if word.isdecimal())


@app.entrypoint
def invoke(payload, context):
    if FORM == "toolkit":
        return {"result": {"response": f"It is {total(payload['message'])}."}, "message": "success"}
    if FORM == "graph":
        question = payload["input"]["messages"][-1]["content"]
        return {"output": {"steps": [question], "final": f"It is {total(question)}."}, "message": "done"}
    if FORM == "in band":
        if "question" not in payload:
            return {"status": "failed", "reason": "question is required"}
        return {"status": "ok", "data": {"says": f"It is {total(payload['question'])}."}}
    if FORM == "usual":
        return f"It is {total(payload['prompt'])}."
    return "Hello, how can I help?"


app.run()
"""


@pytest.fixture(scope="module")
def deployed(bench: Workbench, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Agent]:
    folder = tmp_path_factory.mktemp("forms")
    (folder / "agent.py").write_text(AGENT)
    agents: dict[str, Agent] = {}

    def deploy(form: str) -> Agent:
        if form not in agents:
            name = f"form_{form.replace(' ', '_')}"
            agents[form] = bench.deploy(folder / "agent.py", name=name, environment={"FORM": form})
        return agents[form]

    return deploy


@pytest.mark.parametrize(
    ("form", "request_form"),
    [
        ("toolkit", {"message": "{prompt}"}),
        ("graph", {"input": {"messages": [{"role": "user", "content": "{prompt}"}]}}),
        ("in band", {"question": "{prompt}"}),
    ],
)
def test_a_probe_finds_the_form_and_prompts_use_it_from_then_on(
    deployed: Callable[[str], Agent], bench: Workbench, form: str, request_form: dict[str, object]
) -> None:
    agent = deployed(form)
    search = agent.protocols.messages.probe()
    assert search.found is not None, search
    assert search.found.form.request == request_form
    assert agent.invoke("What is 20 + 22?").text == "It is 42."
    again = bench.agent(agent.name)
    assert again.protocols.messages.form == search.found.form, "it is stored with the agent"
    assert again.refresh().protocols.messages.form == search.found.form
    assert "found" in search._repr_html_()


def test_an_agent_of_another_form_is_evaluated_and_measured(deployed: Callable[[str], Agent]) -> None:
    agent = deployed("toolkit")
    agent.protocols.messages.set({"message": "{prompt}"}, answer="result.response")
    evalset = loom.EvalSet.from_rows([{"id": "sum", "prompt": "What is 2 + 3?", "expected": "It is 5."}])
    run = agent.evaluate(evalset, ["exact"])
    assert run["sum"][0].answer.text == "It is 5."
    study = loom.LatencyStudy(agent, cold=0, warm=0, sticky=2, prompt="What is 2 + 3?", find_starts=False).run()
    assert study.answered == 2


def test_an_error_inside_an_answer_is_a_failure(deployed: Callable[[str], Agent]) -> None:
    agent = deployed("in band")
    agent.protocols.messages.set({"prompt": "{prompt}"}, answer="data.says", error="status == 'failed' && reason")
    inv = agent.invoke("What is 2 + 3?")
    assert not inv.ok
    assert "question is required" in str(inv.error)


def test_the_usual_form_is_not_stored_and_a_form_can_be_taken_back(deployed: Callable[[str], Agent]) -> None:
    agent = deployed("usual")
    search = agent.protocols.messages.probe()
    assert search.found is not None
    assert agent.protocols.messages.form is None
    agent.protocols.messages.set({"message": "{prompt}"})
    agent.protocols.messages.reset()
    assert agent.invoke("What is 2 + 3?").text == "It is 5."


def test_an_agent_that_answers_the_same_to_everything_shows_no_form(deployed: Callable[[str], Agent]) -> None:
    search = deployed("deaf").protocols.messages.probe(progress=lambda _line: None)
    assert search.found is None
    assert set(search.table["result"]) == {"it answers the same without a prompt"}
    assert "agent.protocols.messages.set" in repr(search)


@pytest.mark.parametrize("request_form", [{"message": "hi"}, {"{prompt}": "hi"}])
def test_a_form_without_a_prompt_is_refused_in_a_sentence(
    deployed: Callable[[str], Agent], request_form: dict[str, object]
) -> None:
    with pytest.raises(LoomError, match="The request needs the placeholder"):
        deployed("toolkit").protocols.messages.set(request_form)
