"""Hashes of an agent's behaviour, and of files."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from ..model import ImportedAgent
from .encoding import encode

_IDENTITY: Final = ("version", "alias_id", "alias_name")
"""Members that identify a version of an agent and do not affect its behaviour."""

_SORTED: Final = {"action_groups": "name", "knowledge_bases": "id", "collaborators": "name", "tools": "name",
                  "parameters": "name", "prompts": "name"}  # fmt: skip


def agent_digest(agent: ImportedAgent) -> str:
    """Return a hash of an agent's and its collaborators' behaviour, independent of versions, aliases, times and order.

    Args:
        agent: The agent.
    """
    canonical = json.dumps(_canonical(encode(agent)), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return content_digest(canonical.encode())


def content_digest(content: bytes) -> str:
    """Return the hash of a file's content.

    Args:
        content: The content.
    """
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _canonical(value: dict[str, Any]) -> dict[str, Any]:
    """Return an encoded agent without its identity, and with its parts in the order of their names."""
    canonical = {name: inner for name, inner in value.items() if name not in _IDENTITY}
    for name, key in _SORTED.items():
        if name in canonical:
            canonical[name] = sorted(
                map(_part, canonical[name]), key=lambda item: (str(item.get(key, "")), json.dumps(item))
            )
    return canonical


def _part(value: dict[str, Any]) -> dict[str, Any]:
    part = _canonical(value)
    if "agent" in part and part["agent"] is not None:
        part["agent"] = _canonical(part["agent"])
    return part
