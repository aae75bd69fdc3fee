"""Generates the code of an agent as texts, without reading from or writing to AWS."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

import jinja2

from ....errors import LoomError
from ..features import assess_features
from ..model import DEEPEST, ImportedAgent
from .agent_toml import agent_toml, idle_seconds, memory_name
from .definitions import collaborator_tools, definition_files, http_servers
from .framework import Framework
from .generated import FrameworkName, GeneratedAgent
from .langgraph import LANGGRAPH
from .naming import one_line, runtime_name
from .python_text import python_text
from .strands import STRANDS
from .uses import Uses, callable_collaborators, callable_groups, distinct_agents, uses_of

FRAMEWORKS: Final[Mapping[FrameworkName, Framework]] = {framework.name: framework for framework in (STRANDS, LANGGRAPH)}
"""The frameworks by name."""

_REQUIREMENTS: Final = (
    "aws-opentelemetry-distro>=0.21",  # records spans on AWS; the local AgentCore has its own recorder
    "bedrock-agentcore>=1.25",
    "boto3>=1.44",
)
_SHARED: Final[Mapping[str, Callable[[Uses], bool]]] = {
    "agent.py": lambda _: True,
    "actions.py": lambda _: True,
    "approvals.py": lambda uses: uses.interrupts,
    "aws_clients.py": lambda _: True,
    "code_interpreter.py": lambda uses: uses.code,
    "definition.py": lambda _: True,
    "http_actions.py": lambda uses: uses.http,
    "knowledge.py": lambda uses: uses.knowledge,
    "long_term_memory.py": lambda uses: uses.memory,
    "payloads.py": lambda _: True,
    "prompts.py": lambda _: True,
    "sessions.py": lambda _: True,
    "steps.py": lambda uses: uses.steps,
    "toolbox.py": lambda _: True,
    "turn.py": lambda _: True,
    "pyproject.toml": lambda _: True,
    "tests/test_agent.py": lambda _: True,
    "README.md": lambda _: True,
}
"""The files that all frameworks share, each with the agents that need it."""


def generate_agent(agent: ImportedAgent, framework: FrameworkName) -> GeneratedAgent:
    """Generate the code of an agent and of its collaborators. Equal agents result in equal texts.

        generated = generate_agent(agent, "strands")
        write_agent(generated, "my_agent")

    Args:
        agent: The agent.
        framework: The framework to generate code for.

    Raises:
        LoomError: There is no such framework, or the collaborators are nested too deeply.
    """
    if framework not in FRAMEWORKS:
        raise LoomError("There is no such framework", on=str(framework), try_=" or ".join(FRAMEWORKS))
    if _depth(agent) > DEEPEST:
        raise LoomError(
            f"Its collaborators are nested over more than {DEEPEST} levels",
            on=agent.name,
            try_="generate one of its collaborators",
        )
    chosen, uses = FRAMEWORKS[framework], uses_of(agent)
    values = _template_values(agent, chosen, uses)
    files = {path: _rendered(f"shared/{path}", values) for path, is_used in _SHARED.items() if is_used(uses)}
    files |= {path: _rendered(f"{chosen.name}/{path}", values) for path in chosen.modules}
    files |= definition_files(agent)
    files["requirements.txt"] = "\n".join(sorted({*_REQUIREMENTS, *chosen.requirements})) + "\n"
    files["loom-agent.toml"] = agent_toml(agent, uses)
    files = {path: _writable(text) for path, text in files.items()}
    files["import.json"] = (
        _writable(json.dumps(_import_record(agent, framework, files), indent=2, ensure_ascii=False)) + "\n"
    )
    return GeneratedAgent(name=runtime_name(agent.name), framework=framework, files=dict(sorted(files.items())))


def _writable(text: str) -> str:
    """Return a text that is valid in UTF-8, TOML and Markdown: JSON may contain lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def _template_values(agent: ImportedAgent, framework: Framework, uses: Uses) -> dict[str, Any]:
    return {
        "uses": uses,
        "step_functions": _step_functions(uses),
        "framework": framework,
        "root": agent,
        "title": f"The agent {one_line(agent.name)}, imported from Bedrock Agents.",
        "idle_s": idle_seconds(agent),
        "agents": [(member, assess_features(member)) for member in distinct_agents(agent)],
        "name": runtime_name(agent.name),
        "memory_name": memory_name(agent),
        "notes": _notes(agent, framework),
        "base_models": _base_models(agent),
    }


