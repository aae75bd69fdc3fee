"""Gateways: what a gateway adds to a tool call, and its tool search against all tools in the prompt.

`catalogue` generates tools with questions that each ask for one of them, `design` is the plan, `study` measures the
calls and the questions, `result` is the stored result, `estimates` and `analysis` have the conclusions.
"""

from loomlib.dispatch import register
from loomlib.experiments import register_result

from .catalogue import CatalogueTool, ToolQuestion, generate_catalogue, generate_questions
from .design import GatewayDesign
from .result import GatewayResult, GatewayUnit
from .study import GatewayStudy
from .subject import GatewaySpans, StudiedGateways, ToolAnswer, ToolCaller

register_result("GatewayResult", "loomlib.latency.gateways.analysis")
register("GatewayResult.calls", "loomlib.latency.gateways.tables:call_table")
register("GatewayResult.differences", "loomlib.latency.gateways.tables:difference_table")
register("GatewayResult.recall", "loomlib.latency.gateways.tables:recall_table")
register("GatewayResult.gate", "loomlib.latency.gateways.gate:judge")

__all__ = [
    "CatalogueTool",
    "GatewayDesign",
    "GatewayResult",
    "GatewaySpans",
    "GatewayStudy",
    "GatewayUnit",
    "StudiedGateways",
    "ToolAnswer",
    "ToolCaller",
    "ToolQuestion",
    "generate_catalogue",
    "generate_questions",
]
