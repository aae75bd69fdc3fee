"""Evaluate: run eval sets against agents, inspect failures, compare runs, and capture invocations as cases."""

# pyright: basic

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from loomlib import Agent, Workbench
from loomlib.errors import EvalError, LoomError
from loomlib.evals import EvalRun, EvalSet
from loomlib.evals.compare.gate_requests import GateRequest, judge_gates
from loomlib.evals.evaluators.factories import EVALUATOR_FACTORIES
from loomlib.evals.judges.factories import JUDGE_FACTORIES
from loomlib.evals.runs import RunSnapshot, aevaluate
from loomlib.evals.runs.assignment import RunEvaluators

from ...kit import ActionCancelledError, Cancel, Form, Panel, action
from ...kit.panel import static_summary
from ...kit.source import connect_code
from ..test.spans import bar_rows, row_details, waterfall_frame
from .asking import PanelProgress, RunRequest, set_details
from .capture_actions import CaptureActions
from .cases import case_details, case_rows, head_sentence, run_header
from .compare_actions import CompareActions
from .stored import run_rows, set_choices

if TYPE_CHECKING:
    from markupsafe import Markup

    from loomlib.workbench.trace_view import TraceView

_STATIC_ROWS = 50
_TRACES = 8  # for the open waterfalls: one of a case and two of a comparison, in a few views


