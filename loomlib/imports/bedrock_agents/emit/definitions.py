"""The modules in `definitions/` of a generated agent: each agent as one constant."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final, cast
from urllib.parse import urlsplit

from ..model import ActionGroup, Collaborator, ImportedAgent, ImportedTool, InferenceParameters, PromptStep
from .naming import distinct, module_name, one_line, tool_name, variable_name
from .prompt_templates import orchestration_template, step_template
from .python_text import WIDTH, PythonCall, PythonName, python_text
from .uses import (
    answers_in_tag,
    callable_collaborators,
    callable_groups,
    distinct_agents,
    is_http,
    same_agent,
    used_steps,
    writes_from_passages,
)

_STEPS: Final = {
    "pre_processing": "PRE_PROCESSING",
    "post_processing": "POST_PROCESSING",
    "knowledge_base_response": "KNOWLEDGE_BASE_RESPONSE_GENERATION",
    "routing_classifier": "ROUTING_CLASSIFIER",
}


def definition_files(root: ImportedAgent) -> dict[str, str]:
    """Return the modules of an agent and of its collaborators.

    Args:
        root: The agent.
    """
    agents = distinct_agents(root)
    modules = distinct(module_name(agent.name) for agent in agents)
    files = {
        f"definitions/{module}.py": _module(agent, agents, modules, is_root=agent is agents[0])
        for agent, module in zip(agents, modules, strict=True)
    }
    constant = modules[0].upper()
    imported = _imported(f".{modules[0]}", [constant])
    about = f'"""The agent {one_line(root.name)}, and its collaborators."""'
    files["definitions/__init__.py"] = (
        f"{about}\n\nfrom __future__ import annotations\n\nfrom typing import Final\n\n{imported}\n\n"
        f'ROOT: Final = {constant}\n"""The root agent."""\n\n__all__ = ["ROOT"]\n'
    )
    return files


def http_servers(root: ImportedAgent) -> dict[str, str]:
    """Return the environment variables for API servers, each with the server in the API's own document.

    A variable shared by two action groups with different servers is left out: their code contains the servers.

    Args:
        root: The agent.
    """
    groups = [group for agent in root.walk() for group in callable_groups(agent) if is_http(group)]
    servers: dict[str, set[str]] = {}
    for group in groups:
        servers.setdefault(variable_name(group.name, "URL"), set()).add(_server(group))
    return {variable: urls.pop() for variable, urls in servers.items() if len(urls) == 1}


def model_identifiers(root: ImportedAgent) -> list[str]:
    """Return the models that an agent and its collaborators use, each once.

    Args:
        root: The agent.
    """
    identifiers: dict[str, None] = {}
    for agent in root.walk():
        identifiers[_orchestration_model(agent)] = None
        identifiers |= {step.model: None for step in used_steps(agent) if step.model}
    return list(identifiers)


def _module(agent: ImportedAgent, agents: list[ImportedAgent], modules: list[str], *, is_root: bool) -> str:
    names = {id(other): module for other, module in zip(agents, modules, strict=True)}

    def constant(other: ImportedAgent) -> str:
        definition = next(candidate for candidate in agents if same_agent(candidate, other))
        return names[id(definition)].upper()

    call = _agent(agent, constant, is_root=is_root)
    members = {other for _, other in ((name, constant(item)) for name, item in callable_collaborators(agent))}
    imports = [_imported("definition", sorted(_classes(call)))]
    imports += [_imported(f".{member.lower()}", [member]) for member in sorted(members)]
    name = constant(agent)
    head = f"{name}: Final = "
    version = f"version {agent.version}" + (f", alias {agent.alias_name}" if agent.alias_name else "")
    parts = [
        f'"""The agent {one_line(agent.name)}, imported at {one_line(version)}."""',
        "from __future__ import annotations",
        "from typing import Final",
        imports[0],
        *(["\n".join(imports[1:])] if imports[1:] else []),
        head + python_text(call, before=len(head)),
    ]
    return "\n\n".join(parts) + "\n"


def _agent(agent: ImportedAgent, constant: Any, *, is_root: bool) -> PythonCall:
    pre, post, answers, router = (_step(agent, name) for name in _STEPS)
    is_router = agent.collaboration == "router" and bool(callable_collaborators(agent))
    values: dict[str, Any] = {
        "name": agent.name,
        "id": agent.id,
        "version": agent.version,
        "alias": agent.alias_id,
        "description": agent.description or None,
        "instruction": agent.instruction,
        "system_template": orchestration_template(agent.prompt("orchestration")),
        "model_id": _orchestration_model(agent),
        "answers_in_tag": answers_in_tag(agent) or None,
        "inference": _inference(agent.inference, agent.model.identifier, agent.prompt("orchestration")),
        "actions": tuple(_action(group, tool) for group in callable_groups(agent) for tool in group.tools),
        "knowledge_bases": tuple(
            PythonCall(name="KnowledgeBase", arguments={"id": base.id, "description": base.description})
            for base in agent.enabled_knowledge_bases
        ),
        "guardrail": None
        if agent.guardrail is None
        else PythonCall(name="Guardrail", arguments={"id": agent.guardrail.id, "version": agent.guardrail.version}),
        "asks_user": agent.takes_user_input or None,
        "runs_code": agent.runs_code or None,
        "memory": _memory(agent) if is_root else None,
        "pre_processing": pre,
        "post_processing": post,
        "knowledge_base_answers": answers if writes_from_passages(agent) else None,
        "collaboration": agent.collaboration if callable_collaborators(agent) else None,
        "router": (router or _default_router(agent)) if is_router else None,
        "collaborators": tuple(
            _collaborator(item, name, constant)
            for item, name in zip(_callable_collaborators(agent), collaborator_tools(agent), strict=True)
        ),
    }
    required = ("name", "id", "version", "alias", "instruction")
    arguments = {name: value for name, value in values.items() if name in required or _is_set(value)}
    return PythonCall(name="AgentDefinition", arguments=arguments)


def collaborator_tools(agent: ImportedAgent) -> list[str]:
    """Return the tool names of an agent's collaborators, distinct from those of its actions.

    Args:
        agent: The agent.
    """
    action_names = [tool.name for group in callable_groups(agent) for tool in group.tools]
    names = [tool_name(item.name) for item in _callable_collaborators(agent)]
    return distinct([*action_names, *names])[len(action_names) :]


def _callable_collaborators(agent: ImportedAgent) -> list[Collaborator]:
    return [item for item in agent.collaborators if item.agent is not None] if agent.collaboration != "none" else []


def _orchestration_model(agent: ImportedAgent) -> str:
    step = agent.prompt("orchestration")
    return step.model if step is not None and step.is_overridden and step.model else agent.model.identifier


def _collaborator(item: Collaborator, name: str, constant: Any) -> PythonCall:
    return PythonCall(
        name="Collaborator",
        arguments={
            "name": name,
            "instruction": item.instruction or f"Asks the agent {item.name}",
            "shares_history": item.shares_history,
            "agent": PythonName(constant(item.agent)),
        },
    )


def _memory(agent: ImportedAgent) -> PythonCall | None:
    if agent.memory is None:
        return None
    arguments = {
        "storage_days": agent.memory.storage_days,
        "max_recent_sessions": agent.memory.max_recent_sessions,
    }
    return PythonCall(name="LongTermMemory", arguments=arguments)


def _step(agent: ImportedAgent, name: Any) -> PythonCall | None:
    step = agent.prompt(name)
    return _step_call(agent, step) if step is not None and step.is_enabled else None


def _default_router(agent: ImportedAgent) -> PythonCall:
    return _step_call(agent, PromptStep(name="routing_classifier", is_enabled=True))


def _step_call(agent: ImportedAgent, step: PromptStep) -> PythonCall:
    template, model = step_template(step), step.model or agent.model.identifier
    arguments: dict[str, Any] = {
        "name": _STEPS[step.name],
        "model_id": model,
        "system": template.system,
        "messages": template.messages,
        "inference": _inference(step.inference, model, step),
        "parser_arn": step.parser_lambda,
    }
    return PythonCall(name="Step", arguments={name: value for name, value in arguments.items() if _is_set(value)})


def _inference(parameters: InferenceParameters, model: str, step: PromptStep | None) -> PythonCall | None:
    """Return the parameters; omit the stop sequences of Bedrock's own prompt, which belong to its tool call format."""
    is_own = step is None or not step.is_overridden
    values: dict[str, Any] = {
        "temperature": parameters.temperature,
        "top_p": None if is_own and parameters.top_p == 1 else parameters.top_p,
        "max_tokens": parameters.max_tokens,
        "stop_sequences": () if is_own else tuple(parameters.stop_sequences),
        "additional_fields": {**({} if is_own else _top_k(parameters.top_k, model)), **parameters.more},
    }
    values = {name: value for name, value in values.items() if _is_set(value)}
    return PythonCall(name="Inference", arguments=values) if values else None


