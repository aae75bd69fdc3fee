"""Tables of a study of gateways. Columns whose figures depend on a simulated model say so."""

from __future__ import annotations

from loomlib.experiments import StudyTable
from loomlib.presentation.formats import number

from .design import CALLS, DIRECT, THROUGH
from .estimates import RANKS, call_estimates, choice_estimates, recall_estimates
from .result import GatewayResult

SIMULATED = "simulated model"


def call_table(result: GatewayResult) -> StudyTable:
    """Return what the gateway adds to a call, and the parts of a call through it."""
    estimates = call_estimates(result)
    failed = {way: sum(unit.is_failed for unit in result.measured if unit.way == way) for way in CALLS}
    rows = [
        (CALLS[DIRECT], estimates.direct, str(failed[DIRECT]), "at the socket"),
        (CALLS[THROUGH], estimates.through, str(failed[THROUGH]), "at the socket"),
        ("added by the gateway", estimates.added, "–", "paired difference of the two"),
        ("of this: client to gateway and back", estimates.client, "–", "call − the gateway's span"),
        ("of this: gateway and path to the target", estimates.gateway, "–", "the gateway's span − the target's span"),
        ("of this: the target", estimates.target, "–", "the target's span"),
    ]
    return StudyTable(
        columns=("part", "n", "p50 [95 %] ms", "failed", "how it is known"),
        rows=[(name, str(one.n), str(one), count, basis) for name, one, count, basis in rows],
    )


def choice_table(result: GatewayResult) -> StudyTable:
    """Return the model's choices: one row for each catalogue and way."""
    mark = f", {SIMULATED}" if result.is_simulated else ""
    columns = (
        "tools and way",
        "n",
        f"right tool{mark} [95 %]",
        f"input tokens p50{mark} [95 %]",
        f"latency p50{mark} [95 %] ms",
        "failed",
    )
    rows = [
        (
            one.name,
            str(sum(unit.is_done for unit in one.units)),
            one.right.text("share"),
            str(one.tokens),
            str(one.duration),
            str(sum(unit.is_failed for unit in one.units)),
        )
        for one in choice_estimates(result)
    ]
    return StudyTable(columns=columns, rows=rows)


def difference_table(result: GatewayResult) -> StudyTable:
    """Return search first minus all in the prompt, for the same questions: one row for each catalogue."""
    mark = f", {SIMULATED}" if result.is_simulated else ""
    columns = (
        "tools",
        "n",
        f"right tool{mark} [95 %]",
        f"input tokens p50{mark} [95 %]",
        f"latency p50{mark} [95 %] ms",
    )
    rows = [
        (number(one.tools, 0), str(one.gained.n), one.gained.text("share"), str(one.tokens_added), str(one.added_ms))
        for one in choice_estimates(result)
        if one.gained is not None
    ]
    return StudyTable(columns=columns, rows=rows)


def recall_table(result: GatewayResult) -> StudyTable:
    """Return how often the search returned the wanted tool; no model is involved."""
    columns = (
        "tools",
        "n",
        *(f"recall@{most} [95 %]" for most in RANKS),
        f"recall@{RANKS[-1]}, same words [95 %]",
        f"recall@{RANKS[-1]}, other words [95 %]",
        "search p50 [95 %] ms",
        "failed",
    )
    rows = [
        (
            number(one.tools, 0),
            str(sum(unit.is_done for unit in one.units)),
            *(one.recall[most].text("share") for most in RANKS),
            one.worded.text("share"),
            one.reworded.text("share"),
            str(one.search),
            str(sum(unit.is_failed for unit in one.units)),
        )
        for one in recall_estimates(result)
    ]
    return StudyTable(columns=columns, rows=rows)
