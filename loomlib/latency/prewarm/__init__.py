"""Pre-warmed sessions: the time that regular pings save on the first call after an idle gap, and their cost.

This is also the smallest complete kind of study on `loomlib.experiments`: `design` (the plan), `study` (the measurement
of a unit), `result`, and `analysis` (the conclusions).
"""

from loomlib.dispatch import register
from loomlib.experiments import register_result

from .design import PrewarmDesign
from .result import GapCall, PrewarmResult
from .study import PrewarmStudy

register_result("PrewarmResult", "loomlib.latency.prewarm.analysis")
register("PrewarmResult.gate", "loomlib.latency.prewarm.analysis:judge")

__all__ = ["GapCall", "PrewarmDesign", "PrewarmResult", "PrewarmStudy"]
