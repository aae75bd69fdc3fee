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
    from .eval_runs import (
        EvalCases,
        chosen_evaluators,
        chosen_set,
        compare_runs,
        comparison_verdict,
        eval_gates,
        eval_notes,
        eval_verdict,
        find_baseline,
        gate_list,
        two_runs,
    )
    from .memory_report import (
        CrossingGate,
        chosen_actor,
        inspected_memory,
        memory_notes,
        memory_verdict,
        newest_sessions,
        since_of,
    )
    from .parameters import Parameter, bind_parameters, describe_parameters, read_parameters
    from .recall_report import RecallMisses, recall_findings, recall_notes, recall_subjects, recall_verdict
    from .run import ReportOutcome, run_report
    from .session_story import SessionStory
    from .summary import SUMMARY_MIME
    from .time_spent import TimeSpent
    from .tool_scaling import ToolScaling

_MODULES = {
    "SUMMARY_MIME": "summary",
    "CostBook": "cost_book",
    "CrossingGate": "memory_report",
    "EvalCases": "eval_runs",
    "Listing": "displays",
    "Parameter": "parameters",
    "RecallMisses": "recall_report",
    "ReportOutcome": "run",
    "SessionStory": "session_story",
    "TimeSpent": "time_spent",
    "ToolScaling": "tool_scaling",
    "Verdict": "displays",
    "ask_samples": "agent_traces",
    "bind_parameters": "parameters",
    "chosen_actor": "memory_report",
    "chosen_agents": "agent_traces",
    "chosen_evaluators": "eval_runs",
    "chosen_set": "eval_runs",
    "compare_runs": "eval_runs",
    "comparison_verdict": "eval_runs",
    "describe_parameters": "parameters",
    "eval_gates": "eval_runs",
    "eval_notes": "eval_runs",
    "eval_verdict": "eval_runs",
    "find_baseline": "eval_runs",
    "find_report": "catalogue",
    "findings": "displays",
    "gate_list": "eval_runs",
    "inspected_memory": "memory_report",
    "memory_notes": "memory_report",
    "memory_verdict": "memory_report",
    "method": "displays",
    "newest_sessions": "memory_report",
    "read_parameters": "parameters",
    "recall_findings": "recall_report",
    "recall_notes": "recall_report",
    "recall_subjects": "recall_report",
    "recall_verdict": "recall_report",
    "report_notebooks": "catalogue",
    "run_report": "run",
    "since_of": "memory_report",
    "study_traces": "agent_traces",
    "two_runs": "eval_runs",
    "verdict": "displays",
}

__all__ = [
    "SUMMARY_MIME",
    "CostBook",
    "CrossingGate",
    "EvalCases",
    "Listing",
    "Parameter",
    "RecallMisses",
    "ReportOutcome",
    "SessionStory",
    "TimeSpent",
    "ToolScaling",
    "Verdict",
    "ask_samples",
    "bind_parameters",
    "chosen_actor",
    "chosen_agents",
    "chosen_evaluators",
    "chosen_set",
    "compare_runs",
    "comparison_verdict",
    "describe_parameters",
    "eval_gates",
    "eval_notes",
    "eval_verdict",
    "find_baseline",
    "find_report",
    "findings",
    "gate_list",
    "inspected_memory",
    "memory_notes",
    "memory_verdict",
    "method",
    "newest_sessions",
    "read_parameters",
    "recall_findings",
    "recall_notes",
    "recall_subjects",
    "recall_verdict",
    "report_notebooks",
    "run_report",
    "since_of",
    "study_traces",
    "two_runs",
    "verdict",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
