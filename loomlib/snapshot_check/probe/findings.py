"""The findings of the probe, as they are sent to the workbench."""

from __future__ import annotations

from typing import Any

from .agent_code import AgentCode
from .tracing import SourceLine

_MOST = 200
_MOST_PATHS = 5


class Findings:
    """Collects findings, one for each kind and line.

    Values are never part of one: they may be secrets.

    Args:
        code: The agent's code.
    """

    def __init__(self, code: AgentCode) -> None:
        self._code = code
        self._by_place: dict[tuple[str, str, int], dict[str, Any]] = {}

    def add(self, kind: str, line: SourceLine, *, path: str = "", made_by: str = "", detail: str = "") -> None:
        """Add a finding, or a further path to one.

        Args:
            kind: What is shared.
            line: The agent's line.
            path: Where the value is kept.
            made_by: The function that created it, or what it is.
            detail: Anything else to know.
        """
        key = (kind, self._file(line), line[1])
        if key not in self._by_place:
            if len(self._by_place) >= _MOST:
                return
            self._by_place[key] = {
                "kind": kind, "file": key[1], "line": line[1], "paths": [], "made_by": made_by, "detail": detail,
            }  # fmt: skip
        paths: list[str] = self._by_place[key]["paths"]
        is_known = any(other == path or other.endswith("." + path) for other in paths)
        if path and not is_known and len(paths) < _MOST_PATHS:
            paths.append(path[:300])

    def has(self, kind: str, line: SourceLine) -> bool:
        """Return whether there is a finding of a kind at a line."""
        return (kind, self._file(line), line[1]) in self._by_place

    def document(self) -> list[dict[str, Any]]:
        """Return all findings, ready for JSON."""
        return list(self._by_place.values())

    def _file(self, line: SourceLine) -> str:
        return self._code.relative(line[0]).replace("\\", "/")
