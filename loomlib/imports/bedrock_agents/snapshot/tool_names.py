"""Tool names that models accept, unique within an agent."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ..model import ActionGroup, ImportedTool

LONGEST_TOOL_NAME: Final = 64
"""Longest tool name, in characters (Converse, "ToolSpecification")."""

_OTHER: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_HASH: Final = 6


def with_tool_names(groups: Iterable[ActionGroup]) -> tuple[ActionGroup, ...]:
    """Return action groups whose tools are named `group__tool`, in characters that models accept.

    A name that is too long ends in a hash of the full name, so that long names with the same prefix differ.

    Args:
        groups: The action groups of one agent.
    """
    used: set[str] = set()
    return tuple(
        replace(group, tools=tuple(_with_unique_name(group, tool, used) for tool in group.tools)) for group in groups
    )


def _with_unique_name(group: ActionGroup, tool: ImportedTool, used: set[str]) -> ImportedTool:
    whole = f"{group.name}__{tool.name}"
    plain = _OTHER.sub("_", whole).strip("_") or "tool"
    if len(plain) > LONGEST_TOOL_NAME:
        ending = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:_HASH]
        plain = f"{plain[: LONGEST_TOOL_NAME - _HASH - 1]}_{ending}"
    name, count = plain, 1
    while name.lower() in used:
        count += 1
        ending = f"_{count}"
        name = f"{plain[: LONGEST_TOOL_NAME - len(ending)]}{ending}"
    used.add(name.lower())
    return replace(tool, name=name)
