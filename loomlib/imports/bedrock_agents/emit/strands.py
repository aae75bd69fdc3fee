"""Agents for Strands."""

from __future__ import annotations

from typing import Final

from .framework import Framework

STRANDS: Final = Framework(
    name="strands",
    title="Strands",
    modules=("model_loop.py", "tools.py"),
    requirements=("strands-agents>=1.62",),
)
