"""Create a small agent of Bedrock Agents, such as a sample for practising a migration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .bedrock_agents import BedrockAgent, find_bedrock_agent
from .connection import Clients
from .errors import translated

_ROLE: Final = "AmazonBedrockExecutionRoleForAgents_loom"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFunction:
    """A function of an action group, with texts as arguments.

    Attributes:
        name: Its name.
        description: What the model reads.
        parameters: The description of each required parameter, by name.
    """

    name: str
    description: str
    parameters: Mapping[str, str]


def create_bedrock_agent(
    clients: Clients,
    name: str,
    *,
    instruction: str,
    model: str,
    function: AgentFunction,
    lambda_arn: str,
    group: str,
    alias: str = "live",
) -> BedrockAgent:
    """Create an agent with one function, prepare it, and create an alias for it.

    Args:
        clients: The AWS clients of a connection.
        name: Its name.
        instruction: Its instruction.
        model: The model's id.
        function: The function.
        lambda_arn: The ARN of the Lambda function that executes it.
        group: The name of its action group.
        alias: The alias's name.

    Raises:
        ConflictError: The name is taken.
    """
    role = f"arn:aws:iam::{clients.account_id()}:role/{_ROLE}"
    parameters = {
        key: {"type": "string", "description": text, "required": True} for key, text in function.parameters.items()
    }
    described = {"name": function.name, "description": function.description, "parameters": parameters}
    control = clients.client("bedrock-agent")
    with translated("Creating a Bedrock agent", on=name):
        agent = control.create_agent(
            agentName=name, instruction=instruction, foundationModel=model, agentResourceRoleArn=role
        )["agent"]["agentId"]
        control.create_agent_action_group(
            agentId=agent,
            agentVersion="DRAFT",
            actionGroupName=group,
            actionGroupExecutor={"lambda": lambda_arn},
            functionSchema={"functions": [described]},
        )
        control.prepare_agent(agentId=agent)
        control.create_agent_alias(agentId=agent, agentAliasName=alias)
    return find_bedrock_agent(clients, name)
