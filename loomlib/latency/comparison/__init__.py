"""Comparison of agents: the same prompt to each of them in turn, in one interleaved study.

`design` is the plan, `study` makes the calls, `result` is the stored result, `effects` has the differences with their
intervals, `analysis` the conclusions.
"""

from loomlib.experiments import register_result

from .design import ComparisonDesign
from .effects import AgentEffect, effects
from .result import ComparedCall, ComparisonResult
from .study import ComparisonStudy

register_result("ComparisonResult", "loomlib.latency.comparison.analysis")

__all__ = ["AgentEffect", "ComparedCall", "ComparisonDesign", "ComparisonResult", "ComparisonStudy", "effects"]
