"""The code that is generated from an agent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FrameworkName = Literal["strands", "langgraph"]
"""A framework for which agents are generated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedAgent:
    """An agent's code, as texts.

    Attributes:
        name: The runtime's name.
        framework: The framework of the code.
        files: The text of each file by its path, with forward slashes.
    """

    name: str
    framework: FrameworkName
    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The SHA-256 of all paths and texts, in hexadecimal."""
        digest = hashlib.sha256()
        for path, text in sorted(self.files.items()):
            content = text.encode()
            digest.update(f"{path}\n{len(content)}\n".encode() + content)
        return digest.hexdigest()