def _top_k(top_k: int | None, model: str) -> dict[str, Any]:
    """Return the provider-specific field for top_k, which Converse does not have."""
    if top_k is None:
        return {}
    if "anthropic." in model:
        return {"top_k": top_k}
    if "amazon.nova" in model:
        return {"inferenceConfig": {"topK": top_k}}
    return {}


def _action(group: ActionGroup, tool: ImportedTool) -> PythonCall:
    executor = "http" if is_http(group) else group.executor
    values: dict[str, Any] = {
        "name": tool.name,
        "group": group.name,
        "description": tool.description or group.description,
        "input_schema": tool.input_schema,
        "parameters": tuple(
            PythonCall(
                name="Parameter",
                arguments={
                    "name": parameter.name,
                    **({"type": parameter.type} if parameter.type != "string" else {}),
                    **({"place": parameter.place} if parameter.place != "function" else {}),
                    **({"sent_as": parameter.wire_name} if parameter.wire_name else {}),
                },
            )
            for parameter in tool.parameters
        ),
        "executor": executor,
        "lambda_arn": group.lambda_arn,
        "function": tool.function,
        "path": tool.path,
        "method": tool.method,
        "content_type": tool.content_type,
        "body_is_whole": tool.body_is_whole or None,
        "server_url": _server(group) if executor == "http" else "",
        "server_variable": variable_name(group.name, "URL") if executor == "http" else "",
        "needs_confirmation": tool.requires_confirmation or None,
    }
    required = ("name", "group", "input_schema", "executor")
    arguments = {name: value for name, value in values.items() if name in required or _is_set(value)}
    return PythonCall(name="Action", arguments=arguments)


