"""Untrusted texts and values, bounded and made safe for a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from loomlib.presentation.formats import number

from ...kit.texts import LONGEST_VALUE, short_text, well_formed

_TREE_NODES: Final = 2_000
_TREE_DEPTH: Final = 20


def short_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an agent's values as texts."""
    return {well_formed(key[:200]): short_text(value) for key, value in values.items()}


def tree_json(value: object) -> str:
    """Return a value as JSON text in ASCII, cut to what a page can show as a tree.

    Where it is cut, a text says so.
    """
    remaining = [_TREE_NODES]

    def cut(value: object, depth: int) -> Any:
        remaining[0] -= 1
        if isinstance(value, str):
            return value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
        if isinstance(value, float) and value - value != 0:
            return str(value)
        if isinstance(value, int) and abs(value) > 2**53:  # a page would round it
            return str(value)
        if not isinstance(value, (dict, list)):
            return value if value is None or isinstance(value, (bool, int, float)) else str(value)
        if depth >= _TREE_DEPTH:
            return "… (nested too deeply to show)"
        if isinstance(value, dict):
            fields_cut: dict[str, Any] = {}
            fields = cast("dict[str, object]", value)
            for key, field in fields.items():
                if remaining[0] <= 0:
                    fields_cut["…"] = f"{number(len(fields) - len(fields_cut))} more"
                    break
                fields_cut[key[:200]] = cut(field, depth + 1)
            return fields_cut
        listed: list[Any] = []
        entries = cast("list[object]", value)
        for entry in entries:
            if remaining[0] <= 0:
                listed.append(f"… {number(len(entries) - len(listed))} more")
                break
            listed.append(cut(entry, depth + 1))
        return listed

    return json.dumps(cut(value, 0))


def describe_prompt(prompt: str) -> tuple[str, str]:
    """Return the sender and text of a stored prompt; decisions, answers and tool calls become sentences."""
    try:
        parsed: object = json.loads(prompt) if prompt.startswith("{") else None
    except (ValueError, RecursionError):
        parsed = None
    document = _mapping(parsed)
    if decision := _mapping(document.get("approval")):
        note = f": {decision['note']}" if decision.get("note") else ""
        words = {"approve": "Approved", "reject": "Rejected"}.get(str(decision.get("decision")), "Decided")
        return "You", f"{words}{note}"
    if params := _mapping(_mapping(document.get("mcp")).get("params")):
        return "View", f"calls {params.get('name')} with {short_text(params.get('arguments') or {})}"
    if isinstance(resource := document.get("resource"), str) and len(document) == 1:
        return "You", resource
    target = document.get("prompt") if set(document) == {"prompt", "arguments"} else document.get("tool")
    if isinstance(target, str):
        arguments = ", ".join(f"{name}={value!r}" for name, value in _mapping(document.get("arguments")).items())
        return "You", f"{target}({arguments})"
    resume = document.get("resume")
    if isinstance(resume, list) and resume:
        return "You", "; ".join(describe_answer(_mapping(item)) for item in cast("list[object]", resume))
    return "You", prompt


def describe_answer(answer: Mapping[str, Any]) -> str:
    """Describe an answer to a question of a run."""
    if answer.get("status") == "cancelled":
        return "Left unanswered"
    payload = answer.get("payload")
    approved = _mapping(payload).get("approved")
    if isinstance(approved, bool) and len(_mapping(payload)) == 1:
        return "Approved" if approved else "Rejected"
    return f"Answered {short_text(payload)}"


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
