"""Every blueprint, unchanged and as its own process, against the scripted model."""

from __future__ import annotations

import json
import re

import pytest


def test_the_calculator_streams_an_exact_answer(start_blueprint) -> None:
    agent = start_blueprint("calculator")
    assert agent.text("15*37, add 42") == "15 * 37 + 42 = 597."
    assert "too large" in agent.text("9**9**9")
    assert "failed" in agent.text("What is 1/0?")


def test_a_session_remembers_and_another_one_does_not(start_blueprint) -> None:
    agent = start_blueprint("calculator")
    one, other = "one-" * 10, "other-" * 8
    agent.text("What is 2+2?", one)
    assert agent.text("multiply that by 3", one) == "4 * 3 = 12."
    assert "12" not in agent.text("multiply that by 3", other)


@pytest.mark.parametrize("name", ["calculator", "assistant", "writer", "echo"])
def test_the_first_line_of_an_invocation_is_its_start_time(start_blueprint, name: str) -> None:
    agent = start_blueprint(name)
    agent.ask({"prompt": "Hello"}, "start-line-" + "x" * 30)
    lines = agent.log.read_text().splitlines()
    line = next(line for line in lines if line.startswith("Agent invoked") and "start-line-" in line)
    assert re.fullmatch(
        r"Agent invoked - Start time: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00, "
        r"Session ID: start-line-x+, Request ID: \S+",
        line,
    )


@pytest.mark.parametrize("name", ["calculator", "assistant", "writer", "echo"])
def test_a_missing_prompt_says_what_the_payload_needs(start_blueprint, name: str) -> None:
    status, _, body = start_blueprint(name).ask({"text": "Hello"})
    assert 'the payload needs a "prompt"' in json.loads(body.removeprefix("data: "))["error"]
    assert status == (500 if name == "echo" else 200)


def test_the_assistant_uses_its_tools_and_states_when_one_fails(start_blueprint) -> None:
    agent = start_blueprint("assistant")
    both = agent.text("Where is order A-1042, and what is the weather in Paris?")
    assert "in transit" in both
    assert "sample data" in both
    assert agent.text("how many km are 26.2 miles?") == "26.2 mile = 42.1648 km."
    assert "Asia/Tokyo" in agent.text("What time is it in Tokyo?")
    assert "there is no order A-9999" in agent.text("Where is order A-9999?")


def test_the_assistant_announces_the_tools_it_uses(start_blueprint) -> None:
    _, _, body = start_blueprint("assistant").ask({"prompt": "What's the weather in Oslo and Rome?"}, "t" * 40)
    events = [json.loads(line.removeprefix("data: ")) for line in body.split("\n\n") if line]
    assert [event for event in events if isinstance(event, dict)] == [{"tool": "get_weather"}] * 2


def test_the_writer_streams_as_many_words_as_asked_for(start_blueprint) -> None:
    agent = start_blueprint("writer")
    _, _, body = agent.ask({"prompt": "Write 60 words about autumn"}, "w" * 40)
    events = [json.loads(line.removeprefix("data: ")) for line in body.split("\n\n") if line]
    assert len(events) == 60
    assert "4 words" in agent.text('How many words has "the quick brown fox"?')


def test_few_workers_answers_when_a_worker_has_done_its_work(start_blueprint) -> None:
    agent = start_blueprint("few_workers")
    status, content_type, body = agent.ask({"prompt": "Hi"})
    assert (status, content_type, json.loads(body)) == (200, "application/json", {"result": "Done: Hi"})
    assert "Agent invoked - Start time: " in agent.log.read_text()


def test_echo_answers_with_plain_json(start_blueprint) -> None:
    status, content_type, body = start_blueprint("echo").ask({"prompt": "Hi"})
    assert (status, content_type, json.loads(body)) == (200, "application/json", {"result": "You said: Hi"})


def test_parallel_tools_calls_as_many_tools_as_the_prompt_asks(start_blueprint) -> None:
    agent = start_blueprint("parallel_tools")
    assert agent.text("Read 7 sensors at once").count("celsius: ") == 7
    assert "between 1 and 100" in agent.ask({"prompt": "Read 101 sensors"})[2]
    assert agent.text("Read some sensors").count("celsius: ") == 5
