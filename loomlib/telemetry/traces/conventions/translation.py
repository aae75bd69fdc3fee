"""Translate the attributes of a span to the names of OpenTelemetry's GenAI conventions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from loomlib.json_values import as_list, as_mapping, mapping_or_none, parse_embedded, to_text

from .envelopes import open_arguments, open_result
from .tables import CONVENTIONS, MOST_PARTS, MessageLayout, Path, SpanConvention

_KINDS: Final = tuple(convention.kind for convention in CONVENTIONS)
_MOST_DIGITS: Final = 9
"""Digits of a number in an attribute's name; `int` refuses more than 4,300."""


def translate(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a span's attributes with those of the GenAI conventions added, or None if it needs no translation.

    Existing attributes keep their values, except the wrapped arguments and results of tools.

    Args:
        attributes: The span's attributes.
    """
    if attributes.keys().isdisjoint(_KINDS):  # true for most spans, and three times as fast as the loop
        return None
    for convention in CONVENTIONS:
        stated = attributes.get(convention.kind)
        if type(stated) is str:
            return _translated(attributes, convention, stated)
    return None


def _translated(attributes: Mapping[str, Any], convention: SpanConvention, stated: str) -> dict[str, Any]:
    operation = convention.operations.get(stated.upper(), "other")
    facts = {"gen_ai.operation.name": operation, **attributes}
    operation = to_text(facts["gen_ai.operation.name"])
    for names in (convention.names, convention.names_of.get(operation, {})):
        for name, sources in names.items():
            if name not in facts and (source := next((item for item in sources if item in attributes), None)):
                facts[name] = attributes[source]
    if operation == "chat":
        for layout in convention.messages:
            if layout.target not in facts and (messages := list(_messages(attributes, layout))):
                facts[layout.target] = messages
    elif operation == "execute_tool":
        _open_envelopes(facts)
    elif operation == "invoke_agent" and convention.text_output is not None:
        value, kind = (attributes.get(name) for name in convention.text_output)
        if isinstance(value, str) and kind != "application/json":
            facts.setdefault("gen_ai.output.messages", [_message("assistant", [_text(value)])])
    return facts


def _open_envelopes(facts: dict[str, Any]) -> None:
    arguments = facts.get("gen_ai.tool.call.arguments")
    if arguments is not None:
        facts["gen_ai.tool.call.arguments"] = open_arguments(arguments)
    result = facts.get("gen_ai.tool.call.result")
    if result is None:
        return
    opened = open_result(result)
    facts["gen_ai.tool.call.result"] = opened.content
    for name, value in (("gen_ai.tool.call.id", opened.call_id), ("gen_ai.tool.status", opened.status)):
        if value and name not in facts:
            facts[name] = value


def _messages(attributes: Mapping[str, Any], layout: MessageLayout) -> Iterator[dict[str, Any]]:
    """Yield the messages as the GenAI conventions define them: a role, and typed parts."""
    for item in as_list(_nested(attributes, layout.prefix)):
        role = to_text(_at(item, layout.role)) or layout.default_role
        call_id, content = to_text(_at(item, layout.call_id)), _at(item, layout.content)
        parts = list(_parts(item, content, layout))
        if role == "tool" or call_id:
            response = content if content is not None else "\n".join(to_text(part.get("content")) for part in parts)
            parts = [{"type": "tool_call_response", "id": call_id, "response": response}]
        for call in as_list(_at(item, layout.tool_calls)):
            parts.append(
                {
                    "type": "tool_call",
                    "id": to_text(_at(call, layout.tool_id)),
                    "name": to_text(_at(call, layout.tool_name)),
                    "arguments": parse_embedded(_at(call, layout.tool_arguments)),
                }
            )
        yield _message(role, parts, _at(item, layout.finish_reason) if layout.finish_reason else None)


def _parts(item: object, content: object, layout: MessageLayout) -> Iterator[dict[str, Any]]:
    if content not in (None, "", '""'):  # OpenLLMetry writes some texts as JSON
        yield _text(content)
    for part in as_list(_at(item, layout.contents)) if layout.contents else ():
        kind, text = to_text(_at(part, layout.part_type)), _at(part, layout.part_text)
        if kind == "text" or (not kind and text is not None):
            yield _text(text)
        elif kind not in ("tool_use", "tool_call", "tool_result"):  # these are among the tool calls too
            yield {"type": kind or "other", "content": "" if text is None else to_text(text)}


def _text(content: object) -> dict[str, Any]:
    return {"type": "text", "content": to_text(content)}


def _message(role: str, parts: list[dict[str, Any]], finish_reason: object = None) -> dict[str, Any]:
    ended = {} if finish_reason is None else {"finish_reason": to_text(finish_reason)}
    return {"role": role, "parts": parts, **ended}


def _at(value: object, path: Path) -> Any:
    for name in path:
        value = as_mapping(value).get(name)
    return value


def _nested(attributes: Mapping[str, Any], prefix: str) -> Any:
    """Return the value that attributes with dotted names describe: objects, and lists where all names are numbers."""
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for name, value in attributes.items():
        if not name.startswith(start):
            continue
        *path, last = name[len(start) :].split(".", MOST_PARTS)
        at = tree
        for part in path:
            inner = at.setdefault(part, {})
            if type(inner) is not dict:
                break
            at = cast("dict[str, Any]", inner)
        else:
            at.setdefault(last, value)
    return _listed(tree)


def _listed(value: Any) -> Any:
    entries = mapping_or_none(value)
    if not entries:
        return value
    if all(name.isdecimal() and len(name) <= _MOST_DIGITS for name in entries):
        return [_listed(entries[name]) for name in sorted(entries, key=int)]
    return {name: _listed(item) for name, item in entries.items()}
