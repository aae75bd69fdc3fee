"""A limit on an arm's recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loomlib.experiments import Gate
from loomlib.presentation.formats import percent, plural
from loomlib.statistics.gates import Decision, decide_at_least

from .arms import Arm
from .summaries import ArmSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGate(Gate):
    """The verdict on the recall of `arm` and the minimum acceptable share.

    A case is one fact of one conversation: a study of one conversation has few cases and a wide interval, and rarely
    decides.
    """

    arm: Arm


def judge(summaries: Sequence[ArmSummary], least: float, arm: Arm | None) -> MemoryGate:
    """Compare an arm's recall with a limit.

    Args:
        summaries: Every arm's estimates.
        least: Minimum acceptable recall, above 0 and at most 1.
        arm: The arm; by default the best one with retrieval.
    """
    if not 0 < least <= 1:
        raise ValueError(f"the minimum recall must be above 0 and at most 1, not {least}")
    if arm is None:
        candidates = [summary for summary in summaries if summary.arm.searches] or list(summaries)
        chosen = max(candidates, key=lambda summary: -1.0 if summary.recall.value is None else summary.recall.value)
    else:
        chosen = next((summary for summary in summaries if summary.arm == arm), None)
        if chosen is None:
            arm_keys = ", ".join(summary.arm.key for summary in summaries)
            raise ValueError(f"{arm.key} is not an arm of the study: {arm_keys}")
    recall = chosen.recall
    right, total = chosen.recalled_of
    decision = decide_at_least(recall, least, [1.0] * right + [0.0] * (total - right))
    return MemoryGate(
        outcome=decision.outcome,
        limit=least,
        figure=recall,
        text=_sentence(decision, chosen, least),
        data={"arm": chosen.arm.key, "least": least, "recall": recall.summary(), "needed_n": decision.needed_n},
        arm=chosen.arm,
    )


def _sentence(decision: Decision, summary: ArmSummary, least: float) -> str:
    recall, arm, outcome = summary.recall, summary.arm, decision.outcome
    if recall.value is None and decision.is_missed_by_all:
        return f"Gate missed: recall of “{arm}”, limit {percent(least)}; {decision.all_missed('question')}."
    if recall.value is None:
        few = f"{plural(recall.n, 'case')}, {recall.needed_n} are needed"
        reason = few if recall.needed_n else str(recall)
        return f"Gate unclear: the recall of “{arm}” is unknown ({reason}); more conversations are needed."
    advice = (
        f"; {decision.advice('case')}: a conversation has a case for each of its facts" if decision.needed_n else ""
    )
    return f"Gate {outcome}: recall of “{arm}” {recall.text('share')}, limit {percent(least)}{advice}."
