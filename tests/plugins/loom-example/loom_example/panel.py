"""A panel needs no widget: whatever a notebook can show will do."""

from __future__ import annotations

from typing import Any


class Clock:
    def __init__(self, bench: Any, *, zone: str = "UTC") -> None:
        self.bench, self.zone = bench, zone

    def __repr__(self) -> str:
        return f"<Clock in {self.zone}, {len(self.bench.agents())} agents>"
