"""What triggers send, and which objects they are about."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loomlib.deploy.spec import AgentSpec, TriggerSpec
from loomlib.deploy.triggers import agent_triggers, find_trigger
from loomlib.deploy.triggers.package import function_package
from loomlib.deploy.triggers.requests import (
    event_pattern,
    matches,
    object_event,
    schedule_input,
    schedule_target,
    session_id,
)
from loomlib.errors import LoomError

DAILY = TriggerSpec(schedule="rate(1 day)", prompt="good morning")


def spec_of(*triggers: TriggerSpec, **more: Any) -> AgentSpec:
    return AgentSpec(name="shop_agent", triggers=triggers, **more)


def test_triggers_are_named_by_their_kind_and_their_place() -> None:
    objects = TriggerSpec(s3="docs")
    assert [trigger.name for trigger in agent_triggers(spec_of(DAILY, objects, DAILY))] == [
        "schedule-1",
        "s3-1",
        "schedule-2",
    ]
    with pytest.raises(LoomError, match=r"no trigger 's3-2'.*schedule-1, s3-1"):
        find_trigger(spec_of(DAILY, objects), "s3-2")
    with pytest.raises(LoomError, match=r"\[\[trigger\]\]"):
        find_trigger(spec_of(), "schedule-1")


def test_a_schedule_sends_json_as_it_is_and_never_repeats_a_run() -> None:
    (trigger,) = agent_triggers(spec_of(TriggerSpec(schedule="rate(1 day)", payload={"task": "Grüße", "depth": 2})))
    target_input = schedule_input(trigger, "arn:agent")
    assert json.loads(target_input["Payload"]) == {"task": "Grüße", "depth": 2}
    assert target_input["RuntimeSessionId"].endswith("-<aws.scheduler.execution-id>")
    target = schedule_target(trigger, partition="aws", role_arn="arn:role", input_=json.dumps(target_input))
    assert target["Arn"] == "arn:aws:scheduler:::aws-sdk:bedrockagentcore:invokeAgentRuntime"
    assert target["RetryPolicy"]["MaximumRetryAttempts"] == 0


@pytest.mark.parametrize("run", ["a", "0123456789abcdef", "f" * 32])
@pytest.mark.parametrize("agent", ["a", "a" * 48])
def test_session_ids_have_the_length_that_agentcore_wants(agent: str, run: str) -> None:
    (trigger,) = agent_triggers(AgentSpec(name=agent, triggers=(DAILY,)))
    assert 33 <= len(session_id(trigger, run)) <= 256


@pytest.mark.parametrize(
    ("s3", "suffix", "key"),
    [
        ("docs", "", None),
        ("docs/new/", "", [{"prefix": "new/"}]),
        ("docs", ".pdf", [{"suffix": ".pdf"}]),
        ("docs/new/", ".pdf", [{"wildcard": "new/*.pdf"}]),
        ("docs/a*b/", ".pdf", [{"wildcard": "a\\*b/*.pdf"}]),
    ],
)
def test_the_pattern_is_about_the_bucket_the_prefix_and_the_suffix(s3: str, suffix: str, key: Any) -> None:
    (trigger,) = agent_triggers(spec_of(TriggerSpec(s3=s3, suffix=suffix)))
    detail = event_pattern(trigger)["detail"]
    assert detail["bucket"] == {"name": ["docs"]}
    assert detail.get("object", {}).get("key") == key
    assert matches(trigger, f"{trigger.prefix}x{suffix}")
    assert not (suffix and matches(trigger, f"{trigger.prefix}x.doc"))


def test_the_event_has_the_form_of_eventbridge_s() -> None:
    (trigger,) = agent_triggers(spec_of(TriggerSpec(s3="docs")))
    event = object_event(trigger, "a.txt", account="123456789012", region="us-east-1", size=3, etag="e")
    assert (event["source"], event["detail-type"]) == ("aws.s3", "Object Created")
    assert event["detail"]["object"] == {"key": "a.txt", "size": 3, "etag": "e"}
    event = object_event(trigger, "a.txt", account="123456789012", region="cn-north-1", size=3, etag="e")
    assert event["resources"] == ["arn:aws-cn:s3:::docs"]


def test_the_function_s_package_is_the_same_each_time() -> None:
    assert function_package() == function_package()
