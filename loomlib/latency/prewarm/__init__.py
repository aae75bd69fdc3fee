"""Pre-warmed sessions: what a ping every N seconds saves on the first call after an idle gap, and what it costs.

This is also the smallest complete kind of study on `loomlib.experiments`: `design` (the plan), `study` (how one unit is
measured), `result` and `analysis` (what is concluded).
"""

from loomlib.dispatch import register
from loomlib.experiments import register_result

from .design import PrewarmDesign
from .result import GapCall, PrewarmResult
from .study import PrewarmStudy

register_result("PrewarmResult", "loomlib.latency.prewarm.analysis")
register("PrewarmResult.gate", "loomlib.latency.prewarm.analysis:judge")

__all__ = ["GapCall", "PrewarmDesign", "PrewarmResult", "PrewarmStudy"]
