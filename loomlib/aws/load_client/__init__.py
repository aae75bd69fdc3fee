"""A process that sends planned HTTP requests at planned times, and writes the outcome of each to a journal.

The load engine (`loomlib.latency.load.engine`) starts one for each core: `python -m loomlib.aws.load_client`. It
imports no botocore and no package of the analysis, so that it starts fast and stays small.
"""

from .form import RequestForm
from .journal import CANCELLED, COMPLETE, ENDED, HTTP_ERROR, SENT, USED, Ended, Sent, Used, read_line
from .plan import ScheduledCall, write_plan
from .requests import Secrets
from .trace_ids import call_trace_id

__all__ = [
    "CANCELLED",
    "COMPLETE",
    "ENDED",
    "HTTP_ERROR",
    "SENT",
    "USED",
    "Ended",
    "RequestForm",
    "ScheduledCall",
    "Secrets",
    "Sent",
    "Used",
    "call_trace_id",
    "read_line",
    "write_plan",
]
