"""Memory of agents across sessions: summaries when a session ends, in the prompts of later ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from agent_turns import INSTRUCTION, MODEL, ROLE, invoked, of_kind
from botocore.exceptions import ClientError

from loomlib import local
from loomlib.local.bedrock_agents.sessions import AgentSessions
from loomlib.local.resources import Place
from tests.service.conftest import Aws

MEMORY = {"enabledMemoryTypes": ["SESSION_SUMMARY"], "storageDays": 10}


def memories(aws: Aws, agent: str, memory: str, **more: Any) -> list[dict[str, Any]]:
    answer = aws.client("bedrock-agent-runtime").get_agent_memory(
        agentId=agent, agentAliasId="TSTALIASID", memoryId=memory, memoryType="SESSION_SUMMARY", **more
    )
    return [content["sessionSummary"] for content in answer["memoryContents"]]


def test_a_session_that_ends_is_summarized_and_remembered(aws: Aws, create: Callable[..., str]) -> None:
    agent = create(memoryConfiguration=MEMORY)
    first = invoked(aws, agent, "My name is Ann.", memoryId="ann")
    assert memories(aws, agent, "ann") == []
    invoked(aws, agent, sessionId=first["session"], memoryId="ann", endSession=True)
    (summary,) = memories(aws, agent, "ann")
    assert (summary["memoryId"], summary["sessionId"]) == ("ann", first["session"])
    assert "My name is Ann." in summary["summaryText"]
    retention = summary["sessionExpiryTime"] - summary["sessionStartTime"]
    assert timedelta(days=10) <= retention < timedelta(days=10, minutes=10)
    second = invoked(aws, agent, "What is my name?", memoryId="ann")
    prompt = of_kind(second, "modelInvocationInput")[0]["text"]
    assert "<memory_synopsis>" in prompt
    assert "Ann" in second["text"]
    other = invoked(aws, agent, "What is my name?", memoryId="bob")
    assert "Ann" not in of_kind(other, "modelInvocationInput")[0]["text"]


def test_memory_keeps_the_most_recent_sessions_in_prompts_and_is_deleted(aws: Aws, create: Callable[..., str]) -> None:
    agent = create(memoryConfiguration={**MEMORY, "sessionSummaryConfiguration": {"maxRecentSessions": 1}})
    for session, text in (("one", "I live in Lisbon."), ("two", "I like green tea.")):
        invoked(aws, agent, text, sessionId=f"session-{session}", memoryId="ann")
        invoked(aws, agent, sessionId=f"session-{session}", memoryId="ann", endSession=True)
    assert [item["sessionId"] for item in memories(aws, agent, "ann")] == ["session-two", "session-one"]
    assert len(memories(aws, agent, "ann", maxItems=1)) == 1
    prompt = of_kind(invoked(aws, agent, "Hello", memoryId="ann"), "modelInvocationInput")[0]["text"]
    assert "green tea" in prompt
    assert "Lisbon" not in prompt
    runtime = aws.client("bedrock-agent-runtime")
    alias_ids = {"agentId": agent, "agentAliasId": "TSTALIASID"}
    runtime.delete_agent_memory(**alias_ids, memoryId="ann", sessionId="session-two")
    assert [item["sessionId"] for item in memories(aws, agent, "ann")] == ["session-one"]
    with pytest.raises(ClientError, match="memoryId is missing"):
        runtime.delete_agent_memory(**alias_ids, sessionId="session-one")
    runtime.delete_agent_memory(**alias_ids, memoryId="ann")
    assert memories(aws, agent, "ann") == []


def test_a_memorys_template_is_used_and_summaries_outlive_the_service(start_service: Callable[..., Aws]) -> None:
    first = start_service()
    prompt = {
        "promptType": "MEMORY_SUMMARIZATION",
        "promptCreationMode": "OVERRIDDEN",
        "promptState": "ENABLED",
        "basePromptTemplate": json.dumps(
            {"messages": [{"role": "user", "content": [{"text": "My name is Nobody.\n$conversation$"}]}]}
        ),
    }
    agents = first.client("bedrock-agent")
    agent = agents.create_agent(
        agentName="rememberer",
        foundationModel=MODEL,
        instruction=INSTRUCTION,
        agentResourceRoleArn=ROLE,
        memoryConfiguration=MEMORY,
        promptOverrideConfiguration={"promptConfigurations": [prompt]},
    )["agent"]["agentId"]
    agents.prepare_agent(agentId=agent)
    session = invoked(first, agent, "I live in Lisbon.", memoryId="ann")["session"]
    invoked(first, agent, sessionId=session, memoryId="ann", endSession=True)
    before = memories(first, agent, "ann")
    assert "Nobody" in before[0]["summaryText"]
    assert "Lisbon" in before[0]["summaryText"]
    local.stop(first.state.home)
    assert memories(start_service(), agent, "ann") == before


def test_sessions_that_are_idle_for_too_long_are_over() -> None:
    now, place = [0.0], Place("us-east-1", "123456789012")
    sessions = AgentSessions(lambda: now[0])
    first = sessions.session(place, "alias", "one", idle_s=60)
    sessions.session(place, "alias", "two", idle_s=600)
    sessions.session(place, "other", "one", idle_s=60)
    now[0] = 60.0
    assert sessions.take_idle(place, "alias") == []
    now[0] = 61.0
    assert sessions.take_idle(place, "alias") == [("one", first)]
    assert sessions.take_idle(place, "alias") == []
    assert sessions.session(place, "alias", "one", idle_s=60) is not first
