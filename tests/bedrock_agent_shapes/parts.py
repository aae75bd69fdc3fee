"""What the declarations of shapes have in common: agents, one Lambda function for all action groups, collaborators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MODEL = "amazon.nova-pro-v1:0"
ROLE = "arn:aws:iam::123456789012:role/loom-shapes"
FUNCTION = "loom-shapes-actions"
INSTRUCTION = "You help the customers of a shop with their orders and with its rules."

ACTIONS = """
import json

STATUS = {"4711": "shipped on Monday", "4712": "in the warehouse"}


def handler(event, context):
    values = {item["name"]: item["value"] for item in event["parameters"]}
    for content in event.get("requestBody", {}).get("content", {}).values():
        values.update({item["name"]: item["value"] for item in content["properties"]})
    number = values.get("order_id") or values.get("orderId") or values.get("id") or ""
    name = event.get("function") or event["apiPath"]
    if "cancel" in name:
        said = {"order": number, "state": "cancelled"}
    elif "weather" in name:
        said = {"weather": f"sunny in {values.get('city')}"}
    elif "notes" in name:
        said = {"order": number, "note": values.get("note")}
    elif "price" in name:
        said = {"article": values.get("article"), "price": "29 euros"}
    else:
        said = {"order": number, "state": STATUS.get(number, "unknown")}
    if customer := event["sessionAttributes"].get("customer"):
        said["customer"] = customer
    answer = {"actionGroup": event["actionGroup"]}
    if "function" in event:
        text = ", ".join(f"{key} {value}" for key, value in said.items())
        answer |= {"function": event["function"], "functionResponse": {"responseBody": {"TEXT": {"body": text}}}}
    else:
        answer |= {"apiPath": event["apiPath"], "httpMethod": event["httpMethod"], "httpStatusCode": 200,
                   "responseBody": {"application/json": {"body": json.dumps(said)}}}
    return {"messageVersion": "1.0", "response": answer, "sessionAttributes": event["sessionAttributes"],
            "promptSessionAttributes": event["promptSessionAttributes"]}
"""
"""Answers every action group: functions and operations, in the documented event and response."""

BY_LAMBDA = {"lambda": f"@function:{FUNCTION}"}
BY_CALLER = {"customControl": "RETURN_CONTROL"}
RULES = {
    "returns": "Parcels can be sent back within 30 days.",
    "warranty": "A kettle has a warranty of 24 months.",
    "delivery": "A delivery takes two to four working days.",
}
ORDER = {"order_id": {"type": "string", "description": "Number of the order", "required": True}}
ORDER_STATUS = {"name": "order_status", "description": "Returns the status of an order", "parameters": ORDER}


def agent(
    name: str,
    *action_groups: Mapping[str, Any],
    instruction: str = INSTRUCTION,
    knowledge_bases: Sequence[Mapping[str, Any]] = (),
    collaborators: Sequence[Mapping[str, Any]] = (),
    **settings: Any,
) -> dict[str, Any]:
    """Return the declaration of an agent.

    Args:
        name: Its name.
        action_groups: The members of CreateAgentActionGroup.
        instruction: Its instruction.
        knowledge_bases: The members of AssociateAgentKnowledgeBase.
        collaborators: The members of AssociateAgentCollaborator.
        settings: Other members of CreateAgent.
    """
    create_arguments = {"foundationModel": MODEL, "agentResourceRoleArn": ROLE, "instruction": instruction, **settings}
    return {
        "name": name,
        "settings": create_arguments,
        "action_groups": list(action_groups),
        "knowledge_bases": list(knowledge_bases),
        "collaborators": list(collaborators),
    }


def functions(group: str, *functions: Mapping[str, Any], executor: Mapping[str, str] = BY_LAMBDA) -> dict[str, Any]:
    """Return an action group with functions."""
    return {
        "actionGroupName": group,
        "actionGroupExecutor": executor,
        "functionSchema": {"functions": list(functions)},
    }


def operations(group: str, schema: Mapping[str, Any], executor: Mapping[str, str] = BY_LAMBDA) -> dict[str, Any]:
    """Return an action group with an OpenAPI schema: `{"payload": …}` or `{"s3": …}`."""
    return {"actionGroupName": group, "actionGroupExecutor": executor, "apiSchema": schema}


def collaborator(name: str, of: str, instruction: str, **more: Any) -> dict[str, Any]:
    """Return the declaration of a collaborator.

    Args:
        name: Its name for the supervisor.
        of: The agent's name.
        instruction: What the supervisor reads about it.
        more: Other members of AssociateAgentCollaborator.
    """
    about = {"collaboratorName": name, "collaborationInstruction": instruction}
    return {**about, "agentDescriptor": {"aliasArn": f"@alias:{of}"}, **more}


def declaration(name: str, *agents: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a declaration whose last agent is the one to ask.

    Args:
        name: The shape's name.
        agents: The agents, those that others call before those.
        more: Other members of a declaration, such as `objects`.
    """
    return {"name": name, "functions": {FUNCTION: ACTIONS}, "agents": list(agents), **more}
