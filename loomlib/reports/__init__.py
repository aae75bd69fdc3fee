"""Reports: run a notebook with parameters, leave the executed notebook, a self-contained page and a JSON summary.

from loomlib.reports import run_report

outcome = run_report("latency_study", {"agent": "calculator", "cold": "10"}, out="reports")
outcome.exit_code, outcome.html
"""

from .catalogue import find_report, report_notebooks
from .parameters import Parameter, bind_parameters, describe_parameters, read_parameters
from .run import ReportOutcome, run_report
from .summary import SUMMARY_MIME

__all__ = [
    "SUMMARY_MIME",
    "Parameter",
    "ReportOutcome",
    "bind_parameters",
    "describe_parameters",
    "find_report",
    "read_parameters",
    "report_notebooks",
    "run_report",
]
