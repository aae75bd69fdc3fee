"""A breakdown held against the agent's own clock readings by order and containment, which no load can change.

The agent reads its clock inside every span that it is traced with. So each stretch of a bucket must hold one noted
stretch of work and reach no further than to the work before and after it: however long the machine let the agent wait
in between, the bucket is off by no more than that. How close they are on a quiet machine is a matter of
`python -m tests.benchmarks truth`.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from planted import WORK, joined

import loomlib as loom
from loomlib.workbench.trace_view import TraceView

CLOCKS_NS = 2_000_000
"""Spans have Unix times, the notes are monotonic: so far apart may the two run while one of them is being slewed."""


def check_brackets(inv: loom.Invocation, view: TraceView) -> None:
    """Fails where the trace says anything that the agent's own notes exclude."""
    breakdown, noted = view.breakdown(), _in_unix_time(json.loads(inv.text))
    (handler,) = noted["handler"]
    work = sorted((*piece, name) for name in WORK for piece in joined(noted[name]))
    assert all(before[1] <= after[0] for before, after in pairwise(work)), "the planted work lies one after the other"
    stretches = sorted((*stretch, name) for name in WORK for stretch in breakdown[name].intervals)
    assert [name for *_, name in stretches] == [name for *_, name in work]
    ends = [handler[0], *(end for _, end, _ in work)]
    starts = [*(start for start, _, _ in work), handler[1]]
    for place, ((start, end, name), (began, ended, _)) in enumerate(zip(stretches, work, strict=True)):
        assert start <= began + CLOCKS_NS, f"{name} {place} begins after its work"
        assert end >= ended - CLOCKS_NS, f"{name} {place} ends before its work"
        assert start >= ends[place] - CLOCKS_NS, f"{name} {place} begins in what was before it"
        assert end <= starts[place + 1] + CLOCKS_NS, f"{name} {place} ends in what came after it"

    inside = joined([*breakdown["agent"].intervals, *(stretch[:2] for stretch in stretches)])
    assert len(inside) == 1, "the agent's time is one stretch"
    assert inside[0][0] <= handler[0] + CLOCKS_NS
    assert inside[0][1] >= handler[1] - CLOCKS_NS
    was_restored = noted["ready"][0][0] < breakdown.start_ns  # its process began before the call
    for start, end in breakdown["cold_start"].intervals:
        assert start == breakdown.start_ns
        assert end <= handler[0] + CLOCKS_NS
        assert was_restored or start <= noted["slept"][0][0] + CLOCKS_NS
        assert was_restored or noted["ready"][0][0] - CLOCKS_NS <= end


def _in_unix_time(noted: dict[str, Any]) -> dict[str, list[tuple[int, int]]]:
    ahead = noted["unix_ns"]
    pieces = {name: noted[name] for name in WORK} | {name: [noted[name]] for name in ("handler", "slept")}
    pieces["ready"] = [(noted["ready"], noted["ready"])]
    return {name: [(start + ahead, end + ahead) for start, end in intervals] for name, intervals in pieces.items()}