def _step_functions(uses: Uses) -> list[str]:
    """Return the names that the template of `turn.py` imports from `steps.py`, in import order."""
    names = {
        "Asker": True,
        "check_request": uses.processing,
        "final_answer": uses.processing,
        "guarded": uses.router and uses.guardrail,
        "route": uses.router,
        "tagged": True,
    }
    return [name for name, is_used in names.items() if is_used]


def _base_models(root: ImportedAgent) -> str:
    """Return the models behind ARNs as Python, "" if no agent uses an ARN with a known model."""
    models_by_arn: dict[str, str] = {}
    for agent in distinct_agents(root):
        if agent.model.identifier.startswith("arn:") and agent.model.model_ids:
            models_by_arn[agent.model.identifier] = agent.model.model_ids[0]
    return python_text(models_by_arn, before=len("_BASE_MODELS: Final = ")) if models_by_arn else ""


def _notes(agent: ImportedAgent, framework: Framework) -> list[str]:
    """Return notes that the features do not cover."""
    notes = [
        f"The long-term memory of the collaborator {member.name} is not used: the agent's memory contains every turn."
        for member in distinct_agents(agent)[1:]
        if member.memory is not None
    ]
    servers = http_servers(agent)
    notes += [
        f"The API document for {variable} does not name a server: set that variable to the server's URL, or "
        f"LOOM_GATEWAY_URL to a gateway with the API."
        for variable, url in servers.items()
        if not url
    ]
    if servers:
        notes.append(
            "APIs without a Lambda function are called without credentials. If an API requires them, add it as a "
            "target to an AgentCore gateway, which stores the credentials, and set LOOM_GATEWAY_URL."
        )
    left_out = [
        group.name
        for member in distinct_agents(agent)
        for group in member.enabled_action_groups
        if group not in callable_groups(member)
    ]
    if left_out:
        names = ", ".join(left_out)
        notes.append(f"Action groups without an executor, or with an unreadable schema, are left out: {names}.")
    if any(member.inference.top_k is not None for member in distinct_agents(agent)):
        notes.append("top_k is sent to models of Anthropic and Amazon Nova; Converse has no field for others.")
    return notes


def _import_record(agent: ImportedAgent, framework: str, files: Mapping[str, str]) -> dict[str, Any]:
    """Return the provenance of the code, without secrets or times."""
    return {
        "framework": framework,
        "agents": [
            {"name": member.name, "id": member.id, "version": member.version, "alias": member.alias_id}
            for member in distinct_agents(agent)
        ],
        "tools": {f"{owner}/{tool['name']}": tool for owner, tool in _tools(agent)},
        "files": {path: hashlib.sha256(text.encode()).hexdigest() for path, text in sorted(files.items())},
    }


def _tools(root: ImportedAgent) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each tool with its agent's id, for identifying it in traces of Bedrock Agents."""
    for agent in distinct_agents(root):
        for group in callable_groups(agent):
            for tool in group.tools:
                operation = {"function": tool.function} if tool.function else {"path": tool.path, "method": tool.method}
                yield agent.id, {"name": tool.name, "kind": "action", "action_group": group.name, **operation}
        for base in agent.enabled_knowledge_bases:
            search_tool = f"x_amz_knowledgebase_{base.id}__Search"
            yield agent.id, {"name": search_tool, "kind": "knowledge_base", "knowledge_base": base.id}
        for (name, _), tool in zip(callable_collaborators(agent), collaborator_tools(agent), strict=True):
            yield agent.id, {"name": tool, "kind": "collaborator", "collaborator": name}


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("loomlib.imports.bedrock_agents", "templates"),
        autoescape=False,  # noqa: S701 - the templates are source code, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["md"] = _markdown
    environment.filters["code"] = lambda text: " ".join(str(text).split()).replace("`", "'")
    return environment


def _rendered(path: str, values: Mapping[str, Any]) -> str:
    return _environment().get_template(f"{path}.j2").render(values).rstrip("\n") + "\n"


def _depth(agent: ImportedAgent) -> int:
    return 1 + max((_depth(member) for _, member in callable_collaborators(agent)), default=0)


def _markdown(text: str) -> str:
    """Return a text escaped for a Markdown table cell."""
    plain = " ".join(text.split()).replace("\\", "\\\\")
    for character in "|`<>*[]":
        plain = plain.replace(character, f"\\{character}")
    return plain
