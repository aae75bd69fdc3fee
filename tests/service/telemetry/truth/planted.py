"""What an invocation of the timed agent really took, beside what its trace says."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import loomlib as loom
from loomlib.wall_clock import unix_lead_ns
from loomlib.workbench.trace_view import TraceView

AGENT = Path(__file__).parent / "timed"
LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
CONVENTIONS: Mapping[str, Mapping[str, str]] = {"legacy": {}, "latest": LATEST}
WORK = ("model", "tools", "memory")
BUCKETS = ("cold_start", "service_network", "agent", "model", "tools", "memory")


@dataclass(frozen=True)
class Comparison:
    """Milliseconds of each bucket by the trace and by the agent's own clock."""

    traced: Mapping[str, float]
    truth: Mapping[str, float]
    slept_ms: float
    is_cold: bool

    def error_ms(self, bucket: str) -> float:
        return self.traced[bucket] - self.truth[bucket]


def compare(inv: loom.Invocation, view: TraceView) -> Comparison:
    """The agent's answer holds the truth; the moment of sending and the whole are the client's."""
    noted: dict[str, Any] = json.loads(inv.text)
    breakdown = view.breakdown()
    began, ended = noted["handler"]
    truth = {name: sum(end - start for start, end in joined(noted[name])) for name in WORK}
    truth["agent"] = ended - began - sum(truth.values())
    outside = breakdown.total_ns - (ended - began)
    is_cold = breakdown["cold_start"].duration_ns > 0
    sent_ns = breakdown.start_ns - unix_lead_ns(time.monotonic_ns)
    truth["cold_start"] = began - sent_ns if is_cold else 0
    truth["service_network"] = outside - truth["cold_start"]
    return Comparison(
        traced={name: breakdown[name].duration_ms for name in BUCKETS},
        truth={name: ns / 1e6 for name, ns in truth.items()},
        slept_ms=(noted["slept"][1] - noted["slept"][0]) / 1e6,
        is_cold=is_cold,
    )


def joined(pieces: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """The stretches that at least one of the pieces covers, in order."""
    stretches: list[tuple[int, int]] = []
    for start, end in sorted((piece[0], piece[1]) for piece in pieces):
        if stretches and start <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(end, stretches[-1][1]))
        else:
            stretches.append((start, end))
    return stretches
