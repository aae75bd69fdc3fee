"""The tools of a Bedrock agent under the names that its successor gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Final

from loomlib.aws.bedrock_agent_traces import AgentStep
from loomlib.aws.bedrock_agents import ControlRequest
from loomlib.evals.values.tool_use import ToolUse

from ..emit.naming import tool_name
from ..model import ImportedAgent

_RETURNED: Final = "RETURN_CONTROL"
_SEARCH: Final = "x_amz_knowledgebase_"
CODE_TOOL: Final = "get__codeinterpreteraction__execute"
QUESTION_TOOL: Final = "user__askuser"
"""Bedrock's own names of these tools, which generated code keeps (its module `toolbox`)."""


@dataclass(frozen=True, kw_only=True)
class ToolNames:
    """The names of an agent's tools after its import; tools that are not listed keep their names.

    Attributes:
        actions: Tools by action group and function, or by action group and `METHOD path`.
        searches: Tools by the id of a knowledge base.
        collaborators: Tools by the name of a collaborator.
        code: The tool that runs code.
        question: The tool that asks the user.
        inner: Tools of collaborators, whose calls are not compared.
        inner_actions: Those of the inner tools that belong to action groups, as in `actions`.

    Examples:
        >>> ToolNames(actions={("orders", "get_order"): "orders_get_order"})  # doctest: +SKIP
    """

    actions: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    searches: Mapping[str, str] = field(default_factory=dict[str, str])
    collaborators: Mapping[str, str] = field(default_factory=dict[str, str])
    code: str = CODE_TOOL
    question: str = QUESTION_TOOL
    inner: frozenset[str] = frozenset()
    inner_actions: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    @classmethod
    def of(cls, agent: ImportedAgent) -> ToolNames:
        """Return the names that the tools of an imported agent have in the code that Loom generates.

        Args:
            agent: The agent.
        """
        own = cls(
            actions=_actions(agent),
            searches={base.id: _search_tool(base.id) for base in agent.enabled_knowledge_bases},
            collaborators={item.name: tool_name(item.name) for item in agent.collaborators},
        )
        members = list(agent.walk())[1:]
        inner_actions = {key: name for member in members for key, name in _actions(member).items()}
        inner = set(inner_actions.values())
        inner |= {_search_tool(base.id) for member in members for base in member.enabled_knowledge_bases}
        return replace(own, inner=frozenset(inner - own.tool_names), inner_actions=inner_actions)

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the agent's own tools."""
        return frozenset((*self.actions.values(), *self.searches.values(), *self.collaborators.values()))

    @cached_property
    def digest(self) -> str:
        """Hash of all names, for the identity of stored answers."""
        parts = (sorted(self.actions.items()), sorted(self.searches.items()), sorted(self.collaborators.items()))
        return sha256(repr((*parts, self.code, self.question, sorted(self.inner))).encode()).hexdigest()[:12]

    def of_action(self, group: str, name: str) -> str:
        """Return the name of a function or an operation.

        Args:
            group: Its action group.
            name: The function, or the method and the path.
        """
        return self.actions.get((group, name)) or tool_name(name)

    def tool_of_request(self, request: ControlRequest) -> ToolUse:
        """Return a call that the agent returned to its caller as a tool call, without its result."""
        return ToolUse(name=self.of_action(request.action_group, request.name), arguments=request.typed)

    def tools_of(self, steps: Iterable[AgentStep]) -> list[ToolUse]:
        """Return the tool calls of a trace in order.

        A collaborator's own calls are left out, since the successor calls the collaborator as a tool; so are calls
        that the agent returned to its caller (see `tool_of_request`).

        Args:
            steps: The steps.
        """
        tools: list[ToolUse] = []
        for step in steps:
            if step.agent:
                continue
            if step.kind == "action" and step.name and step.executor != _RETURNED:
                is_code = step.name == "code" and not step.action_group
                name = self.code if is_code else self.of_action(step.action_group, step.name)
                arguments = {"code": step.input} if is_code else dict(step.arguments)
            elif step.kind == "search":
                name, arguments = self.searches.get(step.name) or _search_tool(step.name), {"query": step.input}
            elif step.kind == "question":
                name, arguments = self.question, {"question": step.output}
            elif step.kind == "agent":
                name = self.collaborators.get(step.name) or tool_name(step.name)
                arguments = {"task": step.input}
            else:
                continue
            tools.append(ToolUse(name=name, arguments=arguments, result=step.output, duration_ms=step.duration_ms))
        return tools

    def takes_free_text(self, tool: str) -> bool:
        """Return whether a tool's argument is free text from the model: a search, a task, code, a question.

        Args:
            tool: The tool's name.
        """
        free = {self.code, self.question, *self.searches.values(), *self.collaborators.values()}
        return tool in free or _is_search(tool)

    def of_successor(self, tools: Iterable[ToolUse]) -> tuple[ToolUse, ...]:
        """Return the successor's calls in the form in which they are compared.

        Calls of collaborators' own tools are left out. A tool of a hand-written successor may have the plain name of
        the old agent's function or operation; it counts as that one.

        Args:
            tools: The calls.
        """
        own = self._own_names
        return tuple(
            replace(use, name=own[use.name]) if use.name in own else use for use in tools if use.name not in self.inner
        )

    @cached_property
    def _own_names(self) -> dict[str, str]:
        """The imported tools by the old agent's own name, if that name is unique."""
        known_names, own_names = self.tool_names, dict[str, str]()
        ambiguous: set[str] = set()
        for (_, name), tool in self.actions.items():
            plain = tool_name(name)
            ambiguous |= {plain} if plain in own_names else set()
            own_names[plain] = tool
        return {plain: tool for plain, tool in own_names.items() if plain not in known_names and plain not in ambiguous}


def _actions(agent: ImportedAgent) -> dict[tuple[str, str], str]:
    return {
        (group.name, tool.function or f"{tool.method} {tool.path}"): tool.name
        for group in agent.action_groups
        for tool in group.tools
    }


def _search_tool(knowledge_base: str) -> str:
    return f"{_SEARCH}{knowledge_base}__Search"


def _is_search(tool: str) -> bool:
    return tool.startswith(_SEARCH)
