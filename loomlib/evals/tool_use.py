"""Tools as an agent used them, and as a case expects them to be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One call of a tool that an agent made.

    `arguments` is None when nobody recorded them (not an empty dict, which says that there were none). `status` is
    "success", "error" or "" (not known). `duration_ms` is that of the tool's own span.
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

    `arguments` None expects nothing of them; a dict expects exactly these, compared as JSON values. `matchers` says
    for a field by name how it is compared instead ("ignore", "contains", "regex", "normalized", "numeric:0.01"; the
    names of `loomlib.evals.matching`), a field that is not in `arguments` included. `result` is what the tool is
    expected to give back, None when that does not matter.
    """

    name: str
    arguments: Mapping[str, Any] | None = None
    matchers: Mapping[str, str] = field(default_factory=dict[str, str])
    result: Any = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("an expected tool has a name")
