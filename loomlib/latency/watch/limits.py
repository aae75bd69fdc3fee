"""The limits up to which figures may become worse before a change is a regression."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from loomlib.presentation.formats import number, percent

from .metrics import COST, FAILURES, WatchedFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLimits:
    """The allowed worsening of figures.

    Attributes:
        max_slower: How much slower calls may become, as a share (0.1 for 10 %).
        max_cost_increase: How much more a call may cost, as a share.
        max_drop: How much lower pass rates and mean scores may be, as a difference (0.02 for 2 points).
    """

    max_slower: float = 0.0
    max_cost_increase: float = 0.0
    max_drop: float = 0.0

    def __post_init__(self) -> None:
        for name in [field.name for field in fields(self)]:
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} must be a share of at least 0, such as 0.1 for 10 %, not {getattr(self, name)}"
                )

    def of(self, figure: WatchedFigure) -> float:
        """Return the limit of a figure's effect: the largest ratio or difference, or the smallest where more is better.

        Args:
            figure: The figure.
        """
        if figure.metric == FAILURES:
            return 0.0
        if figure.is_higher_better:
            return -self.max_drop
        return 1 + (self.max_cost_increase if figure.metric == COST else self.max_slower)

    def text(self, figure: WatchedFigure) -> str:
        """Return a figure's limit as text: `10 %`, `2 points`, `no change`.

        Args:
            figure: The figure.
        """
        allowed = abs(self.of(figure) - (0 if figure.is_difference else 1))
        if not allowed:
            return "no change"
        if figure.kind == "number":
            return number(allowed)
        return f"{number(100 * allowed)} points" if figure.is_difference else percent(round(allowed, 9))
