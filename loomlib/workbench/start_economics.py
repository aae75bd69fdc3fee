"""Measured starts of stored studies with the CPU time and memory of their calls, and the traffic of stored calls."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from ..agents import AgentEntry, RuntimeArn
from ..errors import StudyError
from ..experiments import StudyRecord
from ..latency import StudyResult
from ..latency.economics import MeasuredStarts, SessionTraffic, measured_starts
from ..latency.prewarm import PrewarmResult
from ..latency.start_up import StartUpResult
from ..metrics import Window
from ..store import InvocationRow
from ..telemetry.cost import RuntimeUse
from .context import Context

if TYPE_CHECKING:
    from collections.abc import Mapping


_KINDS: Final[Mapping[str, type[StudyRecord]]] = {
    "latency": StudyResult,
    "prewarm": PrewarmResult,
    "start_up": StartUpResult,
}
_OF_A_STUDY: Final = "study:"


def study_starts(context: Context, study_id: str) -> list[MeasuredStarts]:
    """Return the cold and the warm calls of a stored study, with the data of the usage logs on each.

    Args:
        context: The workbench's resources.
        study_id: The study.

    Raises:
        StudyError: No study with this id is stored, or it has no cold and warm calls.
    """
    study = context.store.studies.get(study_id)
    if study is None:
        study_ids = ", ".join(row.id for row in context.store.studies.list()[:3]) or "run a study first"
        raise StudyError("No study with this id is stored", on=study_id, try_=study_ids)
    kind = str(study.design.get("kind", ""))
    if kind not in _KINDS:
        raise StudyError(
            "This kind of study has no cold and warm calls", on=f"{study_id}, {kind}", try_="a LatencyStudy"
        )
    result = _KINDS[kind].load(context.store, study_id)
    finished_units = [unit for unit in result.units if unit.is_done]
    uses: dict[int, RuntimeUse] = {}
    later: dict[str, list[RuntimeUse]] = {}
    for unit in finished_units:
        if unit.invocation_id is None:
            continue
        row = context.store.invocations.get(unit.invocation_id)
        if row is not None:
            uses[unit.invocation_id] = _use(context, row)
        if isinstance(result, StartUpResult) and unit.session_id is not None:
            later[unit.session_id] = [
                _use(context, row)
                for row in _in_order(context.store.invocations.list(session_id=unit.session_id, limit=None))
                if row.id != unit.invocation_id
            ]
    return measured_starts(result, uses, later)


def observed_traffic(context: Context, entry: AgentEntry, since: datetime | timedelta | None) -> SessionTraffic:
    """Return the traffic of an agent's stored calls, excluding studies.

    Args:
        context: The workbench's resources.
        entry: The agent.
        since: Only calls at or after this time; a timedelta counts back from now. None for all calls.

    Raises:
        ValueError: No session has two calls, or `since` has no time zone.
    """
    moment = Window.of(since).since
    begin_s = 0.0 if moment is None else moment.timestamp()
    return SessionTraffic.of_calls(
        (
            (row.session_id, row.client_invoke_time, row.client_done_time)
            for row in context.store.invocations.list(entry.id, limit=None)
            if row.client_invoke_time is not None
            and row.client_done_time is not None
            and row.client_invoke_time >= begin_s
            and not any(label.startswith(_OF_A_STUDY) for label in row.labels)
        ),
        source=f"stored calls of {entry.name}",
    )


def _in_order(rows: Sequence[InvocationRow]) -> list[InvocationRow]:
    return sorted(rows, key=lambda row: row.client_invoke_time or 0.0)


def _use(context: Context, row: InvocationRow) -> RuntimeUse:
    return context.runtime_uses.of(RuntimeArn.parse(row.agent_arn), row)
