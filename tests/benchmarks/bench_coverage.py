"""Known truth: how often the intervals of real latency studies contain the times that were injected into the agent."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..service.latency.truth.injected_studies import run_at_once
from .table import Row

AIM = 0.93


def rows(runs: int = 12) -> Iterator[Row]:
    """Pooled over the intervals of each study; `make long` holds each interval in 200 studies."""
    for platform in ("V2", "V1"):
        with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
            coverage = run_at_once(platform, range(runs), Path(folder))
        hits, of = coverage.pooled
        shares = {name: sum(outcomes) / len(outcomes) for name, outcomes in coverage.hits.items()}
        worst = min(shares, key=lambda name: shares[name])
        yield Row(
            what=f"intervals of latency studies that contain the injected times, {platform}",
            ours=f"{hits / of:.1%} of {of}",
            reference="nominal 95 %",
            compared=f"fewest: {worst} {shares[worst]:.0%} of {runs} studies",
            aim=f"≥ {AIM:.0%}",
            met=hits >= AIM * of,
            n=runs,
        )
