"""Reports: run a notebook with parameters, leave the executed notebook, a self-contained page and a JSON summary.

    from loomlib.reports import run_report

    outcome = run_report("latency_study", {"agent": "calculator", "cold": "10"}, out="reports")
    outcome.exit_code, outcome.html

A report's notebook states its answer with `verdict(result)`; importing this room for that loads no papermill.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agent_traces import ask_samples, chosen_agents, study_traces
    from .catalogue import find_report, report_notebooks
    from .cost_book import CostBook
    from .displays import Listing, Verdict, findings, method, verdict
    from .parameters import Parameter, bind_parameters, describe_parameters, read_parameters
    from .run import ReportOutcome, run_report
    from .session_story import SessionStory
    from .summary import SUMMARY_MIME
    from .time_spent import TimeSpent
    from .tool_scaling import ToolScaling

_MODULES = {
    "SUMMARY_MIME": "summary",
    "CostBook": "cost_book",
    "Listing": "displays",
    "Parameter": "parameters",
    "ReportOutcome": "run",
    "SessionStory": "session_story",
    "TimeSpent": "time_spent",
    "ToolScaling": "tool_scaling",
    "Verdict": "displays",
    "ask_samples": "agent_traces",
    "bind_parameters": "parameters",
    "chosen_agents": "agent_traces",
    "describe_parameters": "parameters",
    "find_report": "catalogue",
    "findings": "displays",
    "method": "displays",
    "read_parameters": "parameters",
    "report_notebooks": "catalogue",
    "run_report": "run",
    "study_traces": "agent_traces",
    "verdict": "displays",
}

__all__ = [
    "SUMMARY_MIME",
    "CostBook",
    "Listing",
    "Parameter",
    "ReportOutcome",
    "SessionStory",
    "TimeSpent",
    "ToolScaling",
    "Verdict",
    "ask_samples",
    "bind_parameters",
    "chosen_agents",
    "describe_parameters",
    "find_report",
    "findings",
    "method",
    "read_parameters",
    "report_notebooks",
    "run_report",
    "study_traces",
    "verdict",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
