"""The `loom-agent.toml` of a generated agent: exactly the resources that it uses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..model import ImportedAgent
from .definitions import http_servers, model_identifiers
from .naming import runtime_name
from .uses import Uses, callable_groups, used_steps

_SHORTEST_IDLE_S, _LONGEST_IDLE_S = 60, 28_800  # AgentCore's limits of idleRuntimeSessionTimeout


def idle_seconds(agent: ImportedAgent) -> int:
    """Return the idle timeout of a runtime session in seconds: Bedrock's value, within AgentCore's limits.

    Args:
        agent: The agent.
    """
    return min(max(agent.idle_timeout_s, _SHORTEST_IDLE_S), _LONGEST_IDLE_S)


def lambda_functions(root: ImportedAgent) -> list[str]:
    """Return the ARNs of the Lambda functions that the generated code calls, each once.

    Args:
        root: The agent.
    """
    arns = [group.lambda_arn for agent in root.walk() for group in callable_groups(agent)]
    arns += [step.parser_lambda for agent in root.walk() for step in used_steps(agent)]
    return _once(arns)


def memory_name(root: ImportedAgent) -> str:
    """Return the name of the memory that is bound to an agent with long-term memory.

    Args:
        root: The agent.
    """
    return f"{runtime_name(root.name)[:41]}_memory"


def agent_toml(root: ImportedAgent, uses: Uses) -> str:
    """Return the text of the file.

    Args:
        root: The agent.
        uses: The features and resources that the agent uses.
    """
    name = runtime_name(root.name)
    agents = list(root.walk())
    resources: dict[str, Any] = {
        "models": model_identifiers(root),
        "functions": lambda_functions(root),
        "knowledge_bases": _once(base.id for agent in agents for base in agent.enabled_knowledge_bases),
        "guardrails": _once(agent.guardrail.id for agent in agents if agent.guardrail is not None),
        "memories": {"LOOM_MEMORY_ID": memory_name(root)} if uses.memory else {},
        "code_interpreters": {"CODE_INTERPRETER_ID": "aws.codeinterpreter.v1"} if uses.code else {},
    }
    tables: dict[str, Mapping[str, Any]] = {
        # Without an entry point, agent.py is started, on AWS with opentelemetry-instrument (requirements.txt).
        "agent": {"name": name, "description": root.description, "protocol": "HTTP"},
        "platform": {"idle_timeout_s": idle_seconds(root)},
        "environment": {variable: url for variable, url in http_servers(root).items() if url},
        "resources": resources,
        "tags": _own_tags(root.tags),
    }
    parts = [_table(name, values) for name, values in tables.items()]
    return "\n".join(part for part in parts if part)


def _table(name: str, values: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {_value(value)}" for key, value in values.items() if value not in ("", [], {})]
    return "\n".join([f"[{name}]", *lines, ""]) if lines else ""


def _value(value: str | int | Sequence[str] | Mapping[str, str]) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    return "[\n" + "".join(f"    {_value(item)},\n" for item in value) + "]"


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("-", "_").replace("_", "a").isalnum()
    return key if is_bare else _value(key)


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))


def _own_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags without those that AWS and Loom reserve for themselves."""
    return {name: value for name, value in tags.items() if not name.startswith(("aws:", "loom:"))}
