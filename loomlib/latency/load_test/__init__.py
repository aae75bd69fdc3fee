"""Load test: the highest load at which an agent meets a service level objective, what limits it, and its cost.

`design` is the plan, `traffic` the calls, `subject` the agent, `next_step` derives the next step from the previous
ones, `study` runs the steps, `result` is the stored result, `parts` and `limit` explain the limit, `analysis` has the
conclusions.
"""

from loomlib.dispatch import register
from loomlib.experiments import register_result

from .design import LoadDesign
from .estimate import LoadEstimate
from .result import FoundLoad, LoadResult
from .study import LoadStudy
from .subject import AgentWithLoadTarget, LoadTestAgent, LoadTrace, SampledCall

register_result("LoadResult", "loomlib.latency.load_test.analysis")
register("LoadResult.where_time_goes", "loomlib.latency.load_test.analysis:where_time_goes")
register("LoadResult.kinds", "loomlib.latency.load_test.analysis:kinds")
register("LoadResult.gate", "loomlib.latency.load_test.analysis:gate")
register("LoadResult.gate_at", "loomlib.latency.load_test.hold:gate_at")

__all__ = [
    "AgentWithLoadTarget",
    "FoundLoad",
    "LoadDesign",
    "LoadEstimate",
    "LoadResult",
    "LoadStudy",
    "LoadTestAgent",
    "LoadTrace",
    "SampledCall",
]
