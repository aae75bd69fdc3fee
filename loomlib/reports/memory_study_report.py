"""The memory study's report: its memory, its agent, and the wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loomlib.errors import ResourceNotFoundError
from loomlib.memory_study import MemoryResult
from loomlib.memory_study.analysis import wrong_answers_html
from loomlib.memory_study.measurements import AskedQuestion
from loomlib.memory_study.own_memory import STRATEGIES

if TYPE_CHECKING:
    from loomlib.workbench import Agent, Workbench
    from loomlib.workbench.memory import Memory

BLUEPRINT = "assistant_with_memory"
MEMORY = "recall_study"


def memory_study_subjects(bench: Workbench, memory: str = "", agent: str = "") -> tuple[Memory | None, Agent | None]:
    """Return the memory and the agent of a memory study.

    The blueprint assistant_with_memory is deployed with the memory, which is created if it does not exist.

    Args:
        bench: The workbench.
        memory: The memory's name, id or ARN; empty for one that the study creates for itself.
        agent: The agent's name, or "assistant_with_memory"; empty for none.

    Returns:
        The memory, None when the study creates it; and the agent, None when the study does not invoke one.
    """
    if not agent:
        return (bench.memories.get(memory) if memory else None), None
    try:
        subject = bench.memories.get(memory or MEMORY)
    except ResourceNotFoundError:
        if memory:
            raise
        subject = bench.memories.create(MEMORY, strategies=STRATEGIES)
    return subject, bench.deploy(BLUEPRINT, memory=subject) if agent == BLUEPRINT else bench.agent(agent, deploy=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswers:
    """The questions whose answer lacks the current value or contains a former one."""

    asked: tuple[AskedQuestion, ...]

    @classmethod
    def of(cls, result: MemoryResult, *, searching: bool = True) -> WrongAnswers:
        """Return the wrong answers of a study.

        Args:
            result: The study's result.
            searching: Whether to include only the arms with retrieval.
        """
        return cls(asked=tuple(question for question in result.asked if question.arm.searches or not searching))

    def __repr__(self) -> str:
        wrong: Sequence[AskedQuestion] = [question for question in self.asked if question.is_wrong]
        lines = [f"{question.verdict} · {question.arm} · {question.probe.text}" for question in wrong]
        return "\n".join(lines) or "Every question was answered correctly."

    def _repr_html_(self) -> str:
        return wrong_answers_html(self.asked)
