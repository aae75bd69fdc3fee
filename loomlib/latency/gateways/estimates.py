"""Estimates of a study of gateways: the calls, the choices of the model, and the recall of the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.pairs import estimate_difference
from loomlib.statistics.percentiles import estimate_paired_difference, estimate_percentile, estimate_share

from .design import ALL, CHOICES, DIRECT, FIND, THROUGH
from .result import GatewayResult, GatewayUnit

RANKS = (1, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEstimates:
    """Medians of the calls, in milliseconds.

    Attributes:
        direct: A call of the MCP server itself.
        through: A call through the gateway.
        added: Their paired difference.
        differences: The individual differences.
        client: Time of a call through the gateway before and after the gateway's span.
        gateway: The gateway's span without the target's.
        target: The target's span.
    """

    direct: Estimate
    through: Estimate
    added: Estimate
    differences: tuple[float, ...]
    client: Estimate
    gateway: Estimate
    target: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceEstimates:
    """The choices of the model for one catalogue and one way.

    Attributes:
        tools: Tools of the catalogue.
        way: "all" or "search".
        units: The questions.
        right: Share of the answered questions for which the right tool was called, and no other.
        tokens: Median tokens of the request to the model.
        duration: Median time from the question to the choice, in milliseconds.
        gained: Difference of the shares, search first minus all in the prompt; None for the latter.
        tokens_added: Median paired difference of the tokens, search minus all; None for "all".
        added_ms: Median paired difference of the times, search minus all; None for "all".
    """

    tools: int
    way: str
    units: tuple[GatewayUnit, ...]
    right: Estimate
    tokens: Estimate
    duration: Estimate
    gained: Estimate | None = None
    tokens_added: Estimate | None = None
    added_ms: Estimate | None = None

    @property
    def name(self) -> str:
        """The catalogue and the way."""
        return f"{self.tools} tools, {CHOICES[self.way]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallEstimates:
    """How often the gateway's search returned the wanted tool.

    Attributes:
        tools: Tools of the catalogue.
        units: The questions.
        recall: Share of the answered ones whose tool is among the first 1, 5 and 10 results.
        worded: `recall` of the first 10 for questions in the words of the description.
        reworded: `recall` of the first 10 for questions in other words.
        search: Median time of the search, in milliseconds.
    """

    tools: int
    units: tuple[GatewayUnit, ...]
    recall: dict[int, Estimate]
    worded: Estimate
    reworded: Estimate
    search: Estimate


def call_estimates(result: GatewayResult) -> CallEstimates:
    """Return the estimates of the calls."""
    direct = _durations(result, DIRECT)
    through = _durations(result, THROUGH)
    pairs = [(through[block], direct[block]) for block in sorted(through) if block in direct]
    traced = [
        (unit.duration_ms, unit.gateway_ms, unit.target_ms)
        for unit in result.measured
        if unit.way == THROUGH and unit.is_done
    ]
    client = [whole - gateway for whole, gateway, _ in traced if whole is not None and gateway is not None]
    inside = [gateway - target for _, gateway, target in traced if gateway is not None and target is not None]
    target = [target for _, _, target in traced if target is not None]
    return CallEstimates(
        direct=estimate_percentile(list(direct.values()), 0.5),
        through=estimate_percentile(list(through.values()), 0.5),
        added=estimate_paired_difference([one for one, _ in pairs], [two for _, two in pairs]),
        differences=tuple(one - two for one, two in pairs),
        client=estimate_percentile(client, 0.5),
        gateway=estimate_percentile(inside, 0.5),
        target=estimate_percentile(target, 0.5),
    )


def choice_estimates(result: GatewayResult) -> list[ChoiceEstimates]:
    """Return the estimates of every catalogue and way, the smallest catalogue first."""
    return [_choice(result, tools, way) for tools in result.design.sizes for way in CHOICES]


def recall_estimates(result: GatewayResult) -> list[RecallEstimates]:
    """Return the recall of the search for every catalogue, the smallest first."""
    estimates: list[RecallEstimates] = []
    for tools in result.design.sizes:
        units = tuple(unit for unit in result.measured if unit.tools == tools and unit.way == FIND)
        done_units = [unit for unit in units if unit.is_done]
        times = [unit.duration_ms for unit in done_units if unit.duration_ms is not None]
        estimates.append(
            RecallEstimates(
                tools=tools,
                units=units,
                recall={most: _recall(done_units, most) for most in RANKS},
                worded=_recall([unit for unit in done_units if not unit.is_reworded], RANKS[-1]),
                reworded=_recall([unit for unit in done_units if unit.is_reworded], RANKS[-1]),
                search=estimate_percentile(times, 0.5),
            )
        )
    return estimates


def _recall(units: Sequence[GatewayUnit], most: int) -> Estimate:
    return estimate_share(sum(unit.rank is not None and unit.rank <= most for unit in units), len(units))


def _choice(result: GatewayResult, tools: int, way: str) -> ChoiceEstimates:
    units = tuple(unit for unit in result.measured if unit.tools == tools and unit.way == way)
    done_units = [unit for unit in units if unit.is_done]
    right = estimate_share(sum(unit.is_right for unit in done_units), len(done_units))
    tokens = estimate_percentile(_without_missing([unit.input_tokens for unit in done_units]), 0.5)
    duration = estimate_percentile(_without_missing([unit.duration_ms for unit in done_units]), 0.5)
    if way == ALL:
        return ChoiceEstimates(tools=tools, way=way, units=units, right=right, tokens=tokens, duration=duration)
    before = {unit.block: unit for unit in result.measured if unit.tools == tools and unit.way == ALL and unit.is_done}
    pairs = [(unit, before[unit.block]) for unit in done_units if unit.block in before]
    tokens_of = [(one.input_tokens, two.input_tokens) for one, two in pairs]
    times_of = [(one.duration_ms, two.duration_ms) for one, two in pairs]
    return ChoiceEstimates(
        tools=tools,
        way=way,
        units=units,
        right=right,
        tokens=tokens,
        duration=duration,
        gained=estimate_difference([float(one.is_right) - float(two.is_right) for one, two in pairs]),
        tokens_added=_difference(tokens_of),
        added_ms=_difference(times_of),
    )


def _difference(pairs: Sequence[tuple[float | None, float | None]]) -> Estimate:
    complete_pairs = [(one, two) for one, two in pairs if one is not None and two is not None]
    return estimate_paired_difference([one for one, _ in complete_pairs], [two for _, two in complete_pairs])


def _durations(result: GatewayResult, way: str) -> dict[int, float]:
    return {
        unit.block: unit.duration_ms
        for unit in result.measured
        if unit.way == way and unit.is_done and unit.duration_ms is not None
    }


def _without_missing(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