def _server(group: ActionGroup) -> str:
    document: Mapping[str, Any] = group.api_document or {}
    servers: object = document.get("servers")
    first: object = cast("list[object]", servers)[0] if isinstance(servers, list) and servers else None
    url = cast("Mapping[str, object]", first).get("url") if isinstance(first, Mapping) else None
    return url if isinstance(url, str) and "{" not in url and _is_elsewhere(url) else ""


def _is_elsewhere(url: str) -> bool:
    """Return whether a URL refers to a server other than this machine or its metadata service, judging by its text."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return False
    if parts.scheme not in ("https", "http") or not host or host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        address = ip_address(host)
    except ValueError:
        return True
    return not (address.is_loopback or address.is_link_local or address.is_unspecified)


def _is_set(value: Any) -> bool:
    return value is not None and value != "" and value != () and value != {}


def _classes(value: Any) -> set[str]:
    """Return the classes that occur in a value."""
    match value:
        case PythonCall():
            inner = (_classes(member) for member in value.arguments.values())
            return {value.name}.union(*inner)
        case tuple():
            return set[str]().union(*(_classes(item) for item in cast("tuple[Any, ...]", value)))
        case _:
            return set()


def _imported(module: str, names: list[str]) -> str:
    flat = f"from {module} import {', '.join(names)}"
    if len(flat) <= WIDTH:
        return flat
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])
