"""The wrappers that libraries add to a tool's arguments and result when they record them as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from loomlib.json_values import as_list, as_mapping, mapping_or_none, parse_embedded, to_text

Way = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultForm:
    """A form in which a tool's result is recorded.

    Attributes:
        keys: The keys by which it is recognized.
        states: Values by which it is recognized.
        content: Path to the content.
        call_id: Path to the id of the tool call.
        status: Path to the status.
    """

    keys: frozenset[str]
    states: Mapping[str, str]
    content: Way
    call_id: Way
    status: Way


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedResult:
    """A tool's result without its wrapper; `call_id` and `status` are "" where none is recorded."""

    content: Any
    call_id: str = ""
    status: str = ""


_WRAPPED_ARGUMENTS: Final[tuple[tuple[frozenset[str], Way], ...]] = (
    (frozenset({"input_str", "inputs"}), ("inputs",)),  # opentelemetry-instrumentation-langchain
    (frozenset({"input_str"}), ("input_str",)),
)
_WRAPPED_RESULTS: Final[tuple[tuple[frozenset[str], Way], ...]] = (
    (frozenset({"output", "kwargs"}), ("output",)),  # opentelemetry-instrumentation-langchain
    (frozenset({"update", "goto"}), ("update", "messages")),  # a Command of LangGraph
)
_FORMS: Final = (
    ToolResultForm(  # a message of LangChain, as `message_to_dict` writes it
        keys=frozenset({"type", "data"}),
        states={"type": "tool"},
        content=("data", "content"),
        call_id=("data", "tool_call_id"),
        status=("data", "status"),
    ),
    ToolResultForm(  # a message of LangChain, as `dumps` writes it
        keys=frozenset({"lc", "id", "kwargs"}),
        states={"type": "constructor"},
        content=("kwargs", "content"),
        call_id=("kwargs", "tool_call_id"),
        status=("kwargs", "status"),
    ),
    ToolResultForm(  # a message of LangChain, as its fields
        keys=frozenset({"content", "tool_call_id"}),
        states={},
        content=("content",),
        call_id=("tool_call_id",),
        status=("status",),
    ),
)


def open_arguments(value: object) -> Any:
    """Return a tool's arguments without their wrapper.

    Args:
        value: The arguments as recorded.
    """
    parsed = parse_embedded(value)
    return parse_embedded(_without(parsed, _WRAPPED_ARGUMENTS))


def open_result(value: object) -> OpenedResult:
    """Return a tool's result without its wrapper, with the call's id and status if present.

    Args:
        value: The result as recorded.
    """
    parsed = parse_embedded(_without(parse_embedded(value), _WRAPPED_RESULTS))
    items = as_list(parsed)
    fields = mapping_or_none(items[0] if len(items) == 1 else parsed)
    for form in _FORMS:
        if fields is not None and form.keys <= fields.keys() and _states(fields, form.states):
            return OpenedResult(
                content=_at(fields, form.content),
                call_id=to_text(_at(fields, form.call_id)),
                status=to_text(_at(fields, form.status)),
            )
    return OpenedResult(content=parsed)


def _states(fields: Mapping[str, Any], states: Mapping[str, str]) -> bool:
    return all(fields.get(name) == value for name, value in states.items())


def _without(value: object, wrappers: tuple[tuple[frozenset[str], Way], ...]) -> object:
    fields = mapping_or_none(value)
    for keys, way in wrappers:
        if fields is not None and keys <= fields.keys():
            return _at(fields, way)
    return value


def _at(value: object, way: Way) -> Any:
    for name in way:
        value = as_mapping(value).get(name)
    return value
