"""What a memory puts before a model, as lines: AgentCore's session manager writes `<user_context>…</user_context>`.

Those lines are about the user, and never taken for what the user asks.
"""

from __future__ import annotations

import contextlib
import json
import re

from loomlib.local.models.json_values import as_object, as_text

_BLOCK = re.compile(r"\s*<([\w-]*(?:context|memor)[\w-]*)>(.*)</\1>\s*", re.DOTALL | re.IGNORECASE)
_TOPIC = re.compile(r"</?topic\b[^>\n]*>")


def context_lines(text: str) -> list[str] | None:
    """The lines of a text block that is nothing but remembered context; None for any other text."""
    block = _BLOCK.fullmatch(text)
    return None if block is None else record_lines(block[2])


def record_lines(text: str) -> list[str]:
    """A record a line: preferences are JSON, summaries are topics in tags."""
    found: list[str] = []
    for line in text.splitlines():
        plain = line.strip()
        if plain.startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                plain = as_text(as_object(json.loads(plain)).get("preference")) or plain
        plain = _TOPIC.sub("", plain).strip()
        if plain:
            found.append(plain)
    return found
