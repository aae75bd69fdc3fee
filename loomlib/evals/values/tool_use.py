"""Tool calls: those of an agent and those that a case expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool call of an agent.

    Attributes:
        name: The tool's name.
        arguments: The arguments; None when they were not recorded, {} when there were none.
        result: The tool's result, None when not recorded.
        status: "success", "error" or "" (unknown).
        duration_ms: Duration of the tool's own span in ms.
        span_id: Id of the tool's span, "" when unknown.
    """

    name: str
    arguments: Mapping[str, Any] | None = None
    result: Any = None
    status: str = ""
    duration_ms: float | None = None
    span_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTool:
    """One call of a tool that a case expects.

    Attributes:
        name: The tool's name.
        arguments: The exact arguments, compared as JSON values; None accepts any.
        matchers: How a field is compared instead, by the field's name: "ignore", "contains", "regex", "normalized" or
            "numeric:0.01" (see `loomlib.evals.matching.matchers`). The field need not be in `arguments`.
        result: The expected result; None accepts any.
    """

    name: str
    arguments: Mapping[str, Any] | None = None
    matchers: Mapping[str, str] = field(default_factory=dict[str, str])
    result: Any = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("An expected tool needs a name")
