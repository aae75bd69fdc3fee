"""`make bench`: the speed that was promised, as ratios measured side by side in one run.

Wall-clock figures are this machine's; the comparisons are what counts. Names of groups as arguments choose some of
them: import, traces, lookup, truth, coverage, evals, dask, adk, memory, locomo, overview, agui, cold, warm, tokens,
gateways,
arrivals, ttft, websocket, alive, intake, deploy, tracing, eval-agents, panels, learners, hub, report, redaction,
sandbox, code, functions, knowledge, starts, load, search, stores, tiny, aiperf.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from . import (
    bench_adk,
    bench_agui,
    bench_aiperf,
    bench_code_interpreter,
    bench_coverage,
    bench_dask,
    bench_deploy,
    bench_evals,
    bench_functions,
    bench_gateways,
    bench_history,
    bench_hub,
    bench_identity,
    bench_import,
    bench_intake,
    bench_knowledge,
    bench_learners,
    bench_load,
    bench_locomo,
    bench_memory,
    bench_overview,
    bench_panels,
    bench_redaction,
    bench_report,
    bench_sandbox,
    bench_search,
    bench_sessions,
    bench_snapshots,
    bench_stores,
    bench_streaming,
    bench_tiny_model,
    bench_traces,
    bench_tracing,
    bench_truth,
    bench_websocket,
)
from .laboratory import Laboratory
from .table import Row, show

WITH_SERVICE: dict[str, Callable[[Laboratory], Iterator[Row]]] = {
    "cold": bench_sessions.cold,
    "warm": bench_sessions.warm,
    "tokens": bench_identity.tokens,
    "gateways": bench_gateways.calls,
    "arrivals": bench_streaming.arrivals,
    "ttft": bench_streaming.first_bytes,
    "websocket": bench_websocket.round_trips,
    "alive": bench_sessions.alive,
    "intake": bench_intake.intake,
    "deploy": bench_deploy.deploy,
    "tracing": bench_tracing.tracing,
    "eval-agents": bench_evals.agents,
}


ALONE: dict[str, Callable[[], Iterator[Row]]] = {
    "import": bench_import.rows,
    "sandbox": bench_sandbox.sandbox,
    "code": bench_code_interpreter.rows,
    "functions": bench_functions.rows,
    "knowledge": bench_knowledge.rows,
    "starts": bench_snapshots.starts,
    "load": bench_load.rows,
    "aiperf": bench_aiperf.rows,
    "search": bench_search.rows,
    "stores": bench_stores.rows,
    "tiny": bench_tiny_model.rows,
    "traces": bench_traces.rows,
    "lookup": bench_intake.lookup,
    "truth": bench_truth.rows,
    "coverage": bench_coverage.rows,
    "evals": bench_evals.rows,
    "dask": bench_dask.rows,
    "adk": bench_adk.rows,
    "memory": bench_memory.rows,
    "locomo": bench_locomo.rows,
    "overview": bench_overview.rows,
    "history": bench_history.rows,
    "agui": bench_agui.rows,
    "panels": bench_panels.rows,
    "learners": bench_learners.rows,
    "hub": bench_hub.rows,
    "report": bench_report.rows,
    "redaction": bench_redaction.rows,
}


def main(chosen: list[str]) -> int:
    """Runs the chosen groups (all by default); 0 when all of them could be measured and missed none of their aims."""
    group_names = [*ALONE, *WITH_SERVICE]
    requested = chosen or group_names
    if unknown := set(requested) - set(group_names):
        print(f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(group_names)}")
        return 2
    rows: list[Row] = []

    def run(name: str, measure: Callable[[], Iterator[Row]]) -> None:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            rows.extend(measure())
        except Exception:
            traceback.print_exc()
            rows.append(Row(what=name, ours="could not be measured", met=False))

    for name in ALONE:
        if name in requested:
            run(name, ALONE[name])
    if groups := [name for name in WITH_SERVICE if name in requested]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loom-bench-")))
            laboratory = stack.enter_context(Laboratory(folder))
            for name in groups:
                run(name, lambda name=name: WITH_SERVICE[name](laboratory))
    load = " ".join(f"{average:.1f}" for average in os.getloadavg())
    print(f"\n{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load {load}\n")
    show(rows)
    missed = [row.what for row in rows if row.met is False]
    print(f"\n{len(missed)} missed: {'; '.join(missed)}" if missed else "\nno aim was missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
