"""Loom: a notebook workbench for agents on Amazon Bedrock AgentCore.

    import loomlib as loom

    bench = loom.connect()                  # the local AgentCore, started if it is not up
    agent = bench.deploy("calculator")
    inv = agent.invoke("What is 2+2?")

Names are imported when they are first used, so that `import loomlib` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agents import Chunk, InvocationError, RuntimeArn, SessionEnd, SessionStart
    from .errors import LoomError
    from .evals import EvalCase, EvalSet
    from .evals.runs import Budget, EvalRun, aevaluate, evaluate
    from .latency import LatencyStudy, StudyResult
    from .latency.prewarm import PrewarmStudy
    from .local import ServiceOptions
    from .memory_study import MemoryStudy
    from .reports import run_report
    from .settings import Settings
    from .workbench import Agent, Invocation, Workbench, connect
    from .workbench.places import overview

_MODULES = {
    "Agent": "workbench",
    "Budget": "evals.runs",
    "Chunk": "agents",
    "EvalCase": "evals",
    "EvalRun": "evals.runs",
    "EvalSet": "evals",
    "Invocation": "workbench",
    "InvocationError": "agents",
    "LatencyStudy": "latency",
    "LoomError": "errors",
    "MemoryStudy": "memory_study",
    "PrewarmStudy": "latency.prewarm",
    "RecallStudy": "memory_study.renamed",
    "RuntimeArn": "agents",
    "ServiceOptions": "local",
    "SessionEnd": "agents",
    "SessionStart": "agents",
    "Settings": "settings",
    "StudyResult": "latency",
    "Workbench": "workbench",
    "aevaluate": "evals.runs",
    "connect": "workbench",
    "evaluate": "evals.runs",
    "overview": "workbench.places",
    "run_report": "reports",
}

__all__ = [
    "Agent",
    "Budget",
    "Chunk",
    "EvalCase",
    "EvalRun",
    "EvalSet",
    "Invocation",
    "InvocationError",
    "LatencyStudy",
    "LoomError",
    "MemoryStudy",
    "PrewarmStudy",
    "RuntimeArn",
    "ServiceOptions",
    "SessionEnd",
    "SessionStart",
    "Settings",
    "StudyResult",
    "Workbench",
    "aevaluate",
    "connect",
    "evaluate",
    "overview",
    "run_report",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
