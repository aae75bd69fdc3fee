"""Protocol overhead: the same task over HTTP, WebSocket, MCP, A2A and AG-UI, in bytes, events and milliseconds.

`design` is the plan, `study` measures the calls, `result` is the stored result, `analysis` has the conclusions.
"""

from loomlib.dispatch import register
from loomlib.experiments import register_result

from .design import ProtocolDesign
from .result import ProtocolResult, WayCall
from .study import AgentWithWays, ProtocolStudy

register_result("ProtocolResult", "loomlib.latency.protocol_overhead.analysis")
register("ProtocolResult.sizes", "loomlib.latency.protocol_overhead.sizes:size_table")

__all__ = ["AgentWithWays", "ProtocolDesign", "ProtocolResult", "ProtocolStudy", "WayCall"]