class EvaluatePanel(Panel):
    """The Evaluate panel: runs of eval sets, their cases, comparisons, and captured cases."""

    opener: ClassVar[str] = "evaluate"
    called: ClassVar[str] = "Evaluate"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.panels.evaluate", "panel.js")
    parts: ClassVar[tuple[tuple[str, str], ...]] = (("loom_widgets.panels.evaluate", "case.js"),)

    def __init__(self, bench: Workbench, **options: Any) -> None:
        self._rows: list[dict[str, Any]] = []
        self._run: EvalRun | None = None
        self._head: dict[str, Any] = {}
        self._progress: dict[str, Any] = {}
        self._comparison = CompareActions(self)
        self._gates: dict[str, list[GateRequest]] = {}
        self._traces: dict[str, TraceView] = {}
        self._reading = Lock()
        super().__init__(bench, actions=(CaptureActions(self), self._comparison), **options)
        self._look_around(known=[*EVALUATOR_FACTORIES, *JUDGE_FACTORIES], run="", filter={})

    # Running.

    @action(lane="view")
    def refresh(self) -> None:
        """Read the agents and the stored runs again."""
        self._look_around()

    @action(lane="set")
    def show_set(self, form: Form) -> Mapping[str, Any]:
        """Return what the chosen set contains."""
        request = RunRequest.of(form)
        if not request.source:
            return {"sentence": "The path of a file: Loom's JSON, JSON lines, CSV, ADK, strands_evals or AgentCore."}
        return set_details(request.evalset(self.bench), request)

    @action(lane="run")
    def deploy(self, form: Form) -> None:
        """Deploy the blueprint that a shipped set evaluates."""
        name = form.text("blueprint", "calculator")
        self.show_code(f"{connect_code(self.bench)}agent = bench.agent({name!r}, deploy=True)")
        self.say(f"Deploying {name} …")
        agent = self.bench.agent(name, deploy=True)
        self._look_around()
        self.announce()
        self.say(f"{agent.name} is ready.")

    @action(lane="run")
    def run(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Run every case on one agent after another; answers are stored as they arrive."""
        request = RunRequest.of(form)
        request.check()
        evalset = request.evalset(self.bench)
        chosen = request.evaluators_for(evalset)
        gates = request.gates([evaluator.name for evaluator in RunEvaluators(evalset, chosen).evaluators])
        agents = [self.bench.agent(name) for name in request.agents]
        self.show_code(request.code(self.bench, chosen))
        runs: list[EvalRun] = []
        for agent in agents:
            id = f"eval-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
            self._gates[id] = gates
            options = {"budget": request.budget, "reuse": request.reuse, "run_id": id}
            runs.append(self._ask(agent, evalset, chosen, request.repeats, options, cancel))
        if len(runs) > 1:
            self._comparison.show_comparison(runs[-1], runs[0], 0.02)
        return {"runs": [run.id for run in runs]}

    @action(lane="run")
    def resume(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Resume a run that was stopped, interrupted or killed: only pending cases run."""
        run = self.bench.evals.run(form.text("run"))
        if run.target.agent_arn is None:
            raise EvalError(
                "Only runs of agents can be resumed here", on=run.id, try_=f"evaluate(…, run_id={run.id!r})"
            )
        agent = self._agent_of(run)
        self.show_code(
            f"{connect_code(self.bench)}run = bench.evals.run({run.id!r})\n"
            f"run = bench.agent({agent.name!r}).evaluate(run.evalset, {list(run.chosen)!r}, run.repeats, run_id=run.id)"
        )
        resumed = self._ask(agent, run.evalset, list(run.chosen), run.repeats, {"run_id": run.id}, cancel)
        return {"runs": [resumed.id]}

    # Reading runs.

    @action(lane="view")
    def open_run(self, form: Form) -> None:
        """Open a stored run."""
        run = self.bench.evals.run(form.text("run"))
        self.show_code(f"{connect_code(self.bench)}bench.evals.run({run.id!r})")
        self._show_run(run)
        self.say(head_sentence(self._head))

    @action(lane="view")
    def filter(self, form: Form) -> Mapping[str, Any]:
        """Filter the cases by state, tag and text."""
        state, tag, text = form.text("state"), form.text("tag"), form.text("text").strip().casefold()
        self.show(filter={"state": state, "tag": tag, "text": text})
        return {"shown": self._put_cases(), "of": len(self._rows)}

    @action(lane="view")
    def case(self, form: Form) -> Mapping[str, Any]:
        """Return one case of a run in full."""
        run = self._run_of_id(form.text("run"))
        judgements = run.judgements_at([(form.count("place"), form.count("repeat"))])
        if not judgements:
            raise EvalError(
                "The case has no answer yet", on=run.id, try_="wait until it is answered, or resume the run"
            )
        judgement = judgements[0]
        code = f"run = bench.evals.run({run.id!r})\nrun[{judgement.case_id!r}][{judgement.repeat}]"
        self.show_code(f"{connect_code(self.bench)}{code}")
        return case_details(run, judgement)

    @action(lane="view")
    def trace(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Return the trace of an answer."""
        run = self._run_of_id(form.text("run"))
        agent, id = self._agent_of(run), form.count("invocation", most=2**60)
        self.show_code(f"{connect_code(self.bench)}bench.agent({agent.name!r}).history.get({id}).trace()")
        trace = agent.history.get(id).trace(progress=lambda _sentence: cancel.check())
        rows = bar_rows(trace)
        table = self.tables.put_newest("bars", str(id), rows, most=_TRACES)
        self._traces.pop(table, None)
        self._traces[table] = trace
        for oldest in list(self._traces)[:-_TRACES]:
            del self._traces[oldest]
        return {"table": table, **waterfall_frame(trace, rows)}

    @action(lane="view")
    def span(self, form: Form) -> Mapping[str, Any]:
        """Return one row of a waterfall in full."""
        trace = self._traces.get(form.text("table"))
        if trace is None:
            raise LoomError("The trace is no longer loaded", try_="press Show trace again")
        return row_details(trace, form.text("id"))

    # Internal methods.

    def _ask(
        self,
        agent: Agent,
        evalset: EvalSet,
        chosen: Sequence[str],
        repeats: int,
        options: dict[str, Any],
        cancel: Cancel,
    ) -> EvalRun:
        cancel.check()
        self.say(f"Asking {agent.name}: {len(evalset) * repeats} answers for {evalset.name} …")
        watch = PanelProgress(lambda snapshot: self._note(agent.name, snapshot))

        async def asked() -> EvalRun:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()

            def end() -> None:
                with suppress(RuntimeError):  # the run has already ended
                    loop.call_soon_threadsafe(task.cancel)  # type: ignore[union-attr]

            cancel.then(end)
            return await aevaluate(agent, evalset, chosen, repeats, progress=watch, **options)

        try:
            run = asyncio.run(asked())
        except asyncio.CancelledError:
            self._look_around()
            with suppress(LoomError):  # stopped before anything was stored
                self._show_run(self.bench.evals.run(options["run_id"]))
            self.say(f"Stopped. {head_sentence(self._head)} The answers are stored; press Resume to run the rest.")
            raise ActionCancelledError from None
        finally:
            self._progress = {}
            self.send_message("progress", ended=True)
        self._look_around()
        self._show_run(run)
        self.say(head_sentence(self._head))
        return run

    def _show_run(self, run: EvalRun) -> None:
        rows = case_rows(run)
        gates = judge_gates(run.summary(), self._gates.get(run.id, [])) if rows else ()
        with self._reading:
            self._run, self._rows, self._head = run, rows, run_header(run, rows, gates)
        self.show(run=run.id, filter={"state": "", "tag": "", "text": ""})
        self._put_cases()
        self.send_message("results", **self._head)

    def _put_cases(self) -> int:
        criteria = self.state.get("filter", {})
        state, tag, text = criteria.get("state"), criteria.get("tag"), criteria.get("text", "")
        rows = [
            row
            for row in self._rows
            if (not state or row["state"] == state)
            and (not tag or tag in row["tags"])
            and (not text or text in row["case"].casefold() or text in row["asked"].casefold())
        ]
        return self.tables.put("cases", rows)

    def _run_of_id(self, id: str) -> EvalRun:
        run = self._run
        return run if run is not None and run.id == id else self.bench.evals.run(id)

    def _agent_of(self, run: EvalRun) -> Agent:
        agent = self.bench.agent(str(run.target.agent_arn))
        qualifier = run.target.name.removeprefix(f"{agent.name} (").removesuffix(")")
        return agent if run.target.name == agent.name else agent.at(qualifier)

    def read_again(self) -> None:
        """Read the agents, sets and runs; the open run stays."""
        self._read()

    def _look_around(self, **more: Any) -> None:
        self._read(labels=list(self.bench.context.labels), **more)

    def _read(self, **more: Any) -> None:
        """Read the agents, sets and runs, and show them with other values of `state`."""
        runs = run_rows(self.bench)
        self.tables.put("runs", runs)
        self.show(
            agents=[entry.name for entry in self.bench.context.catalog.list()][:500],
            sets=set_choices(runs),
            runs=[[row["id"], f"{row['target']} on {row['set']} · {row['id']}"] for row in runs[:100]],
            **more,
        )
        self.send_message("runs", count=len(runs))

    def _note(self, agent: str, snapshot: RunSnapshot) -> None:
        self._progress = {"agent": agent, **asdict(snapshot), "sentence": f"{agent}: {snapshot}"}
        self.send_message("progress", **self._progress)

    def welcome(self) -> Mapping[str, Any]:
        """Return the open run, the one that is running, and the last comparison."""
        return {"head": self._head, "progress": self._progress, "compared": self._comparison.last}

    def static_html(self) -> Markup | str:
        """Return the open run as text."""
        if not self._head:
            return static_summary(["No run is open. A run sends a set's cases to an agent and scores the answers."])
        rows = [[row["case"], row["state"], row["asked"]] for row in self._rows[:_STATIC_ROWS]]
        return static_summary(self._head["sentences"], [(("case", "state", "question"), rows)])
