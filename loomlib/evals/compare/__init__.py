"""What runs say: summaries with intervals, paired comparisons, slices, leaderboards and gates."""

from .summaries import EvaluatorSummary, Summary, summarize

__all__ = ["EvaluatorSummary", "Summary", "summarize"]
