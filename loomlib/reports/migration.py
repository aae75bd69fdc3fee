"""The migration report: several Bedrock agents against their successors on AgentCore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from loomlib.errors import LoomError, NotSupportedError, ReportError
from loomlib.evals.compare.page import page, quiet, table
from loomlib.evals.values.choices import split_evaluators
from loomlib.experiments import exit_code, new_id
from loomlib.imports.bedrock_agents.emit.naming import runtime_name
from loomlib.imports.bedrock_agents.parity.agent_parity import COLUMNS, AgentParity
from loomlib.imports.bedrock_agents.parity.alike_gate import LEAST_ALIKE
from loomlib.imports.bedrock_agents.parity.prompts import cases_of
from loomlib.imports.bedrock_agents.parity.rule import DEFAULT_ANSWERS, AlikeRule, ToolOrder
from loomlib.presentation.formats import join, plural
from loomlib.presentation.text import printable, text_table

from .displays import Listing, Verdict
from .migration_sample import sample_agents

if TYPE_CHECKING:
    import pandas as pd

    from loomlib.workbench import Workbench

MOST_AGENTS: Final = 12
"""Largest number of agents in one report."""
_SHOWN: Final = 4
_ORDER: Final = {"missed": 0, "unclear": 1, "passed": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedComparison:
    """An agent that could not be compared.

    Attributes:
        name: The agent.
        reason: The reason.
    """

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} was not compared: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Migration:
    """The comparisons of all agents.

    Attributes:
        id: The report's id; a report that was stopped resumes with it.
        parities: The comparisons, missed gates first.
        failed: Agents that could not be compared.
    """

    id: str
    parities: tuple[AgentParity, ...]
    failed: tuple[FailedComparison, ...] = ()

    def headline(self) -> str:
        """Return the verdict on all agents in one sentence."""
        counts = {outcome: [item.name for item in self.parities if item.gate.outcome == outcome] for outcome in _ORDER}
        words = {"passed": "passed its gate", "missed": "missed its gate", "unclear": "is unclear"}
        many = {"passed": "passed their gates", "missed": "missed their gates", "unclear": "are unclear"}
        parts = [
            f"{join(names, most=4)} {words[outcome] if len(names) == 1 else many[outcome]}"
            for outcome, names in counts.items()
            if names
        ]
        parts += [f"{join([item.name for item in self.failed], most=4)} could not be compared"] if self.failed else []
        return f"{plural(len(self.parities) + len(self.failed), 'agent')}: {'; '.join(parts)}."

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row of text for each agent, in the order of `COLUMNS`."""
        missing = ("–",) * (len(COLUMNS) - 2)
        return [parity.row() for parity in self.parities] + [
            (item.name, "not compared", *missing) for item in self.failed
        ]

    def table(self) -> pd.DataFrame:
        """Return one row for each agent, as text for reading."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS)).set_index("agent")

    def remaining(self) -> Listing:
        """Return the remaining work, by agent."""
        items = [
            (parity.name, f"{task}:" if reason else task, reason)
            for parity in self.parities
            for task, reason in parity.remaining()
        ]
        items += [(item.name, "not compared:", item.reason) for item in self.failed]
        return Listing(items=items, nothing="Nothing is left to do.")

    def method(self) -> Listing:
        """Return the method and its limits; notes that apply to all agents appear once."""
        notes = dict.fromkeys(note for parity in self.parities for note in parity.method())
        return Listing(items=[("", note, "") for note in notes])

    def verdict(self) -> Verdict:
        """Return the report's verdict, and its summary for programs."""
        single = self.parities[0] if len(self.parities) == 1 and not self.failed else None
        missed = [item for item in self.parities if item.gate.is_missed]
        if single is not None:
            title, sentences = single.title(), single.sentences()[1 if missed else 0 :]
        else:
            title = f"Migration of {plural(len(self.parities) + len(self.failed), 'agent')}"
            others = [self._gate(item) for item in self.parities if not item.gate.is_missed]
            changes = [f"{item.name}: {item.sentences()[1]}" for item in self.parities[:_SHOWN]]
            sentences = [self.headline(), *others[:_SHOWN], *changes, *map(str, self.failed)]
        return Verdict(
            title=" · ".join((title, *self._labels())),
            sentences=sentences,
            gates=[(item.gate.outcome, self._gate(item)) for item in missed],
            summary=self.summary(),
        )

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "state": "complete" if not self.failed else "partial",
            "migration_id": self.id,
            "headline": self.headline(),
            "agents": [parity.summary() for parity in self.parities],
            "not_compared": [{"agent": item.name, "reason": item.reason} for item in self.failed],
            "gates": [
                {"name": item.name, **item.gate.summary(), "sentence": self._gate(item)} for item in self.parities
            ],
            "exit_code": exit_code([item.gate for item in self.parities]),
            "labels": self._labels(),
        }

    def _labels(self) -> list[str]:
        return list(dict.fromkeys(label for item in self.parities for label in item.labels))

    def _gate(self, parity: AgentParity) -> str:
        prefix = f"{parity.name}: " if len(self.parities) > 1 else ""
        return f"{prefix}{parity.gate.sentence()}"

    def __str__(self) -> str:
        return printable("\n".join([self.headline(), text_table(COLUMNS, self.rows())]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return page("", [self.headline()], quiet(" · ".join(self._labels())), table(COLUMNS, self.rows()))


def compared_agents(
    bench: Workbench,
    agents: str,
    cases: str,
    *,
    alias: str = "live",
    repeats: int = 1,
    min_alike_percent: float = LEAST_ALIKE * 100,
    answers: str = "",
    tools: str = "any_order",
    migration_id: str = "",
    concurrency: int = 2,
) -> Migration:
    """Compare Bedrock agents with their successors, one agent after the other.

    An agent that cannot be compared does not stop the others; if none can be, the error is raised.

    Args:
        bench: The workbench.
        agents: One to twelve agents, separated by commas; "" creates a sample on the local AgentCore. Each is
            `name` if its successor has the name that Loom's import gives it, else `name=successor`.
        cases: The cases: an eval set, a text file with one prompt per line, or a folder with such a file for each
            agent, `<name>.json`, `.csv` or `.txt`.
        alias: The alias of the Bedrock agents to invoke.
        repeats: How often each case is run.
        min_alike_percent: The least share of cases that must behave alike, in percent.
        answers: Evaluators of the rule, separated by commas; "" for the rule's own.
        tools: How tool calls are compared.
        migration_id: The id of a report to resume, "" for a new one.
        concurrency: How many cases each agent runs at once.

    Raises:
        ReportError: No agent is named, or more than twelve, or one with two successors.
        LoomError: No agent could be compared.
    """
    order = cast("ToolOrder", tools)  # AlikeRule refuses invalid values
    rule = AlikeRule(answers=tuple(split_evaluators(answers)) or DEFAULT_ANSWERS, tools=order)
    sample: list[str] = []
    if not agents.strip():
        agents, sample = sample_agents(bench)
    chosen = _agent_pairs(agents)
    id = migration_id or new_id("migration")
    parities: list[AgentParity] = []
    failed: list[FailedComparison] = []
    first: LoomError | None = None
    for name, successor in chosen:
        try:
            old = bench.bedrock.agents.get(name)
            evalset = cases_of(_cases_file(cases, name) if cases else sample, name=name)
            parities.append(
                old.parity(
                    bench.agent(successor),
                    evalset,
                    alias=alias,
                    imported=old.snapshot(alias).agent,
                    repeats=repeats,
                    least=min_alike_percent / 100,
                    rule=rule,
                    parity_id=f"{id}-{name}",
                    concurrency=concurrency,
                )
            )
        except (ReportError, NotSupportedError):
            raise
        except LoomError as error:
            first = first or error
            failed.append(FailedComparison(name=name, reason=str(error)))
    if not parities and first is not None:
        raise first
    parities.sort(key=lambda parity: _ORDER[parity.gate.outcome])
    return Migration(id=id, parities=tuple(parities), failed=tuple(failed))


def _agent_pairs(agents: str) -> list[tuple[str, str]]:
    successors: dict[str, str] = {}
    for part in filter(None, (text.strip() for text in agents.split(","))):
        name, separator, successor = (text.strip() for text in part.partition("="))
        successor = successor if separator else runtime_name(name)
        if successors.setdefault(name, successor) != successor:
            raise ReportError(
                f"The report compares an agent with one successor, not with {successors[name]} and {successor}",
                on=name,
                try_="a report for each successor",
            )
    if not 0 < len(successors) <= MOST_AGENTS:
        raise ReportError(
            f"The report compares one to {MOST_AGENTS} agents, not {len(successors)}",
            on="agents",
            try_='"support,orders=new_orders"',
        )
    return list(successors.items())


def _cases_file(cases: str, name: str) -> str:
    folder = Path(cases).expanduser()
    if not folder.is_dir():
        return cases
    for ending in (".json", ".jsonl", ".csv", ".txt"):
        if (file := folder / f"{name}{ending}").is_file():
            return str(file)
    raise LoomError("The folder has no cases for this agent", on=name, try_=f"{name}.txt with a prompt in each line")
