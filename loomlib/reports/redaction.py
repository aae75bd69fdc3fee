"""Keeping secrets out of what a report leaves behind.

Two kinds: values that are known (the credentials in the environment and the local service's own keys) are removed
wherever they appear; forms that AWS documents (access key ids, session tokens and signatures in presigned addresses,
secret keys beside their name) are removed although nobody told us the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

REDACTED = "[redacted]"
_SECRET_NAME = re.compile(r"secret|token|password|access_?key", re.I)
_SHORTEST = 8
_VALUE = r"[^&,\s\"'<>\\]+"
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    # IAM user guide, "Understanding unique ID prefixes": AKIA long-term keys, ASIA temporary ones.
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"), REDACTED),
    (
        re.compile(r"((?:secret_?(?:access_?)?key|session_?token)[\"']?\s*[=:]\s*[\"']?)[\w/+=-]{16,}", re.I),
        rf"\1{REDACTED}",
    ),
    (re.compile(rf"((?:X-Amz-)?(?:Credential|Signature|Security-Token)=){_VALUE}", re.I), rf"\1{REDACTED}"),
    (re.compile(r"(\bBearer\s+)[\w.~+/=-]{8,}", re.I), rf"\1{REDACTED}"),
)


class Redactor:
    """Replaces secrets in text and in anything made of dictionaries, lists and text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def text(self, text: str) -> str:
        """`text` without secrets."""
        if self._known is not None:
            text = self._known.sub(REDACTED, text)
        for form, replacement in _FORMS:
            text = form.sub(replacement, text)
        return text

    def value(self, value: Any) -> Any:
        """A copy of `value` whose strings (keys too) are free of secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            pairs = cast("Mapping[Any, Any]", value).items()
            return {self.value(key): self.value(item) for key, item in pairs}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in cast("list[Any]", value)]
        return value


def secrets_in(environment: Mapping[str, str]) -> Iterator[str]:
    """The values of the variables whose names say that they are secret."""
    for name, value in environment.items():
        if value and _SECRET_NAME.search(name):
            yield value


def secrets_of_home(home: Path) -> Iterator[str]:
    """The keys of the local AgentCore that keeps its state under `home`; nothing when there is none."""
    try:
        state = json.loads((home / "service.json").read_text("utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(state, dict):
        pairs = cast("dict[str, object]", state)
        yield from secrets_in({name: str(value) for name, value in pairs.items()})
