"""`make bench-release FORMER=FOLDER`: this tree's benchmarks beside those of a clone of the previous release.

Both trees run their own benchmarks of the same name, in turn, each in its own environment (`.venv`, which `make ready`
or `make test` in the clone makes); a tree without one uses the environment of this one. Kernels that benchmarks start
import the packages of their environment, so `panels` needs both. A row is slower when the median of its ratios (this
tree to the former one, one ratio a round) exceeds `MOST`.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

from .table import Row, show

GROUPS = ("import", "traces", "evals", "panels", "overview")
MOST = 1.05
ROUNDS = 5
_DRIVER = """
import importlib, json, sys
rows = importlib.import_module("tests.benchmarks.bench_" + sys.argv[1]).rows()
print("\\n" + json.dumps([[row.what, row.ours] for row in rows]))
"""
_FIGURE = re.compile(r"^(?:× )?([\d,.]+)(?: \[[^\]]*\])?\s*(.*)$")


def main(former: str, groups: list[str], rounds: int = ROUNDS) -> int:
    """Prints the comparison; 0 when every group was measured in both trees and no row of them is slower.

    Args:
        former: Folder of a clone of the previous release.
        groups: Names out of `GROUPS`; all of them when empty.
        rounds: How often both trees run each group.
    """
    current_tree, former_tree = Path.cwd(), Path(former).resolve()
    if not (former_tree / "tests" / "benchmarks").is_dir():
        print(f"{former} has no tests/benchmarks: give FORMER the folder of a clone of the previous release")
        return 2
    if unknown := set(groups) - set(GROUPS):
        print(f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
        return 2
    rows: list[Row] = []
    failed: set[str] = set()
    for group in groups or GROUPS:
        current_runs: list[dict[str, tuple[float, str]]] = []
        former_runs: list[dict[str, tuple[float, str]]] = []
        for number in range(rounds):
            print(f"measuring {group}, {number + 1} of {rounds} …", file=sys.stderr, flush=True)
            order = [(current_tree, current_runs), (former_tree, former_runs)]
            for tree, figures in order if number % 2 else reversed(order):
                figures.append(_figures(tree, group))
                if not figures[-1]:
                    failed.add(f"{group} of {tree.name}")
        rows.extend(compared := _compared(current_runs, former_runs))
        show(compared)
    slower = [row.what for row in rows if row.met is False]
    print(f"\n{len(slower)} slower: {'; '.join(slower)}" if slower else f"\nnothing is slower than × {MOST}")
    if failed:
        print(f"not measured: {', '.join(sorted(failed))}")
    return 1 if slower or failed else 0


def _figures(tree: Path, group: str) -> dict[str, tuple[float, str]]:
    """The first figure of each row and its unit, by the row's name without its numbers."""
    path = os.pathsep.join((str(tree), str(tree / "widgets")))
    own = tree / ".venv" / "bin" / "python"
    process = subprocess.run(
        [str(own) if own.exists() else sys.executable, "-c", _DRIVER, group],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        print(f"{group} of {tree.name} could not be measured:\n{process.stderr[-2000:]}", file=sys.stderr)
        return {}
    figures: dict[str, tuple[float, str]] = {}
    for row_name, figure in json.loads(process.stdout.splitlines()[-1]):
        if matched := _FIGURE.match(figure):
            figures[re.sub(r"\d(?:[\d.,]*\d)?", "#", row_name)] = float(matched[1].replace(",", "")), matched[2]
    return figures


def _compared(
    current_runs: list[dict[str, tuple[float, str]]], former_runs: list[dict[str, tuple[float, str]]]
) -> list[Row]:
    names = dict.fromkeys(name for figures in (*former_runs, *current_runs) for name in figures)
    rows: list[Row] = []
    for name in names:
        pairs = [
            (current[name], former[name])
            for current, former in zip(current_runs, former_runs, strict=True)
            if name in current and name in former
        ]
        if not pairs or any(current[1] != former[1] for current, former in pairs):
            is_current = any(name in figures for figures in current_runs)
            rows.append(Row(what=name, ours="only here" if is_current else "only in the former release"))
            continue
        unit = pairs[0][0][1]
        rate = unit.endswith("a second")  # more is faster
        ratios = [
            (former[0] / current[0] if rate else current[0] / former[0]) if current[0] and former[0] else 1.0
            for current, former in pairs
        ]
        middle = statistics.median(ratios)
        rows.append(
            Row(
                what=name,
                ours=f"{statistics.median(current[0] for current, _ in pairs):g} {unit}",
                reference=f"{statistics.median(former[0] for _, former in pairs):g} {unit}",
                compared=f"× {middle:.2f} [{min(ratios):.2f}–{max(ratios):.2f}]",
                aim=f"≤ × {MOST}",
                met=middle <= MOST,
                n=len(pairs),
            )
        )
    return rows


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("give the folder of a clone of the previous release: make bench-release FORMER=FOLDER")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
