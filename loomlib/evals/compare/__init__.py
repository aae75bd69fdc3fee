"""Summaries of runs with intervals, paired comparisons, slices by tag, leaderboards and gates."""

from loomlib.deprecation import renamed_names
from loomlib.experiments import exit_code

from .comparison import Comparison, compare
from .gates import GateVerdict, gate_at_least, gate_not_worse
from .leaderboards import Leaderboard, LeaderboardRow, leaderboard
from .pairing import Flip, Unpaired
from .slices import ComparedSlices, Slices, compare_slices, slices
from .summaries import EvaluatorSummary, Summary, summarize
from .verdicts import EvaluatorComparison

__all__ = [
    "ComparedSlices",
    "Comparison",
    "EvaluatorComparison",
    "EvaluatorSummary",
    "Flip",
    "GateVerdict",
    "Leaderboard",
    "LeaderboardRow",
    "Slices",
    "Summary",
    "Unpaired",
    "compare",
    "compare_slices",
    "exit_code",
    "gate_at_least",
    "gate_not_worse",
    "leaderboard",
    "slices",
    "summarize",
]

__getattr__ = renamed_names(__name__, {"Standing": "LeaderboardRow"})
