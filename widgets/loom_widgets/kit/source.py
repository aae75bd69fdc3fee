"""The Python code that panels show, and the conversion of DataFrames to rows."""

# pyright: basic

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loomlib import Workbench
from loomlib.errors import SettingsError
from loomlib.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


def connect_code(bench: Workbench) -> str:
    """Return the lines before a call: the import, and a workbench on the same environment."""
    return f"import loomlib as loom\n\nbench = {connect_call(bench)}\n"


def connect_call(bench: Workbench) -> str:
    """Return the call that opens a workbench on the same environment."""
    settings = bench.context.settings
    arguments = [] if bench.where == "local" else [repr(bench.where), f"region={bench.clients.region!r}"]
    if bench.where != "local" and settings.profile:
        arguments.append(f"profile={settings.profile!r}")
    if (home := settings.home.resolve()) != _usual_home():
        arguments.append(f"home={str(home)!r}")
    return f"loom.connect({', '.join(arguments)})"


def reopen_code(opener: str, bench: Workbench) -> str:
    """Return Python that opens a panel on the same workbench in another process, without using variables.

    Args:
        opener: The function of `loom_widgets` that opens the panel.
        bench: The panel's workbench.

    Returns:
        The code; "" when the workbench has settings that only its own process knows, such as the address of a database.
    """
    settings = bench.context.settings
    place = {"home": str(settings.home.resolve()), "region": settings.region, "profile": settings.profile}
    try:
        if Settings.load(**place) != replace(settings, home=settings.home.resolve()):
            return ""
    except SettingsError:
        return ""
    arguments = [
        repr(opener),
        f"where={bench.where!r}",
        *(f"{name}={value!r}" for name, value in place.items() if value),
    ]
    return f"__import__('loom_widgets.opening', fromlist=['reopen']).reopen({', '.join(arguments)})"


def _usual_home() -> Path | None:
    """Return the default home folder of a workbench; None when the settings cannot be read."""
    try:
        return Settings.load().home.resolve()
    except SettingsError:
        return None


def frame_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as JSON values: times as ISO 8601, missing values as None."""
    return [{str(key): plain(value) for key, value in row.items()} for row in frame.to_dict("records")]


def plain(value: Any) -> Any:
    """Convert a value to JSON; a list becomes its values separated by commas."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if hasattr(value, "isoformat"):
        return None if value != value else value.isoformat()
    if isinstance(value, int | float):
        return None if value != value or value in (float("inf"), float("-inf")) else value
    return plain(value.item()) if hasattr(value, "item") else str(value)
