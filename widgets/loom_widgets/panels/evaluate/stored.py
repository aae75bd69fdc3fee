"""Stored runs and available sets."""

from __future__ import annotations

from typing import Any

from loomlib import Workbench
from loomlib.evals.formats.shipped import shipped_names

from .asking import FILE, SHIPPED, STORED

_MOST_SETS = 20


def run_rows(bench: Workbench) -> list[dict[str, Any]]:
    """Return the stored runs, newest first."""
    frame = bench.evals.runs()
    return [
        {
            "id": row["id"],
            "name": row["name"],
            "set": row["set"],
            "target": row["target"],
            "state": row["state"],
            "reason": row["reason"],
            "results": int(row["results"]),
            "created_at": row["created_at"].isoformat(),
        }
        for row in frame.to_dict("records")
    ]


def set_choices(runs: list[dict[str, Any]]) -> list[list[str]]:
    """Return the options of the set's menu: value and text."""
    chosen = [[f"{SHIPPED}:{name}", f"{name} (shipped)"] for name in shipped_names()]
    chosen.append([f"{FILE}:", "a file …"])
    set_names: set[str] = set()
    for row in runs:
        if row["set"] not in set_names and len(set_names) < _MOST_SETS:
            set_names.add(row["set"])
            chosen.append([f"{STORED}:{row['id']}", f"{row['set']}, as used by run {row['id']}"])
    return chosen
