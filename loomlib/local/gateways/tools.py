"""The tools of a target as they are stored with it, and their names at a gateway."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

SEPARATOR: Final = "___"
"""Between a target's name and its tool's name (AgentCore developer guide, "Understand how tools are named")."""


class TargetError(Exception):
    """A target cannot be used or did not answer; the message says why, without any credential."""


class TargetTimeoutError(TargetError):
    """A target did not answer in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayTool:
    """One tool of a target.

    Attributes:
        name: Its name at the target.
        description: What it does.
        input_schema: JSON schema of its arguments.
        output_schema: JSON schema of its structured result; None without one.
        request: The parts of its request, in a form that depends on the target's kind.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    request: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def stored(self) -> dict[str, Any]:
        """Return its JSON form, for `GatewayTool(**stored)`."""
        return asdict(self)

    def listing(self, target: str) -> dict[str, Any]:
        """Return its entry in `tools/list` of the gateway."""
        entry: dict[str, Any] = {
            "name": f"{target}{SEPARATOR}{self.name}",
            "description": self.description,
            "inputSchema": dict(self.input_schema),
        }
        if self.output_schema is not None:
            entry["outputSchema"] = dict(self.output_schema)
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a target, in the form of MCP's `CallToolResult`."""

    content: list[dict[str, Any]]
    structured: Mapping[str, Any] | None = None
    is_error: bool = False

    @classmethod
    def of_text(cls, text: str, *, is_error: bool = False) -> ToolResult:
        """Return a result that is one text."""
        return cls(content=[{"type": "text", "text": text}], is_error=is_error)

    def listing(self) -> dict[str, Any]:
        """Return the result of `tools/call`."""
        document: dict[str, Any] = {"content": self.content, "isError": self.is_error}
        if self.structured is not None:
            document["structuredContent"] = dict(self.structured)
        return document


def argument_text(value: Any) -> str:
    """Return an argument in the form that a path, a query or a header contains."""
    return value if isinstance(value, str) else json.dumps(value)
