"""The tools of a Bedrock agent under the names that its successor gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Final

from loomlib.aws.bedrock_agent_traces import AgentStep
from loomlib.aws.bedrock_agents import ControlRequest
from loomlib.evals.values.tool_use import ToolUse

from ..model import ImportedAgent

_RETURNED: Final = "RETURN_CONTROL"
_NOT_ALLOWED: Final = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class ToolNames:
    """The names of an agent's tools after its import; a tool that is not named here keeps its own name.

    Attributes:
        actions: Tools by action group and function, or by action group and `METHOD path`.
        searches: Tools by the id of a knowledge base.
        collaborators: Tools by the name of a collaborator.
        code: The tool that runs code.

    Examples:
        >>> ToolNames(actions={("orders", "get_order"): "orders_get_order"})  # doctest: +SKIP
    """

    actions: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    searches: Mapping[str, str] = field(default_factory=dict[str, str])
    collaborators: Mapping[str, str] = field(default_factory=dict[str, str])
    code: str = "code"

    @classmethod
    def of(
        cls,
        agent: ImportedAgent,
        *,
        searches: Mapping[str, str] | None = None,
        collaborators: Mapping[str, str] | None = None,
        code: str = "code",
    ) -> ToolNames:
        """Return the names that an imported agent's tools have (`ImportedTool.name`).

        Args:
            agent: The agent.
            searches: The tools of knowledge bases by id, where a generator named them.
            collaborators: The tools of collaborators by name, likewise.
            code: The tool that runs code.
        """
        return cls(
            actions={
                (group.name, tool.function or f"{tool.method} {tool.path}"): tool.name
                for group in agent.action_groups
                for tool in group.tools
            },
            searches=dict(searches or {}),
            collaborators=dict(collaborators or {}),
            code=code,
        )

    @cached_property
    def digest(self) -> str:
        """Hash of all names, for the identity of stored answers."""
        parts = (sorted(self.actions.items()), sorted(self.searches.items()), sorted(self.collaborators.items()))
        return sha256(repr((*parts, self.code)).encode()).hexdigest()[:12]

    def of_action(self, group: str, name: str) -> str:
        """Return the name of a function or an operation.

        Args:
            group: Its action group.
            name: The function, or the method and the path.
        """
        return self.actions.get((group, name)) or _tool_name(name)

    def tool_of_request(self, request: ControlRequest) -> ToolUse:
        """Return a call that the agent returned to its caller, without its result."""
        return ToolUse(name=self.of_action(request.action_group, request.name), arguments=request.typed)

    def tools_of(self, steps: Iterable[AgentStep]) -> list[ToolUse]:
        """Return the tool calls of a trace in order.

        Calls of a collaborator's own are left out, since the successor calls the collaborator as a tool; so are calls
        that the agent returned to its caller, which `tool_of_request` has.

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
                name, arguments = self.searches.get(step.name) or _tool_name(step.name), {"query": step.input}
            elif step.kind == "agent":
                name = self.collaborators.get(step.name) or _tool_name(step.name)
                arguments = {"task": step.input}
            else:
                continue
            tools.append(ToolUse(name=name, arguments=arguments, result=step.output, duration_ms=step.duration_ms))
        return tools

    def takes_free_text(self, tool: str) -> bool:
        """Return whether a tool's only argument is a text that the model writes freely: a search, a task, code."""
        return tool == self.code or tool in {*self.searches.values(), *self.collaborators.values()}


def _tool_name(name: str) -> str:
    """Return a name as a tool can have it: `GET /orders/{id}` as `GET_orders_id`."""
    return _NOT_ALLOWED.sub("_", name).strip("_")[:64] or "tool"
