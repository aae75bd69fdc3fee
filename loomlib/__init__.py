"""Loom: a notebook workbench for agents on Amazon Bedrock AgentCore.

    import loomlib as loom

    bench = loom.connect()                  # the local AgentCore, started if it is not up
    agent = bench.deploy("calculator")
    inv = agent.invoke("What is 2+2?")

Names are imported when they are first used, so that `import loomlib` costs next to nothing.
"""

from typing import TYPE_CHECKING

from .dispatch import names_on_use

if TYPE_CHECKING:
    from .agents import Chunk, InvocationError, RuntimeArn, SessionEnd, SessionStart
    from .aws.authorizers import JwtAuthorizer
    from .errors import LoomError
    from .evals import EvalCase, EvalSet
    from .evals.runs import Budget, EvalRun, aevaluate, evaluate
    from .latency import LatencyStudy, StudyResult
    from .latency.comparison import ComparisonStudy
    from .latency.gateways import GatewayStudy
    from .latency.load_test import LoadStudy
    from .latency.prewarm import PrewarmStudy
    from .latency.protocol_overhead import ProtocolStudy
    from .latency.start_up import StartUpStudy
    from .local import ServiceOptions
    from .memory_study import MemoryStudy
    from .reports import run_report
    from .settings import Settings
    from .workbench import Agent, Invocation, Workbench, connect
    from .workbench.places import overview


__all__ = [
    "Agent",
    "Budget",
    "Chunk",
    "ComparisonStudy",
    "EvalCase",
    "EvalRun",
    "EvalSet",
    "GatewayStudy",
    "Invocation",
    "InvocationError",
    "JwtAuthorizer",
    "LatencyStudy",
    "LoadStudy",
    "LoomError",
    "MemoryStudy",
    "PrewarmStudy",
    "ProtocolStudy",
    "RuntimeArn",
    "ServiceOptions",
    "SessionEnd",
    "SessionStart",
    "Settings",
    "StartUpStudy",
    "StudyResult",
    "Workbench",
    "aevaluate",
    "connect",
    "evaluate",
    "overview",
    "run_report",
]


__getattr__ = names_on_use(
    __name__,
    {
        "agents": "Chunk InvocationError RuntimeArn SessionEnd SessionStart",
        "aws.authorizers": "JwtAuthorizer",
        "errors": "LoomError",
        "evals": "EvalCase EvalSet",
        "evals.runs": "Budget EvalRun aevaluate evaluate",
        "latency": "LatencyStudy StudyResult",
        "latency.comparison": "ComparisonStudy",
        "latency.gateways": "GatewayStudy",
        "latency.load_test": "LoadStudy",
        "latency.prewarm": "PrewarmStudy",
        "latency.protocol_overhead": "ProtocolStudy",
        "latency.start_up": "StartUpStudy",
        "local": "ServiceOptions",
        "memory_study": "MemoryStudy",
        "memory_study.renamed": "RecallStudy",
        "reports": "run_report",
        "settings": "Settings",
        "workbench": "Agent Invocation Workbench connect",
        "workbench.places": "overview",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
