"""YAML as plain JSON values: according to YAML 1.2's core schema, with a limit on the expansion of aliases.

PyYAML follows YAML 1.1, in which the country code `NO` is false, `12:30` a number and `2026-01-31` a date. Therefore
its nodes are converted here, and values that JSON does not have remain strings.
"""

from __future__ import annotations

import re
from typing import Any, Final

_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE: Final = frozenset(("true", "True", "TRUE"))
_FALSE: Final = frozenset(("false", "False", "FALSE"))
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,300})")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")
_TEXT: Final = "tag:yaml.org,2002:str"
_PAIR: Final = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_SINGLE: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def parse_yaml(text: str, *, most_values: int, deepest: int) -> Any:
    """Return the value of a YAML text.

    Args:
        text: One document.
        most_values: The maximum number of values, with aliases expanded.
        deepest: The maximum nesting level.

    Raises:
        ValueError: It is not YAML, or exceeds a limit.
    """
    import yaml  # imported only for documents in YAML

    try:
        node = _compose(text)
    except yaml.YAMLError:
        # JSON's escapes of characters beyond the basic plane, and control characters, are not valid in YAML.
        repaired = _SINGLE.sub(r"\\ufffd", _PAIR.sub(_joined, _CONTROLS.sub(" ", text)))
        try:
            node = _compose(repaired)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error
    return _Values(most_values, deepest).of(node, 0)


def _compose(text: str) -> Any:
    import yaml

    vendor: Any = yaml
    return vendor.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _joined(match: re.Match[str]) -> str:
    high, low = int(match[1], 16), int(match[2], 16)
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08X}"


class _Values:
    def __init__(self, most: int, deepest: int) -> None:
        self._nodes_left, self._deepest = most, deepest

    def of(self, node: Any, depth: int) -> Any:
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise ValueError("it has too many values, with aliases expanded")
        if depth > self._deepest:
            raise ValueError("it is nested too deeply")
        if node is None:
            return None
        if node.id == "scalar":
            return _scalar(node.value, is_plain=not node.style and node.tag != _TEXT)
        if node.id == "sequence":
            return [self.of(item, depth + 1) for item in node.value]
        mapping: dict[str, Any] = {}
        for name, item in node.value:
            if name.id != "scalar":
                raise ValueError("it has a key that is not a string")
            if name.value == "<<" and not name.style:
                for source in item.value if item.id == "sequence" else [item]:
                    if source.id != "mapping":
                        raise ValueError("it merges a value that is not a mapping")
                    mapping = {**self.of(source, depth + 1), **mapping}
            else:
                mapping[name.value] = self.of(item, depth + 1)
        return mapping


def _scalar(text: str, *, is_plain: bool) -> Any:
    if not is_plain:
        return text
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
