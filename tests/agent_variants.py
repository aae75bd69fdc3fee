"""Imported agents of many shapes: each feature alone, and together with others."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

from imported_agents import MODEL, lambda_arn, orders_agent, support_supervisor

from loomlib.imports.bedrock_agents import (
    ActionGroup,
    AgentGuardrail,
    AgentKnowledgeBase,
    Collaborator,
    ImportedAgent,
    ImportedTool,
    InferenceParameters,
    MemorySettings,
    PromptStep,
    ToolParameter,
)

CODE = ActionGroup(
    id="CODE000001", name="Code", executor="built_in", schema="built_in", built_in="code_interpreter"
)  # fmt: skip
ASK = ActionGroup(id="ASKUSER001", name="Ask", executor="built_in", schema="built_in", built_in="user_input")
CITY = ToolParameter(name="city", description="The city", is_required=True, schema={"type": "string"})


def weather_group(name: str = "weather", **more: Any) -> ActionGroup:
    """An action group with one function."""
    tool = ImportedTool(
        name=f"{name}__get_weather",
        description="Returns the weather in a city",
        function="get_weather",
        parameters=(CITY,),
        requires_confirmation=more.pop("confirm", False),
    )
    settings = {"executor": "lambda", "lambda_arn": lambda_arn(name), "schema": "functions", "tools": (tool,), **more}
    return ActionGroup(id="WEATHER001", name=name, **settings)


def stock_group(server: str = "https://stock.example.com/v1") -> ActionGroup:
    """An action group with an API that no Lambda function executes."""
    tools = (
        ImportedTool(
            name="stock__findItem",
            description="Finds an item in the stock",
            path="/items/{sku}",
            method="GET",
            parameters=(
                ToolParameter(name="sku", is_required=True, place="path", schema={"type": "string"}),
                ToolParameter(name="colours", type="array", place="query", schema={"type": "array"}),
                ToolParameter(name="X-Shop", place="header", schema={"type": "string"}),
            ),
        ),
        ImportedTool(
            name="stock__addItem",
            description="Adds an item to the stock",
            path="/items",
            method="POST",
            content_type="application/json",
            parameters=(
                ToolParameter(name="sku", is_required=True, place="body", schema={"type": "string"}),
                ToolParameter(name="count", type="integer", place="body", schema={"type": "integer"}),
            ),
        ),
    )
    document = {"openapi": "3.0.0", "servers": [{"url": server}] if server else []}
    return ActionGroup(
        id="STOCK00001", name="stock", executor="none", schema="openapi", tools=tools, api_document=document
    )


def shop_agent(**more: Any) -> ImportedAgent:
    """An agent without any feature, and with what is given."""
    settings: dict[str, Any] = {"id": "SHOPAGENT1", "name": "shop-agent", "version": "1", "alias_id": "ALIASSHOP1"}
    settings |= {"instruction": "You help the customers of a shop.", "model": MODEL}
    return ImportedAgent(**{**settings, **more})


def member(name: str, agent: ImportedAgent, **more: Any) -> Collaborator:
    """A collaborator."""
    return Collaborator(
        id=f"C{name}"[:10], name=name, instruction=f"Answers questions about {name}", agent=agent, **more
    )


def step(name: Any, template: str = "", **more: Any) -> PromptStep:
    """A step that takes place."""
    return PromptStep(name=name, is_enabled=True, is_overridden=bool(template), template=template, **more)


BASE = AgentKnowledgeBase(id="KBRULES001", name="rules", description="Rules of the shop for returns of parcels")
FEATURES: dict[str, dict[str, Any]] = {
    "functions": {"action_groups": (weather_group(),)},
    "api": {"action_groups": orders_agent().action_groups},
    "http": {"action_groups": (stock_group(),)},
    "control": {"action_groups": (weather_group("forecast", executor="return_control", lambda_arn=""),)},
    "guardrail": {"guardrail": AgentGuardrail(id="guard0000001", version="2")},
    "knowledge": {"knowledge_bases": (BASE,)},
    "code": {"action_groups": (CODE,)},
    "ask": {"action_groups": (ASK,)},
    "memory": {"memory": MemorySettings()},
    "pre": {"prompts": (step("pre_processing"),)},
    "post": {"prompts": (step("post_processing", "Rewrite $latest_response$ in <final_response>"),)},
    "answers": {"prompts": (step("knowledge_base_response"),), "knowledge_bases": (BASE,)},
    "parsers": {
        "prompts": (
            step("pre_processing", parser_lambda=lambda_arn("parser")),
            step("post_processing", parser_lambda=lambda_arn("parser")),
        )
    },
    "parsed": {"prompts": (step("pre_processing", parser_lambda=lambda_arn("parser")), step("post_processing"))},
    "tagged": {
        "prompts": (
            step(
                "orchestration",
                "Human: $instruction$ Write it in <answer></answer>.\n\nAssistant:",
                inference=InferenceParameters(temperature=0.1, top_k=5, stop_sequences=("</answer>",)),
            ),
        )
    },
    "supervisor": {"collaboration": "supervisor", "collaborators": (member("orders", orders_agent()),)},
    "router": {"collaboration": "router", "collaborators": (member("orders", orders_agent(), shares_history=True),)},
}
"""What an agent has with each feature."""


def with_features(*names: str) -> ImportedAgent:
    """An agent with features; those that set one member are put together."""
    settings: dict[str, Any] = {}
    for name in names:
        for key, value in FEATURES[name].items():
            both = (*settings.get(key, ()), *value) if isinstance(value, tuple) else value
            settings[key] = tuple(dict.fromkeys(both)) if key == "knowledge_bases" else both
    return shop_agent(name="-".join(names) or "plain", **settings)


def everything() -> ImportedAgent:
    """A router with every feature, and collaborators to two levels."""
    features = ("functions", "api", "http", "control", "guardrail", "code", "ask", "memory", "parsers", "answers")
    deeper = shop_agent(
        id="DEEPER0001", name="deeper", collaboration="supervisor", collaborators=(member("desk", orders_agent()),)
    )
    agent = with_features(*features)
    tagged = FEATURES["tagged"]["prompts"]
    members = (member("orders", orders_agent(), shares_history=True), member("deeper", deeper))
    groups = (*agent.action_groups[:2], stock_group(server=""), *agent.action_groups[3:])
    return replace(
        agent,
        name="everything",
        prompts=(*tagged, *agent.prompts),
        action_groups=groups,
        collaboration="router",
        collaborators=members,
    )


def variants() -> dict[str, ImportedAgent]:
    """Agents by name: without features, with one, with two, and the supervisor with all."""
    names = [(), *((name,) for name in FEATURES), *combinations(FEATURES, 2)]
    agents = {"-".join(pair) or "plain": with_features(*pair) for pair in names}
    long = "Answers with “quotes”, \"both\" 'kinds', a \\ and a tab\t. " * 9 + "\nÜmläute, 日本語 and 🙂.\n"
    agents["texts"] = shop_agent(
        name='7 "odd" \\ names: äöü', instruction=long, description=long, action_groups=(weather_group("my group!"),)
    )
    deepest = orders_agent()
    for level in range(2, 5):
        deepest = shop_agent(
            id=f"LEVEL{level}",
            name=f"level-{level}",
            collaboration="supervisor",
            collaborators=(member("next", deepest),),
        )
    agents["deep"] = shop_agent(name="deep", collaboration="router", collaborators=(member("next", deepest),))
    agents["everything"] = everything()
    agents["support"] = support_supervisor()
    agents["support-router"] = replace(support_supervisor(), name="support-router", collaboration="router")
    return agents
