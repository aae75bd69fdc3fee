"""What Inspect's own metrics and reducers say of fixed data, written down for the tests to be held against.

Inspect is not among Loom's requirements. To make the file again, in an environment of its own:

    python -m venv its-own && its-own/bin/pip install inspect-ai==0.3.285
    its-own/bin/python tests/benchmarks/inspect_statistics.py
"""

from __future__ import annotations

import json
import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "data" / "evals" / "inspect_statistics.json"
KS = (1, 2, 3, 5)


def samples() -> dict[str, list[list[float]]]:
    """Cases with their repeats: all the same, easy ones, hard ones, graded ones, and one score a case."""
    drawn = random.Random(285)

    def passes(cases: int, repeats: int, easy: float) -> list[list[float]]:
        rates = [min(1.0, max(0.0, drawn.gauss(easy, 0.3))) for _ in range(cases)]
        return [[float(drawn.random() < rate) for _ in range(repeats)] for rate in rates]

    return {
        "passes, 40 cases × 5": passes(40, 5, 0.6),
        "passes, 200 cases × 3": passes(200, 3, 0.85),
        "passes, 120 cases × 1": passes(120, 1, 0.7),
        "graded, 60 cases × 5": [
            [round(min(1.0, max(0.0, drawn.gauss(centre, 0.1))), 4) for _ in range(5)]
            for centre in (drawn.betavariate(4, 1) for _ in range(60))
        ],
        "graded, unequal repeats": [
            [round(drawn.betavariate(3, 1), 4) for _ in range(drawn.randint(1, 6))] for _ in range(50)
        ],
    }


def measured(cases: list[list[float]]) -> dict[str, Any]:
    """Inspect's numbers for one set of cases."""
    import numpy as np
    from inspect_ai.scorer import (
        SampleScore,
        Score,
        bootstrap_stderr,
        ci,
        ci_wilson,
        mean,
        mean_score,
        pass_at,
        pass_k,
        std,
        stderr,
    )

    def wrapped(values: list[list[float]]) -> list[Any]:
        return [
            SampleScore(score=Score(value=value), sample_id=str(case), sample_metadata={"case": case})
            for case, repeats in enumerate(values)
            for value in repeats
        ]

    every = wrapped(cases)
    reduced = [[float(mean_score()([Score(value=v) for v in repeats]).value)] for repeats in cases]
    by_case = wrapped(reduced)
    np.random.seed(285)
    statistics: dict[str, Any] = {
        "mean": mean()(every),
        "stderr": float(stderr()(every)),
        "stderr_clustered": float(stderr(cluster="case")(every)),
        "case_mean": mean()(by_case),
        "case_std": float(std()(by_case)),
        "case_stderr": float(stderr()(by_case)),
        "case_bootstrap_stderr": float(bootstrap_stderr(num_samples=10_000)(by_case)),
        "case_ci_t": ci()(by_case),
    }
    if all(value in (0.0, 1.0) for repeats in cases for value in repeats):
        statistics["ci_wilson_clustered"] = ci_wilson(cluster="case")(every)
        if all(len(repeats) == 1 for repeats in cases):
            statistics["ci_wilson"] = ci_wilson()(every)
        least = min(map(len, cases))
        for name, reducer in (("pass_at", pass_at), ("pass_k", pass_k)):
            statistics[name] = {
                str(k): [reducer(k)([Score(value=v) for v in repeats]).value for repeats in cases]
                for k in KS
                if k <= least
            }
    return statistics


def main() -> None:
    """Writes the file beside the other data of the tests."""
    data = {name: {"cases": cases, "inspect": measured(cases)} for name, cases in samples().items()}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"inspect_ai": version("inspect-ai"), "samples": data}, ensure_ascii=False) + "\n")
    print(f"{OUT.name}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
