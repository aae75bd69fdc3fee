"""A report's JSON summary for programs, stated by its notebook.

A notebook states its verdict by displaying an object whose MIME bundle holds `SUMMARY_MIME`; the last one is used. It
is read from the executed notebook, so nothing is parsed from text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .notebook import Notebook

SUMMARY_MIME = "application/vnd.loom.summary+json"
SCHEMA = "loom.report/1"
_PACKAGES = ("loomlib", "boto3", "papermill", "plotly", "pandas")


def stated_summary(notebook: Notebook) -> dict[str, Any]:
    """Return the last summary that the notebook displayed; empty when there is none."""
    summary: dict[str, Any] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            stated = output.get("data", {}).get(SUMMARY_MIME)
            if isinstance(stated, Mapping):
                summary = dict(cast("Mapping[str, Any]", stated))
    return summary


def gate_sentences(summary: Mapping[str, Any], outcome: str) -> list[str]:
    """Return a sentence for each gate with an outcome: `{"gates": [{"outcome": "missed", "sentence": …}]}`.

    Args:
        summary: The summary of the notebook.
        outcome: "passed", "missed" or "unclear".
    """
    return [
        str(gate.get("sentence") or f"Gate {outcome}: {gate.get('name', 'unnamed')}")
        for gate in cast("list[Mapping[str, Any]]", summary.get("gates") or [])
        if gate.get("outcome") == outcome
    ]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter to the report's numbers."""
    installed = {"python": python_version()}
    for package in _PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def json_ready(value: Any) -> Any:
    """Return `value` as valid JSON values: NaN and infinities become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {str(key): json_ready(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in cast("list[Any]", value)]
    return value
