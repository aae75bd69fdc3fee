"""What the recall report is about: which memory, which agent; and its answer, misses and method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from loomlib.errors import ResourceNotFoundError
from loomlib.memory_study.measurements import Asked
from loomlib.memory_study.method import cannot_tell, method_notes
from loomlib.memory_study.own_memory import STRATEGIES
from loomlib.memory_study.page import misses_html

from .displays import Listing, Verdict, verdict

if TYPE_CHECKING:
    from loomlib.memory_study import RecallGate, RecallResult
    from loomlib.workbench import Agent, Workbench
    from loomlib.workbench.memory import Memory

BLUEPRINT = "assistant_with_memory"


def recall_subjects(bench: Workbench, memory: str = "", agent: str = "") -> tuple[Memory | None, Agent | None]:
    """The memory of that name (None: the study makes its own) and the agent to ask (None: nobody is asked).

    The blueprint assistant_with_memory is deployed with the memory, which is made when it is not there.
    """
    if not agent:
        return (bench.memories.get(memory) if memory else None), None
    name = memory or "recall_study"
    try:
        found = bench.memories.get(name)
    except ResourceNotFoundError:
        if memory:
            raise
        found = bench.memories.create(name, strategies=STRATEGIES)
    return found, bench.deploy(BLUEPRINT, memory=found) if agent == BLUEPRINT else bench.ensure_agent(agent)


def recall_verdict(result: RecallResult, *gates: RecallGate) -> Verdict:
    """The answer of a recall study, judged by its gates; the study's summary travels with it."""
    return verdict(cast("Any", result), *cast("Any", gates))


def recall_findings(result: RecallResult) -> Listing:
    """What to look at next, each with its evidence."""
    return Listing(
        items=[(f"{each.title}.", each.evidence, each.advice) for each in result.findings()],
        nothing="Nothing stands out.",
    )


def recall_notes(result: RecallResult) -> Listing:
    """How it was measured, and what it cannot tell."""
    notes = [("", note, "") for note in method_notes(result)]
    return Listing(items=[*notes, *(("Not told:", limit, "") for limit in cannot_tell(result))])


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallMisses:
    """The questions that were missed or came with a former value, with what came instead."""

    asked: tuple[Asked, ...]

    @classmethod
    def of(cls, result: RecallResult, *, searching: bool = True) -> RecallMisses:
        """Those of the arms with retrieval, or (not `searching`) of all."""
        return cls(asked=tuple(each for each in result.asked if each.arm.searches or not searching))

    def __repr__(self) -> str:
        bad = [each for each in self.asked if each.verdict in ("missed", "stale", "recalled beside a former value")]
        return "\n".join(f"{each.verdict} · {each.arm} · {each.probe.said}" for each in bad) or "Nothing was missed."

    def _repr_html_(self) -> str:
        return misses_html(self.asked)
