"""Names in generated code, from names of agents."""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Iterable
from typing import Final

_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_RUNTIME: Final = 48  # AgentCore's limit of agentRuntimeName
_LONGEST_TOOL: Final = 64  # Converse's limit of a tool's name
_OF_OTHERS: Final = frozenset(("aws", "loom", "otel", "openai", "anthropic", "langchain", "langsmith", "python"))
"""Prefixes of environment variables that SDKs read: an action group must not set AWS_ENDPOINT_URL."""
_NOT_IN_TOOLS: Final = re.compile(r"[^a-zA-Z0-9_-]+")


def module_name(name: str) -> str:
    """Return a name of lower-case letters, digits and underscores, which begins with a letter and is not a keyword.

    Args:
        name: An agent's name.
    """
    plain = _NOT_IN_NAMES.sub("_", name.lower()).strip("_")
    if keyword.iskeyword(plain) or plain == "root":  # `from .root import ROOT` would hide the constant ROOT
        return f"agent_{plain}"
    return plain if plain[:1].isalpha() else f"agent_{plain}".rstrip("_")


def runtime_name(name: str) -> str:
    """Return the name of the runtime for an agent: deterministic, with at most 48 characters.

    Args:
        name: The agent's name.
    """
    plain = module_name(name)
    if len(plain) <= _LONGEST_RUNTIME:
        return plain
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: _LONGEST_RUNTIME - 9]}_{digest}"


def variable_name(name: str, ending: str) -> str:
    """Return the name of an environment variable.

    Args:
        name: The name of its subject, such as an action group.
        ending: Its last word, such as "URL".
    """
    plain = module_name(name)
    start = "api_" if plain.partition("_")[0] in _OF_OTHERS else ""
    return f"{start}{plain}_{ending}".upper()


def tool_name(name: str) -> str:
    """Return a valid tool name for models.

    Args:
        name: A collaborator's name.
    """
    return _NOT_IN_TOOLS.sub("_", name).strip("_")[:_LONGEST_TOOL] or "agent"


def distinct(names: Iterable[str]) -> list[str]:
    """Return the names, with a number appended to repeated ones.

    Args:
        names: The names.
    """
    used: set[str] = set()
    result: list[str] = []
    for name in names:
        candidate, count = name, 1
        while candidate in used:
            count += 1
            candidate = f"{name}_{count}"
        used.add(candidate)
        result.append(candidate)
    return result


def one_line(text: str) -> str:
    """Return a text that is valid in the first line of a docstring.

    Args:
        text: Any text.
    """
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.replace("\\", "/").replace('"', "'").split())
