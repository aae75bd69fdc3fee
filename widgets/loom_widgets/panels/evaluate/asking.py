"""A requested run: cases, agents, evaluators and limits from the form; and the same as Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loomlib import Workbench
from loomlib.errors import EvalError, LoomError
from loomlib.evals import Budget, EvalSet
from loomlib.evals.compare.gate_requests import GateRequest, evaluators_named
from loomlib.evals.runs import RunSnapshot
from loomlib.evals.runs.assignment import RunEvaluators
from loomlib.evals.values.choices import split_evaluators
from loomlib.reports import chosen_evaluators

from ...kit import Form
from ...kit.source import connect_code

FILE, SHIPPED, STORED = "file", "shipped", "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A requested run. `source` is a file's path, a shipped set's name, or a run's id, depending on `kind`."""

    kind: str
    source: str
    tags: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    evaluators: tuple[str, ...] = ()
    repeats: int = 1
    money: float | None = None
    tokens: int | None = None
    time_s: float | None = None
    gate: str = ""
    reuse: bool = True

    @classmethod
    def of(cls, form: Form) -> RunRequest:
        """Read a form.

        Raises:
            ValueError: A numeric field does not contain a number.
        """
        kind, _, source = form.text("set").partition(":")
        if kind == FILE:
            source = str(form.path("path") or "")
        limits = {name for name in ("money", "tokens", "time_s") if form.get(name) not in (None, "")}
        return cls(
            kind=kind,
            source=source,
            tags=tuple(tag.strip() for tag in form.text("tags").split(",") if tag.strip()),
            agents=tuple(dict.fromkeys(form.texts("agents"))),
            evaluators=tuple(split_evaluators(form.text("evaluators"))),
            repeats=form.count("repeats", 1, most=1000),
            money=form.number("money") if "money" in limits else None,
            tokens=form.count("tokens", most=10**12) if "tokens" in limits else None,
            time_s=form.number("time_s") if "time_s" in limits else None,
            gate=form.text("gate").strip(),
            reuse=form.flag("reuse"),
        )

    @property
    def budget(self) -> Budget | None:
        """The limits of the run; None without limits.

        Raises:
            ValueError: A limit is not above zero.
        """
        if self.money is None and self.tokens is None and self.time_s is None:
            return None
        return Budget(money=self.money, tokens=self.tokens, time_s=self.time_s)

    def evalset(self, bench: Workbench) -> EvalSet:
        """Load the chosen cases.

        Raises:
            EvalError: No set is chosen, or no case has the tags.
        """
        if not self.source:
            raise EvalError("No eval set is chosen", try_="a shipped set, or the path of a file")
        evalset = bench.evals.run(self.source).evalset if self.kind == STORED else EvalSet.read(self.source)
        chosen = evalset.where(tags=self.tags) if self.tags else evalset
        if not chosen.cases:
            known_tags = ", ".join(sorted({tag for case in evalset.cases for tag in case.tags})[:20])
            raise EvalError("No case has these tags", on=", ".join(self.tags), try_=f"some of {known_tags}")
        return chosen

    def evaluators_for(self, evalset: EvalSet) -> list[str]:
        """Return the evaluators: those named in the form, else the defaults for the set's expectations."""
        return list(self.evaluators) or chosen_evaluators("", evalset)

    def gates(self, judges: list[str]) -> list[GateRequest]:
        """Read the gates, which are separated by commas, before any agent is invoked.

        Raises:
            EvalError: A gate names an evaluator that does not judge this run.
        """
        requests = [GateRequest.read(text) for text in self.gate.split(",") if text.strip()]
        for request in requests:
            evaluators_named(request.evaluator, judges)
        return requests

    def check(self) -> None:
        """Check that the run can start.

        Raises:
            LoomError: No agent is chosen.
            ValueError: The repeats are fewer than 1.
        """
        if not self.agents:
            raise LoomError("No agent is chosen", try_="select one, or deploy one in the Build panel")
        if self.repeats < 1:
            raise ValueError("repeats must be 1 or more")

    def code(self, bench: Workbench, evaluators: list[str]) -> str:
        """Return the run as Python."""
        read = f"bench.evals.run({self.source!r}).evalset" if self.kind == STORED else f"EvalSet.read({self.source!r})"
        if self.tags:
            read += f".where(tags={list(self.tags)!r})"
        options = [repr(evaluators), str(self.repeats)]
        if self.budget is not None:
            arguments = ", ".join(
                f"{name}={value!r}"
                for name in ("money", "tokens", "time_s")
                if (value := getattr(self, name)) is not None
            )
            options.append(f"budget=Budget({arguments})")
        if not self.reuse:
            options.append("reuse=False")
        names = "Budget, EvalSet" if self.budget is not None else "EvalSet"
        imports, lines = [f"from loomlib.evals import {names}"], [f"evalset = {read}"]
        ask = f".evaluate(evalset, {', '.join(options)})"
        if len(self.agents) == 1:
            lines += [f"run = bench.agent({self.agents[0]!r}){ask}"]
        else:
            lines += [f"runs = [bench.agent(name){ask} for name in {list(self.agents)!r}]", "run = runs[0]"]
        if self.gate:
            imports.append("from loomlib.evals.compare.gate_requests import GateRequest, judge_gates")
            requests = ", ".join(f"GateRequest.read({text.strip()!r})" for text in self.gate.split(",") if text.strip())
            lines.append(f"judge_gates(run.summary(), [{requests}])")
        if len(self.agents) > 1:
            lines.append("runs[1].compare(runs[0])")
        return "\n".join([*imports, connect_code(bench).rstrip(), *lines, "run"])


def set_details(evalset: EvalSet, request: RunRequest) -> dict[str, Any]:
    """Return what a set contains and which evaluators would judge it."""
    chosen = request.evaluators_for(evalset)
    judges = (
        list(dict.fromkeys(item.name for item in RunEvaluators(evalset, chosen).evaluators))
        if chosen or evalset.evaluators or any(item.evaluators for item in evalset.cases)
        else []
    )
    scored_by = f"scored by {', '.join(judges)}" if judges else "without expectations; name an evaluator"
    return {
        "sentence": f"{evalset.name}: {len(evalset)} cases, {scored_by}.",
        "description": evalset.description,
        "blueprint": str(evalset.metadata.get("blueprint", "")),
        "tags": sorted({tag for case in evalset.cases for tag in case.tags})[:100],
        "notes": [str(note) for note in evalset.notes[:5]],
    }


class PanelProgress:
    """Passes a run's progress to the panel."""

    def __init__(self, show: Callable[[RunSnapshot], None]) -> None:
        self._show = show

    def update(self, snapshot: RunSnapshot) -> None:
        """Show a snapshot, at most ten times a second."""
        self._show(snapshot)

    def finish(self, snapshot: RunSnapshot) -> None:
        """Show the last snapshot."""
        self._show(snapshot)
