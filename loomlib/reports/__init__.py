"""Reports: run a notebook with parameters and write the executed notebook, a self-contained page and a JSON summary.

    from loomlib.reports import run_report

    outcome = run_report("latency_study", {"agent": "calculator", "cold": "10"}, out="reports")
    outcome.exit_code, outcome.html

A report's notebook states its answer with `verdict(result)`; importing this package does not load papermill.
"""

from typing import TYPE_CHECKING

from ..deprecation import renamed_names
from ..dispatch import names_on_use

if TYPE_CHECKING:
    from .agent_comparison import AgentComparison
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
    from .memory_study_report import WrongAnswers, memory_study_subjects
    from .migration import FailedComparison, Migration, compared_agents
    from .parameters import Parameter, bind_parameters, describe_parameters, read_parameters
    from .run import ReportOutcome, run_report
    from .session_story import SessionStory
    from .snapshot_report import snapshot_notes, snapshot_verdict
    from .start_economics import economics_notes, economics_verdict, given_starts, number_list
    from .summary import SUMMARY_MIME
    from .tenant_accounts import TenantAccounts, tenant_accounts
    from .time_spent import TimeSpent
    from .tool_scaling import ToolScaling
    from .watch_report import allowed_share, first_day, watch_drawings, watch_notes, watch_verdict


__all__ = [
    "SUMMARY_MIME",
    "AgentComparison",
    "CostBook",
    "CrossingGate",
    "EvalCases",
    "FailedComparison",
    "Listing",
    "Migration",
    "Parameter",
    "ReportOutcome",
    "SessionStory",
    "TenantAccounts",
    "TimeSpent",
    "ToolScaling",
    "Verdict",
    "WrongAnswers",
    "allowed_share",
    "ask_samples",
    "bind_parameters",
    "chosen_actor",
    "chosen_agents",
    "chosen_evaluators",
    "chosen_set",
    "compare_runs",
    "compared_agents",
    "comparison_verdict",
    "describe_parameters",
    "economics_notes",
    "economics_verdict",
    "eval_gates",
    "eval_notes",
    "eval_verdict",
    "find_baseline",
    "find_report",
    "findings",
    "first_day",
    "gate_list",
    "given_starts",
    "inspected_memory",
    "memory_notes",
    "memory_study_subjects",
    "memory_verdict",
    "method",
    "newest_sessions",
    "number_list",
    "read_parameters",
    "report_notebooks",
    "run_report",
    "since_of",
    "snapshot_notes",
    "snapshot_verdict",
    "study_traces",
    "tenant_accounts",
    "two_runs",
    "verdict",
    "watch_drawings",
    "watch_notes",
    "watch_verdict",
]


_RENAMED = renamed_names(
    __name__,
    {
        "RecallMisses": "WrongAnswers",
        "recall_findings": "findings",
        "recall_notes": "method",
        "recall_subjects": "memory_study_subjects",
        "recall_verdict": "verdict",
    },
)


__getattr__ = names_on_use(
    __name__,
    {
        "agent_comparison": "AgentComparison",
        "agent_traces": "ask_samples chosen_agents study_traces",
        "catalogue": "find_report report_notebooks",
        "cost_book": "CostBook",
        "displays": "Listing Verdict findings method verdict",
        "eval_runs": (
            "EvalCases chosen_evaluators chosen_set compare_runs comparison_verdict eval_gates eval_notes "
            "eval_verdict find_baseline gate_list two_runs"
        ),
        "memory_report": (
            "CrossingGate chosen_actor inspected_memory memory_notes memory_verdict newest_sessions since_of"
        ),
        "memory_study_report": "WrongAnswers memory_study_subjects",
        "migration": "FailedComparison Migration compared_agents",
        "parameters": "Parameter bind_parameters describe_parameters read_parameters",
        "run": "ReportOutcome run_report",
        "session_story": "SessionStory",
        "snapshot_report": "snapshot_notes snapshot_verdict",
        "start_economics": "economics_notes economics_verdict given_starts number_list",
        "summary": "SUMMARY_MIME",
        "tenant_accounts": "TenantAccounts tenant_accounts",
        "time_spent": "TimeSpent",
        "tool_scaling": "ToolScaling",
        "watch_report": "allowed_share first_day watch_drawings watch_notes watch_verdict",
    },
    _RENAMED,
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
