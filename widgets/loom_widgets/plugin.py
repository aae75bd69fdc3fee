"""The panels that loom-widgets registers through the entry-point group `loom.plugins`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from loomlib.plugins import hookimpl


def _opener(name: str) -> Callable[..., Any]:
    def open_panel(**options: Any) -> Any:
        import loom_widgets

        return getattr(loom_widgets, name)(**options)

    return open_panel


@hookimpl
def loom_panels() -> Mapping[str, Callable[..., Any]]:
    """Return the six panels; each is imported when it is opened."""
    return {name: _opener(name) for name in ("build", "test", "operate", "evaluate", "memory", "tools")}
