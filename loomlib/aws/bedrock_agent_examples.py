"""Create agents of Bedrock Agents from a declaration, with all resources that they use; repeating it changes nothing.

A declaration is a mapping, such as a parsed TOML file. Members other than those below are ignored:

- `name`: the example's name, stored in the tag `loom:example` of its resources.
- `functions`: Python code of Lambda functions by name; each has `handler(event, context)`.
- `objects`: texts of S3 objects by key, in the example's own bucket.
- `knowledge_bases`: texts of documents by id, for each knowledge base by name.
- `guardrails`: the members of CreateGuardrail, by name.
- `agents`: tables with `name`, `settings` (the members of CreateAgent), `action_groups`, `knowledge_bases` and
  `collaborators` (lists of the members of the operations that add one), and `alias`. An agent must be listed
  before the agents that call it.

Texts of the form `@function:NAME` (an ARN), `@knowledge_base:NAME` (an id), `@guardrail:NAME` (an id), `@alias:AGENT`
(an ARN) and `@bucket` (a name) are replaced by the ARN, id or name of the created resource.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from loomlib.errors import ConflictError, ResourceNotFoundError, SettingsError

from .bedrock_agents import BedrockAgent, delete_bedrock_agent, find_bedrock_agent, list_bedrock_agents
from .connection import Clients
from .errors import translated
from .example_resources import example_bucket, example_function, example_guardrail, example_knowledge_base
from .paging import iter_items

_REFERENCE: Final = re.compile(r"@(function|knowledge_base|guardrail|alias|bucket)(?::([\w.-]+))?")
_EXAMPLE_TAG: Final = "loom:example"
_DIGEST_TAG: Final = "loom:digest"
_PAUSE_S: Final = 0.2
_READY_S: Final = 120.0

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedAgents:
    """The resources of a declaration, as created in the account.

    Attributes:
        agents: The agents by name; the last one is the root agent.
        aliases: The ids of their aliases, by the agent's name.
        functions: The ARNs of the Lambda functions by name.
        knowledge_bases: The ids of the knowledge bases by name.
        guardrails: The ids of the guardrails by name.
        bucket: The bucket with the objects; "" without objects.
    """

    agents: Mapping[str, BedrockAgent]
    aliases: Mapping[str, str]
    functions: Mapping[str, str]
    knowledge_bases: Mapping[str, str]
    guardrails: Mapping[str, str]
    bucket: str

    @property
    def root(self) -> BedrockAgent:
        """The agent to ask."""
        return list(self.agents.values())[-1]


def create_agents(
    clients: Clients, declaration: Mapping[str, Any], *, progress: Progress = lambda _: None
) -> CreatedAgents:
    """Create the agents and resources of a declaration, or update them.

    An agent that matches the declaration is left unchanged. One that differs, or whose creation was interrupted, is
    created again.

    Args:
        clients: The AWS clients of a connection.
        declaration: The declaration; the module's documentation has its members.
        progress: Called with the name of the resource that is being created.

    Raises:
        ConflictError: An agent with that name exists that this function did not create.
        SettingsError: The declaration refers to something that it does not define.
        RequestRejectedError: Bedrock rejects a part of it.
    """
    name = str(declaration["name"])
    functions: dict[str, str] = {}
    for function, code in _table(declaration, "functions").items():
        progress(f"Creating the Lambda function {function} …")
        functions[function] = example_function(clients, function, code)
    objects = _table(declaration, "objects")
    bucket = example_bucket(clients, name, objects) if objects else ""
    bases: dict[str, str] = {}
    for base, documents in _table(declaration, "knowledge_bases").items():
        progress(f"Creating the knowledge base {base} …")
        bases[base] = example_knowledge_base(clients, base, documents)
    guardrails = {
        guardrail: example_guardrail(clients, guardrail, members)
        for guardrail, members in _table(declaration, "guardrails").items()
    }
    resources = {"function": functions, "knowledge_base": bases, "guardrail": guardrails, "bucket": {"": bucket}}
    existing = {agent.name: agent for agent in list_bedrock_agents(clients)}
    agents: dict[str, BedrockAgent] = {}
    aliases: dict[str, str] = {}
    alias_arns: dict[str, str] = {}
    for declared in cast("Sequence[Mapping[str, Any]]", declaration["agents"]):
        progress(f"Creating the agent {declared['name']} …")
        resolved = _resolved(declared, {**resources, "alias": alias_arns})
        agent, alias, arn = _agent(clients, name, resolved, existing.get(declared["name"]))
        agents[agent.name], aliases[agent.name], alias_arns[agent.name] = agent, alias, arn
    return CreatedAgents(
        agents=agents, aliases=aliases, functions=functions, knowledge_bases=bases, guardrails=guardrails, bucket=bucket
    )


def _table(declaration: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return declaration.get(name) or {}


def _resolved(value: Any, resources: Mapping[str, Mapping[str, str]]) -> Any:
    """Return a part of a declaration with its references replaced by the ids and ARNs of the created resources."""
    if isinstance(value, Mapping):
        return {name: _resolved(item, resources) for name, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_resolved(item, resources) for item in cast("Sequence[Any]", value)]
    if not isinstance(value, str) or not (match := _REFERENCE.fullmatch(value)):
        return value
    identifier = resources[match[1]].get(match[2] or "")
    if not identifier:
        raise SettingsError(f"The declaration of agents does not define {value}", try_="define it before it is used")
    return identifier


def _agent(
    clients: Clients, example: str, declared: Mapping[str, Any], existing: BedrockAgent | None
) -> tuple[BedrockAgent, str, str]:
    """Return an agent with the id and the ARN of its alias; create it unless it already exists as declared."""
    name, alias_name = str(declared["name"]), str(declared.get("alias") or "live")
    control = clients.client("bedrock-agent")
    arn = f"arn:aws:bedrock:{clients.region}:{clients.account_id()}:"
    digest = hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()[:32]
    if existing is not None:
        with translated("Reading an agent's tags", on=name):
            tags = control.list_tags_for_resource(resourceArn=f"{arn}agent/{existing.id}")["tags"]
        if tags.get(_EXAMPLE_TAG) != example:
            raise ConflictError(
                "An agent with this name exists that does not belong to this example",
                on=name,
                try_=f"bench.bedrock.agents.delete({name!r}), if it is no longer needed",
            )
        if tags.get(_DIGEST_TAG) == digest:
            alias = _alias(clients, existing, alias_name)
            return existing, alias, f"{arn}agent-alias/{existing.id}/{alias}"
        delete_bedrock_agent(clients, existing)
    with translated("Creating a Bedrock agent", on=name):
        agent_id = control.create_agent(agentName=name, tags={_EXAMPLE_TAG: example}, **declared["settings"])["agent"][
            "agentId"
        ]
        _settled(lambda: control.get_agent(agentId=agent_id)["agent"]["agentStatus"], name)
        draft = {"agentId": agent_id, "agentVersion": "DRAFT"}
        for group in declared.get("action_groups") or ():
            control.create_agent_action_group(**draft, **group)
        for base in declared.get("knowledge_bases") or ():
            control.associate_agent_knowledge_base(**draft, **base)
        for collaborator in declared.get("collaborators") or ():
            control.associate_agent_collaborator(**draft, **collaborator)
        control.prepare_agent(agentId=agent_id)
        _settled(lambda: control.get_agent(agentId=agent_id)["agent"]["agentStatus"], name)
        new_alias = control.create_agent_alias(agentId=agent_id, agentAliasName=alias_name)["agentAlias"]
        identifiers = {"agentId": agent_id, "agentAliasId": new_alias["agentAliasId"]}
        _settled(lambda: control.get_agent_alias(**identifiers)["agentAlias"]["agentAliasStatus"], name)
        # Last, so that an agent whose creation was interrupted has no digest and is created again.
        control.tag_resource(resourceArn=f"{arn}agent/{agent_id}", tags={_DIGEST_TAG: digest})
    alias_id = str(new_alias["agentAliasId"])
    return find_bedrock_agent(clients, agent_id), alias_id, f"{arn}agent-alias/{agent_id}/{alias_id}"


def _alias(clients: Clients, agent: BedrockAgent, name: str) -> str:
    control = clients.client("bedrock-agent")
    request = {"agentId": agent.id}
    for item in iter_items(control.list_agent_aliases, "agentAliasSummaries", request, "Listing aliases", agent.name):
        if item["agentAliasName"] == name:
            return str(item["agentAliasId"])
    raise ResourceNotFoundError(
        f"The agent no longer has the alias {name}", on=agent.name, try_="delete the agent, and create it again"
    )


def _settled(read: Callable[[], str], name: str) -> None:
    """Wait until an agent or an alias has reached a stable status."""
    deadline = time.monotonic() + _READY_S
    while (status := read()) in ("CREATING", "PREPARING", "UPDATING", "VERSIONING"):
        if time.monotonic() > deadline:
            raise ConflictError(f"The agent is still {status}", on=name, try_="wait, and create it again")
        time.sleep(_PAUSE_S)
