"""Calls of generated code have the form of those of the local Bedrock Agents, whatever the tool and the arguments."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_variants import shop_agent, weather_group

from loomlib.imports.bedrock_agents.emit import FRAMEWORKS, FrameworkName, generate_agent, write_agent
from loomlib.local.bedrock_agents.actions import call_document, read_lambda_answer
from loomlib.local.bedrock_agents.tools import AgentTool
from loomlib.local.wire import RefusedError

NAMES = ("city", "orderId", "X-Shop", "ünit", "list", "deep", "flag")
VALUES: Mapping[str, tuple[Any, ...]] = {
    "string": ("Paris", "", "7", 'a "quoted" text', "ü\n🙂"),
    "integer": (0, -3, 10**12),
    "number": (1.5, 2, 1e-9),
    "boolean": (True, False),
    "array": ([], ["a", 1], [{"b": None}]),
    "object": ({}, {"a": {"b": ["ü"]}}),
}
IN_A_PROCESS = """
import json, sys
from actions import ActionFailedError, describe_call, read_answer
from definition import Action, Parameter
for line in sys.stdin:
    asked = json.loads(line)
    parameters = tuple(Parameter(**item) for item in asked["action"].pop("parameters"))
    action = Action(input_schema={}, executor="lambda", parameters=parameters, **asked["action"])
    try:
        answer = read_answer(action, asked["payload"])
        read = [answer.text, answer.failed, answer.attributes, answer.prompt_attributes, dict(answer.searches)]
    except ActionFailedError:
        read = "failed"
    print(json.dumps([describe_call(action, asked["arguments"]), read]))
"""


def cases() -> list[tuple[AgentTool, dict[str, Any], dict[str, Any], str]]:
    """Tools of the local service, the same as actions, arguments, and what a Lambda function answers."""
    chance = random.Random(14)
    samples: list[tuple[AgentTool, dict[str, Any], dict[str, Any], str]] = []
    for _ in range(300):
        types = {name: chance.choice(list(VALUES)) for name in chance.sample(NAMES, chance.randint(0, 5))}
        arguments = {name: chance.choice(VALUES[kind]) for name, kind in types.items() if chance.random() < 0.8}
        if arguments and chance.random() < 0.2:
            arguments[next(iter(arguments))] = None
        is_function = chance.random() < 0.5
        body = (
            None if is_function or chance.random() < 0.4 else {n: t for n, t in types.items() if chance.random() < 0.5}
        )
        outside = {name: kind for name, kind in types.items() if name not in (body or {})}
        part = {"document": {"actionGroupName": "group", "actionGroupExecutor": {"lambda": "arn:x"}}}
        tool = AgentTool(
            name="group__call",
            kind="function" if is_function else "api",
            description="",
            schema={},
            part=part,
            function="call" if is_function else "",
            path="" if is_function else "/a/{b}",
            method="" if is_function else "POST",
            types=outside,
            body_types=body,
        )
        action = {
            "name": tool.name,
            "group": "group",
            "function": tool.function,
            "path": tool.path,
            "method": tool.method,
            "content_type": "" if body is None else "application/json",
            "parameters": [
                *({"name": n, "type": t, "place": "function" if is_function else "query"} for n, t in outside.items()),
                *({"name": n, "type": t, "place": "body"} for n, t in (body or {}).items()),
            ],
        }
        samples.append((tool, action, arguments, answer_of(tool, chance)))
    return samples


def answer_of(tool: AgentTool, chance: random.Random) -> str:
    """What a Lambda function answers: mostly in the documented form."""
    inner: dict[str, Any] = {"responseBody": {"TEXT": {"body": chance.choice(["done", {"a": 1}, "", "ü"])}}}
    if (state := chance.choice(["", "", "FAILURE", "REPROMPT"])) != "":
        inner["responseState"] = state
    group_fields: dict[str, Any] = {"actionGroup": chance.choice(["group", "group", "group", "other"])}
    if tool.kind == "function":
        response = {**group_fields, "function": "call", "functionResponse": inner}
    else:
        response = {**group_fields, "apiPath": tool.path, "httpMethod": chance.choice(["POST", "post"]), **inner}
    if chance.random() < 0.1:
        response.pop(chance.choice(list(response)))
    more: dict[str, Any] = {}
    if chance.random() < 0.5:
        more["sessionAttributes"] = chance.choice([{}, {"a": "b", "n": 1}])
    if chance.random() < 0.3:
        more["promptSessionAttributes"] = {"day": "Monday"}
    if chance.random() < 0.3:
        more["knowledgeBasesConfiguration"] = [{"knowledgeBaseId": "KB", "retrievalConfiguration": {"x": 1}}]
    return json.dumps(chance.choice([{"response": response, **more}] * 9 + [{}]))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_calls_and_answers_mean_what_they_mean_in_bedrock_agents(framework: FrameworkName, tmp_path: Path) -> None:
    write_agent(generate_agent(shop_agent(action_groups=(weather_group(),)), framework), tmp_path)
    samples = cases()
    requests = [
        json.dumps({"action": action, "arguments": arguments, "payload": payload})
        for _, action, arguments, payload in samples
    ]
    result = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS], input="\n".join(requests), cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    for (tool, _, arguments, payload), line in zip(samples, result.stdout.splitlines(), strict=True):
        call, read = json.loads(line)
        assert call == call_document(tool, arguments)
        try:
            answer = read_lambda_answer(replace(tool), payload)
            expected: Any = [
                answer.text, answer.reprompts, answer.attributes, answer.prompt_attributes, dict(answer.searches)
            ]  # fmt: skip
        except RefusedError:
            expected = "failed"
        assert read == expected
    assert sum(json.loads(line)[1] != "failed" for line in result.stdout.splitlines()) > 100
