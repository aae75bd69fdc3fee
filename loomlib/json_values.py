"""Read untrusted JSON values: each function returns a value of the requested type, or an empty one.

Examples:
    >>> as_mapping([1]), as_list("text"), as_text(None)
    ({}, (), '')
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def mapping_or_none(value: object) -> Mapping[str, Any] | None:
    """Return `value` if it is a mapping, else None."""
    if type(value) is dict:  # nearly always, and five times as fast
        return cast("Mapping[str, Any]", value)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return `value` if it is a mapping, else an empty one."""
    if type(value) is dict:
        return cast("Mapping[str, Any]", value)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[Any]:
    """Return `value` if it is a list or tuple, else an empty sequence."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()


def text_or_none(value: object) -> str | None:
    """Return `value` if it is a string, else None."""
    return value if isinstance(value, str) else None


def as_text(value: object) -> str:
    """Return `value` if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def to_text(value: object) -> str:
    """Return any value as text: strings unchanged, bytes decoded as UTF-8, None as "", everything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError, TypeError):
        return f"({type(value).__name__})"


def encodable(text: str) -> str:
    """Return text that UTF-8 can encode: lone surrogates, which JSON allows, become U+FFFD, and pairs one character."""
    if not _SURROGATES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def number_or_none(value: object) -> float | None:
    """Return a finite number, from a number or its text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e300 else None


def count_or_none(value: object) -> int | None:
    """Return a whole number of at least 0, from a number or its text; None for anything else."""
    number = number_or_none(value)
    return int(number) if number is not None and number >= 0 else None


def parse_embedded(value: object) -> Any:
    """Parse a string that holds a JSON object or array; return anything else unchanged."""
    if isinstance(value, str) and value[:64].lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def parse_object(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object; return an empty one when `text` is not JSON or not an object."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
