"""Generated agents whose calls wait for the caller, and agents below agents, in each framework."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from agent_variants import member, shop_agent
from botocore.exceptions import ClientError

from loomlib.imports.bedrock_agents import ImportedAgent
from loomlib.imports.bedrock_agents.emit import FRAMEWORKS, FrameworkName
from loomlib.telemetry.traces import Trace, Trajectory, model_calls, read_spans
from tests.service.conftest import Aws
from tests.service.imports.test_features import ORDER, Deployed, Lab, Reply, new_session
from tests.waiting import wait_until

frameworks = pytest.mark.parametrize("framework", FRAMEWORKS)


@pytest.fixture(scope="module")
def lab(service_with: Callable[..., Aws]) -> Iterator[Lab]:
    return Lab(service_with())


def order_agent(lab: Lab) -> ImportedAgent:
    """An agent that tells the weather at once, and cancels orders once the user confirms."""
    cancel = lab.functions("orders", "cancel_order", "Cancels an order", ORDER, confirm=True)
    return shop_agent(name="cancelling", id="CANCELLING", action_groups=(lab.weather(), cancel))


def supervising(lab: Lab, framework: FrameworkName) -> Deployed:
    orders = replace(
        member("weather_orders", order_agent(lab)), instruction="Tells the weather in a city and cancels an order"
    )
    return lab.deploy(shop_agent(name="team", collaboration="supervisor", collaborators=(orders,)), framework)


def events(reply: Reply) -> list[dict[str, Any]]:
    """The events with which Lambda functions were called, which the answer repeats."""
    decoder, lambda_events, at = json.JSONDecoder(), list[dict[str, Any]](), reply.text.find("Event {")
    while at >= 0:
        event, length = decoder.raw_decode(reply.text[at + 6 :])
        lambda_events.append(event)
        at = reply.text.find("Event {", at + 6 + length)
    return lambda_events


@frameworks
def test_a_call_that_waits_does_not_repeat_the_call_before_it(lab: Lab, framework: FrameworkName) -> None:
    new, session = lab.deploy(order_agent(lab), framework), new_session()
    (waiting,) = new.ask("What is the weather in Paris? Cancel the order 17.", session).named("pending")
    reply = new.ask(session=session, approval={"id": waiting["id"], "decision": "approve"})
    weather, cancelled = events(reply)
    assert (weather["function"], weather["sessionAttributes"]) == ("get_weather", {})
    assert (cancelled["function"], cancelled["sessionAttributes"]) == ("cancel_order", {"calls": "x"})


@frameworks
def test_two_calls_of_a_collaborator_wait_one_after_the_other(lab: Lab, framework: FrameworkName) -> None:
    new, session = supervising(lab, framework), new_session()
    (first,) = new.ask("Cancel the order 17, and cancel the order 18.", session).named("pending")
    assert (first["agent"], first["input"]) == ("weather_orders", {"order": 17})
    (second,) = new.ask(session=session, approval={"id": first["id"], "decision": "approve"}).named("pending")
    assert (second["agent"], second["input"]) == ("weather_orders", {"order": 18})
    assert second["id"] != first["id"]
    reply = new.ask(session=session, approval={"id": second["id"], "decision": "reject", "note": "too late"})
    (cancelled,) = events(reply)
    assert [item["value"] for item in cancelled["parameters"]] == ["17"]
    assert "too late" in reply.text


@frameworks
def test_a_turn_that_failed_leaves_nothing_behind(lab: Lab, framework: FrameworkName) -> None:
    new, session = lab.deploy(order_agent(lab), framework), new_session()
    new.ask("My name is Ada.", session)
    failed = new.ask("What is the weather in Paris?", session, sessionAttributes={"state": "FAILURE"})
    assert "The action group weather failed" in failed.failed
    assert new.ask("What is my name?", session).text == "Your name is Ada."


@frameworks
def test_an_agent_at_the_fifth_level_is_asked(lab: Lab, framework: FrameworkName) -> None:
    agent = shop_agent(name="level-5", id="LEVEL5", action_groups=(lab.weather(),))
    for level in (4, 3, 2, 1):
        below = replace(member("weather", agent), instruction="Tells the weather in a city")
        agent = shop_agent(
            name=f"level-{level}", id=f"LEVEL{level}", collaboration="supervisor", collaborators=(below,)
        )
    reply = lab.deploy(agent, framework).ask("What is the weather in Paris?")
    assert reply.tools == [*["weather"] * 4, "weather__get_weather"]
    assert reply.lambda_event["agent"]["id"] == "LEVEL5"


@frameworks
def test_the_spans_of_a_generated_team_are_nested_trajectories(lab: Lab, framework: FrameworkName) -> None:
    new, session = supervising(lab, framework), new_session()
    new.ask("What is the weather in Paris?", session)
    trace = wait_until(lambda: spans_of(lab.aws, new.arn, session), what="the spans of the invocation")
    assert trace is not None
    outer = trace.trajectory()
    assert (outer.agent_name, outer.tool_names) == ("team", ("weather_orders",))
    (inner,) = outer.agents
    assert inner.agent_name == "cancelling"
    assert inner.call_id == outer.tool_calls[0].call_id
    assert [(call.name, call.arguments) for call in inner.tool_calls] == [("weather__get_weather", {"city": "Paris"})]
    assert all(call.is_answered for call in inner.tool_calls)
    calls = model_calls(trace)
    assert len(calls) == 4
    assert all(call.input_tokens and call.output_tokens for call in calls)


def spans_of(aws: Aws, arn: str, session: str) -> Trace | None:
    """The trace of a session's only invocation, once it is there with its messages."""
    logs = aws.client("logs")
    records: list[str] = []
    for group in ("aws/spans", f"/aws/bedrock-agentcore/runtimes/{arn.rpartition('/')[2]}-DEFAULT"):
        try:
            pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group, filterPattern=f'"{session}"')
            records += [event["message"] for page in pages for event in page["events"]]
        except ClientError:
            continue
    batch = read_spans(records)
    traces = Trace.of(batch.spans, batch.log_records)
    complete_traces = [trace for trace in traces if trace.of_operation("server") and not whole(trace.trajectory())]
    return complete_traces[0] if complete_traces else None


def whole(trajectory: Trajectory) -> tuple[str, ...]:
    return tuple(problem for agent in (trajectory, *trajectory.agents) for problem in agent.problems)
