"""Load test: what load an agent holds within a service level objective, why not more, and what it costs.

`design` is the plan, `traffic` what its calls are, `subject` the agent as it is called, `next_step` what follows from
the steps before, `study` how steps are made, `result` what is stored, `parts` and `limit` why the agent holds no more,
`analysis` the conclusions.
"""

from loomlib.dispatch import register
from loomlib.experiments import register_result

from .design import LoadDesign
from .estimate import LoadEstimate
from .result import FoundLoad, LoadResult
from .study import LoadStudy
from .subject import AgentWithLoadTarget, LoadedAgent, LoadTrace, SampledCall

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
    "LoadTrace",
    "LoadedAgent",
    "SampledCall",
]
