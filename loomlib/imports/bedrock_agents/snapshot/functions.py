"""The functions of an action group as tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from loomlib.json_values import as_list, as_mapping, as_text, mapping_or_none

from ..model import ImportedTool, ToolParameter
from ..openapi.parameter_names import with_names

_TYPES: Final = ("string", "number", "integer", "boolean", "array")
"""The types of a function's parameters (Bedrock API reference, "ParameterDetail")."""


def function_tools(functions: object, *, description: str = "") -> Iterator[ImportedTool]:
    """Yield a tool for each function of an action group.

    Args:
        functions: The `functions` of its schema.
        description: The group's description, for functions without one.
    """
    for item in as_list(functions):
        function = as_mapping(item)
        if name := as_text(function.get("name")):
            yield ImportedTool(
                name=name,
                description=as_text(function.get("description")) or description,
                parameters=with_names(_parameters(as_mapping(function.get("parameters")))),
                requires_confirmation=as_text(function.get("requireConfirmation")).upper() == "ENABLED",
                function=name,
            )


def _parameters(parameters: Mapping[str, Any]) -> Iterator[ToolParameter]:
    for name, value in parameters.items():
        detail = mapping_or_none(value) or {}
        kind = as_text(detail.get("type"))
        kind = kind if kind in _TYPES else "string"
        schema: dict[str, Any] = {"type": kind, "items": {"type": "string"}} if kind == "array" else {"type": kind}
        yield ToolParameter(
            name=name,
            type=kind,
            description=as_text(detail.get("description")),
            is_required=detail.get("required") is True,
            schema=schema,
        )
