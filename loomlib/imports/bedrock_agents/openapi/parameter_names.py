"""Unique parameter names that models accept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ..model import ToolParameter

LONGEST: Final = 64
"""Longest parameter name that models of Amazon Bedrock accept, in characters."""

_OTHER: Final = re.compile(r"[^a-zA-Z0-9_.-]+")


def with_names(parameters: Iterable[ToolParameter]) -> tuple[ToolParameter, ...]:
    """Return parameters with names that models accept; the original name is stored as `wire_name`.

    Of two parameters with the same name, the first keeps it, and the other one is prefixed with its place: `body_id`.

    Args:
        parameters: The parameters in the order of the schema.
    """
    by_name: dict[str, ToolParameter] = {}
    for parameter in parameters:
        name = plain = (_OTHER.sub("_", parameter.name).strip("_") or "parameter")[:LONGEST]
        if name in by_name:
            name = plain = f"{parameter.place}_{plain}"[:LONGEST]
        count = 1
        while name in by_name:
            count += 1
            name = f"{plain[: LONGEST - 4]}_{count}"
        by_name[name] = parameter if name == parameter.name else replace(parameter, name=name, wire_name=parameter.name)
    return tuple(by_name.values())
