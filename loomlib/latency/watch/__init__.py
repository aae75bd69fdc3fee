"""Change detection over weeks: when an agent became slower, costlier or worse, by how much, and what else changed.

`nights` reads latency studies by day, `evaluations` evaluation runs; `metrics` computes the watched figures,
`detection` searches for changes (`loomlib.statistics.changes`), `watching` says which are regressions.
"""

from loomlib.dispatch import register

from .change import CHANGE_STATES, Change
from .limits import WatchLimits
from .metrics import WATCH_METRICS, EvalFigure, ScenarioFigure, WatchedFigure
from .result import FigureHistory, WatchResult
from .watching import DAYS, watch_agent

register("WatchResult.sentences", "loomlib.latency.watch.sentences:sentences")
register("WatchResult.table", "loomlib.latency.watch.sentences:table")
register("WatchResult.figure", "loomlib.latency.watch.views:nights_figure")
register("WatchResult.html", "loomlib.latency.watch.views:watch_page")

__all__ = [
    "CHANGE_STATES",
    "DAYS",
    "WATCH_METRICS",
    "Change",
    "EvalFigure",
    "FigureHistory",
    "ScenarioFigure",
    "WatchLimits",
    "WatchResult",
    "WatchedFigure",
    "watch_agent",
]
