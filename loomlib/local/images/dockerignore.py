"""The files of a build context that `.dockerignore` excludes, by the rules of Docker's matcher (moby/patternmatcher).

https://docs.docker.com/build/concepts/context/#dockerignore-files: paths begin at the context's root, `*` stays within
a folder, `**` does not, and the last pattern that matches a file or one of its folders decides. gitignore differs.
"""

from __future__ import annotations

import posixpath
import re
from typing import Final

from ..patterns import Pattern, PatternError
from .dockerfile import DockerfileError

_PART: Final = re.compile(r"(?P<any>\*\*+/?)|(?P<some>\*)|(?P<one>\?)|\\(?P<escaped>.)|(?P<other>.)", re.DOTALL)
_SPECIAL: Final = frozenset(".+()|{}$\\")


class Dockerignore:
    """The patterns of a `.dockerignore`.

    Args:
        text: The file's content.

    Raises:
        DockerfileError: A pattern is malformed.
    """

    def __init__(self, text: str = "") -> None:
        self._patterns: list[tuple[bool, Pattern]] = []
        for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
            pattern = "" if line.startswith("#") else line.strip()
            keeps = pattern.startswith("!")
            path = pattern[1:].strip() if keeps else pattern
            if keeps and not path:
                raise DockerfileError(f".dockerignore, line {number}: the exception ! names no pattern")
            path = posixpath.normpath(path).lstrip("/") if path else "."
            if path in (".", ""):
                continue  # a line without a pattern, and `.`, which Docker ignores
            try:
                self._patterns.append((keeps, Pattern(_expression(path), dot_all=True)))
            except PatternError as error:
                raise DockerfileError(f".dockerignore, line {number}: the pattern {path}: {error}") from error

    def excludes(self, path: str) -> bool:
        """Return whether a file is excluded.

        Args:
            path: Its path in the context.
        """
        folders = path.split("/")
        paths = ["/".join(folders[:depth]) for depth in range(len(folders), 0, -1)]
        excluded = False
        for keeps, pattern in self._patterns:
            if excluded == keeps and any(pattern.matches_whole(candidate) for candidate in paths):
                excluded = not keeps
        return excluded


def _expression(path: str) -> str:
    """Return the regular expression of a pattern. Brackets mean the same in both."""
    parts: list[str] = []
    for match in _PART.finditer(path):
        if match["any"]:
            parts.append("(?:.*/)?" if match.end() < len(path) else ".*")
        elif match["some"]:
            parts.append("[^/]*")
        elif match["one"]:
            parts.append("[^/]")
        elif match["escaped"]:
            parts.append(re.escape(match["escaped"]))
        else:
            parts.append(f"\\{match['other']}" if match["other"] in _SPECIAL else match["other"])
    return "".join(parts)
