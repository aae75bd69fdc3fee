"""Commands about evaluation: evaluate, runs, compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .. import reports  # whose names are imported when a command uses them
from ..errors import EvalError
from .command_context import CommandContext, pass_command_context
from .option_types import FiniteRange
from .output import emit_json, emit_table, printable, records, say

if TYPE_CHECKING:
    from ..evals.compare import Comparison, GateVerdict
    from ..evals.runs import EvalRun

_MARGIN = click.option(
    "--margin", type=FiniteRange(0, 100), default=2.0, show_default=True,
    help="Largest accepted decrease from the baseline, in percentage points.",
)  # fmt: skip
_JUNIT = click.option(
    "--junit", type=click.Path(dir_okay=False), help="Write JUnit XML to this file, one test case per case."
)


@click.command()
@click.argument("agent")
@click.argument("evalset", metavar="SET")
@click.option(
    "-e",
    "--evaluator",
    "evaluators",
    multiple=True,
    metavar="NAME",
    help="An evaluator, such as exact or trajectory:any_order; repeatable (default: the set's own).",
)
@click.option(
    "--repeats", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many times each case is run."
)
@click.option("--tag", "tags", multiple=True, help="Only cases with this tag; repeatable: cases with all of them.")
@click.option(
    "--baseline", metavar="RUN", help="Compare with this stored run; `last` is the newest earlier one of the set."
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="GATE",
    help='Required pass rate: "trajectory>=95%", or "90%" for every evaluator; repeatable.',
)
@_MARGIN
@click.option(
    "--concurrency", type=click.IntRange(1, 1000), help="Cases asked at once (default: 4 locally, 10 on AWS)."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit of each turn.",
)
@click.option("--resume", "run_id", metavar="RUN", help="Resume a run that was stopped or killed.")
@click.option("--reuse", is_flag=True, help="Reuse stored answers of the same agent, version and prompt.")
@click.option("--name", default="", help="Name of the run in `loom runs`.")
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Scheduler of a Dask cluster whose workers ask the cases, such as tcp://host:8786.",
)
@_JUNIT
@click.option("--json", "json_file", type=click.Path(dir_okay=False), help="Write the whole run as JSON to this file.")
@pass_command_context
def evaluate(
    command: CommandContext,
    agent: str,
    evalset: str,
    evaluators: tuple[str, ...],
    repeats: int,
    tags: tuple[str, ...],
    baseline: str | None,
    gates: tuple[str, ...],
    margin: float,
    concurrency: int | None,
    timeout_s: float | None,
    run_id: str | None,
    reuse: bool,
    name: str,
    dask: str | None,
    junit: str | None,
    json_file: str | None,
) -> int:
    """Evaluate AGENT on SET (a file, or a shipped set's name): ask every case, score the answers, store everything.

    Exit code 0: done; 1: the evaluation failed, or nothing could be judged; 2: a gate was missed. A
    baseline adds a gate: the run must not be worse by more than the margin, with 95 % confidence.
    """
    from ..evals.compare.gate_requests import GateRequest, evaluators_named
    from ..evals.runs import LogLines
    from ..evals.runs import evaluate as run_evaluation
    from ..evals.runs.assignment import RunEvaluators

    cases = reports.chosen_set(evalset, ",".join(tags))
    chosen = reports.chosen_evaluators(",".join(evaluators), cases)
    requests = [GateRequest.read(text) for text in gates]
    judges = [evaluator.name for evaluator in RunEvaluators(cases, chosen).evaluators] if requests else []
    for request in requests:  # an unknown evaluator in a gate fails before the agent is called
        evaluators_named(request.evaluator, judges)
    with command.connect() as bench:
        before = reports.find_baseline(bench, baseline or "", cases, other_than=run_id or "")
        run = run_evaluation(
            bench.agent(agent, deploy=True), cases, chosen, repeats, concurrency=concurrency, timeout_s=timeout_s,
            run_id=run_id, reuse=reuse, name=name, progress=LogLines(say), dask=dask,
        )  # fmt: skip
        return _conclude(command, run, before, requests=requests, margin=margin / 100, junit=junit, json_file=json_file)


@click.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000))
@pass_command_context
def runs(command: CommandContext, limit: int) -> None:
    """List the stored evaluations, newest first."""
    with command.connect() as bench:
        rows = records(bench.evals.runs(limit=limit))
    if command.as_json:
        emit_json(rows)
    else:
        emit_table(rows, empty="No evaluations yet. `loom evaluate calculator calculator` runs one in a few seconds.")


@click.command()
@click.argument("run")
@click.argument("baseline")
@_MARGIN
@_JUNIT
@pass_command_context
def compare(command: CommandContext, run: str, baseline: str, margin: float, junit: str | None) -> int:
    """Compare RUN with BASELINE (ids from `loom runs`), case by case.

    Exit code 2: RUN is worse by more than the margin according to at least one evaluator, with 95 % confidence.
    """
    from ..evals.exports import write_junit

    with command.connect() as bench:
        new = bench.evals.run(run)
        comparison = _compared(new, bench.evals.run(baseline), margin / 100)
        gates = comparison.gates()
        if junit:
            write_junit(new, junit, gates)
    if command.as_json:
        emit_json(comparison.summary())
        return comparison.exit_code
    click.echo(printable(str(comparison)))
    emit_table([dict(zip(_FLIPS, row, strict=True)) for row in comparison.flip_rows()[:_SHOWN]], empty="")
    for gate in gates:
        say(printable(gate.sentence()))
    return comparison.exit_code


_FLIPS = ("case", "evaluator", "verdict", "baseline", "new", "tags")
_SHOWN = 50


def _conclude(
    command: CommandContext,
    run: EvalRun,
    before: EvalRun | None,
    *,
    requests: Sequence[object],
    margin: float,
    junit: str | None,
    json_file: str | None,
) -> int:
    """Write the files, print the result, and return the exit code."""
    from ..evals.compare.gate_requests import GateRequest, judge_gates
    from ..evals.exports import run_document, write_json, write_junit

    comparison = None if before is None else _compared(run, before, margin)
    gates = judge_gates(
        run.summary(), [request for request in requests if isinstance(request, GateRequest)], comparison
    )
    if junit:
        write_junit(run, junit, gates)
    if json_file:
        write_json(run, json_file, gates, comparison)
    code = _exit_code(run, gates)
    if command.as_json:
        emit_json({**run_document(run, gates, comparison, cases=False), "exit_code": code})
        return code
    _tell(run, comparison, gates)
    if code == 1 and run.state != "complete":
        say(f"not finished: {run.reason or run.state}; `--resume {run.id}` resumes the run")
    elif code == 1:
        say(_NOTHING)
    return code


_NOTHING = "No answer could be scored. The reasons are listed above and in the file of --json."


def _compared(run: EvalRun, before: EvalRun, margin: float) -> Comparison:
    """Compare two runs; raise when they have no evaluator in common."""
    comparison = run.compare(before, margin=margin)
    if not comparison.evaluators:
        raise EvalError("No evaluator in common with the baseline", on=before.id, try_=", ".join(before.evaluators))
    return comparison


def _tell(run: EvalRun, comparison: Comparison | None, gates: Sequence[GateVerdict]) -> None:
    click.echo(printable(str(run)))
    failures = run.failures()
    if len(failures):
        counted = failures.groupby(["stage", "evaluator", "kind"], sort=False).size().reset_index(name="count")
        emit_table(records(counted), empty="")
    if comparison is not None:
        click.echo(printable(str(comparison)))
    for gate in gates:
        say(printable(gate.sentence()))


def _exit_code(run: EvalRun, gates: Sequence[GateVerdict]) -> int:
    """Return 2 for a missed gate, 1 for a run that is incomplete or without a single score, else 0."""
    from ..evals.compare import exit_code

    if code := exit_code(gates):
        return code
    return 0 if run.state == "complete" and any(evaluator.scored for evaluator in run.summary().evaluators) else 1


COMMANDS = (evaluate, runs, compare)
