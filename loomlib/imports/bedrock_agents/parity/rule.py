"""The declared rule by which two agents behave alike on a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from loomlib.errors import EvalError
from loomlib.evals.registry import make_evaluator
from loomlib.evals.values.cases import EvaluatorChoice
from loomlib.evals.values.evaluator import Evaluator
from loomlib.presentation.formats import join

from .negation import SameNegation

ToolOrder = Literal["exact", "in_order", "any_order", "names", "ignored"]
"""Modes of comparing tool calls: the same in the same order; the old agent's in their order, with others between them;
the same in any order; the same tools in any order, with any arguments; not at all."""

THRESHOLD: Final = 0.75
"""Minimum score of an answer that is alike, for evaluators without their own threshold."""
DEFAULT_ANSWERS: Final = ("embedding(threshold=0.75)", "numeric")
TOOLS: Final = "tools"
"""The name of the comparison of tool calls among a rule's evaluators."""

_WORDS: Final[Mapping[str, str]] = {
    "exact": "it calls the same tools with the same arguments in the same order",
    "in_order": "it calls the same tools with the same arguments in the same order, perhaps with others between them",
    "any_order": "it calls the same tools with the same arguments, in any order",
    "names": "it calls the same tools, whatever their arguments",
}
_MATCH: Final[Mapping[str, tuple[str, bool]]] = {
    "exact": ("EXACT", False),
    "in_order": ("IN_ORDER", True),
    "any_order": ("ANY_ORDER", False),
    "names": ("ANY_ORDER", False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeRule:
    """The rule by which a successor behaves like the old agent on a case.

    All parts must be satisfied. The old agent's answer and tool calls are the expected ones.

    Attributes:
        answers: Evaluators, each of which must pass the successor's answer: by default similarity in
            meaning by embeddings computed offline, a negation ("not", "unable") in both answers or in
            neither, and the same numbers. A judge model, such as
            "judge:correctness", can tell a yes from a no, which embeddings cannot.
        tools: How tool calls are compared.
        arguments: How single arguments are compared, such as {"note": "normalized"} or {"date": "ignore"}.

    Raises:
        EvalError: `tools` is not a mode of comparison, or there is nothing to compare.

    Examples:
        >>> AlikeRule(answers=("judge:correctness",), tools="in_order")  # doctest: +SKIP
    """

    answers: tuple[str, ...] = DEFAULT_ANSWERS
    tools: ToolOrder = "any_order"
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if self.tools not in (*_WORDS, "ignored"):
            raise EvalError(
                "There is no such comparison of tool calls", on=str(self.tools), try_=", ".join((*_WORDS, "ignored"))
            )
        if not self.answers:
            raise EvalError(
                "A rule needs at least one evaluator of answers", on="answers", try_=", ".join(DEFAULT_ANSWERS)
            )

    @property
    def uses_embeddings(self) -> bool:
        """Whether answers are compared by embeddings, which ignore negation, so that negations are compared too."""
        return any(choice.startswith("embedding") for choice in self.answers)

    def evaluators(self) -> list[Evaluator]:
        """Return the evaluators, all of which must pass; one without a threshold gets `THRESHOLD`.

        Raises:
            PluginError: An evaluator does not exist.
        """
        evaluators = [_with_threshold(choice) for choice in self.answers]
        if self.uses_embeddings:
            evaluators.append(cast("Evaluator", SameNegation()))
        if self.tools != "ignored":
            match, extra = _MATCH[self.tools]
            arguments: Any = False if self.tools == "names" else dict(self.arguments) or True
            options = {"match": match, "extra": extra, "arguments": arguments, "over": "conversation", "name": TOOLS}
            evaluators.append(make_evaluator(EvaluatorChoice(name="trajectory", options=options)))
        return evaluators

    def sentence(self) -> str:
        """Return the rule in one sentence."""
        passes = f"its answer passes {join(self.answers)} against the old agent's answer"
        passes += ", and a negation is in both answers or in neither" if self.uses_embeddings else ""
        if self.tools == "ignored":
            return f"The new agent behaves like the old one if {passes}. Tool calls are not compared."
        ways = "".join(f"; {name} is compared as {how}" for name, how in self.arguments.items())
        return f"The new agent behaves like the old one if {_WORDS[self.tools]}, and {passes}{ways}."

    def summary(self) -> dict[str, Any]:
        """Return the rule as JSON values."""
        return {"answers": list(self.answers), "tools": self.tools, "arguments": dict(self.arguments)}


def _with_threshold(choice: str) -> Evaluator:
    evaluator = make_evaluator(choice)
    if getattr(evaluator, "threshold", THRESHOLD) is not None:
        return evaluator
    return make_evaluator(EvaluatorChoice(name=choice, threshold=THRESHOLD))
