"""The experiment kernel: planned measurements that can be stopped and resumed, and the views on their results.

A kind of study is a plan, a procedure that measures one unit, and an analysis of the stored units, as in
`loomlib.latency` and `loomlib.memory_study`.
"""

from loomlib.deprecation import renamed_names
from loomlib.dispatch import register

from .conditions import MOST_TASKS_PER_PROCESSOR, MachineConditions, StudyConditions
from .design import design_values, planned_units, randomized_blocks
from .environment import describe_client
from .gate import Gate, exit_code
from .ledger import StudyLedger
from .progress import (
    LogLines,
    NotebookBar,
    ProgressCounter,
    ProgressSnapshot,
    Segment,
    Silent,
    StudySnapshot,
    bar_html,
    choose_progress,
)
from .result import StudyFinding, StudyMethod, StudyRecord, StudyTable, isolation_notes, record_fields, register_result
from .run_ledger import RunLedger, new_id
from .study import Procedure, Study, StudyRun
from .units import (
    DONE,
    FAILED,
    LOST,
    PLANNED,
    RUNNING,
    MeasuredUnit,
    UnitOutcome,
    failure_counts,
    pending_count,
    unit_fields,
)
from .watch import ConditionsRecord, MachineWatch, recorded_machine, watched_machine

register("StudyRecord.html", "loomlib.experiments.page:study_page")

__all__ = [
    "DONE",
    "FAILED",
    "LOST",
    "MOST_TASKS_PER_PROCESSOR",
    "PLANNED",
    "RUNNING",
    "ConditionsRecord",
    "Gate",
    "LogLines",
    "MachineConditions",
    "MachineWatch",
    "MeasuredUnit",
    "NotebookBar",
    "Procedure",
    "ProgressCounter",
    "ProgressSnapshot",
    "RunLedger",
    "Segment",
    "Silent",
    "Study",
    "StudyConditions",
    "StudyFinding",
    "StudyLedger",
    "StudyMethod",
    "StudyRecord",
    "StudyRun",
    "StudySnapshot",
    "StudyTable",
    "UnitOutcome",
    "bar_html",
    "choose_progress",
    "describe_client",
    "design_values",
    "exit_code",
    "failure_counts",
    "isolation_notes",
    "new_id",
    "pending_count",
    "planned_units",
    "randomized_blocks",
    "record_fields",
    "recorded_machine",
    "register_result",
    "unit_fields",
    "watched_machine",
]

__getattr__ = renamed_names(__name__, {"StudyGate": "Gate"})
