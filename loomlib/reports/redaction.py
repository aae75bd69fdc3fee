"""Redaction of secrets in the files of a report.

Known values (the credentials in the environment and the local service's keys) are removed wherever they appear; texts
in the form of a secret (`loomlib.redaction.KNOWN_FORMS`) are removed as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from loomlib import redaction

REDACTED = "[redacted]"
_SECRET_NAME = re.compile(r"secret|token|password|access_?key", re.I)


class Redactor:
    """Replaces secrets in text and in anything made of dictionaries, lists and text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._redactor = redaction.Redactor(redaction.KNOWN_FORMS, known=secrets, placeholder=REDACTED)

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self._redactor.redact(text).text

    def value(self, value: Any) -> Any:
        """Return a copy of `value` whose strings, keys included, hold no secrets."""
        return self._redactor.value(value)


def secrets_in(environment: Mapping[str, str]) -> Iterator[str]:
    """Iterate over the values of the variables whose names mark them as secret."""
    for name, value in environment.items():
        if value and _SECRET_NAME.search(name):
            yield value


def secrets_of_home(home: Path) -> Iterator[str]:
    """Return the keys of the local AgentCore of a home folder; nothing when there is none."""
    try:
        state = json.loads((home / "service.json").read_text("utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(state, dict):
        pairs = cast("dict[str, object]", state)
        yield from secrets_in({name: str(value) for name, value in pairs.items()})
