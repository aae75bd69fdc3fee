"""Stored invocations as conversations that a set of cases can be made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..errors import LoomError
from ..evals.capture import Conversation
from ..evals.capture.conversation import turn_of_row
from ..evals.trajectories import tools_of

if TYPE_CHECKING:
    from ..agents import AgentEntry
    from ..evals import EvalCase, EvalSet
    from ..evals.capture import Collection
    from ..store import InvocationRow
    from .bench import Workbench
    from .invocation import Invocation
    from .trace_view import TraceView

_PAGE = 500


def chosen_rows(
    bench: Workbench,
    entry: AgentEntry,
    what: Invocation | int | Sequence[Invocation | int] | None,
    session_id: str | None,
) -> list[InvocationRow]:
    """The stored invocations that are meant, oldest first: by themselves or their ids, a session's, or the last."""
    invocations = bench.store.invocations
    if what is None:
        found = invocations.list(entry.id, session_id, limit=None if session_id else 1)
        rows = [row for row in reversed(found) if row.status in ("complete", "error")]
        if not rows:
            raise LoomError("No invocation is stored", on=session_id or entry.name, try_='agent.invoke("…")')
        return rows
    several: Sequence[Invocation | int] = what if isinstance(what, Sequence) else [what]
    if isinstance(what, str) or not all(isinstance(each, int) or hasattr(each, "record") for each in several):
        raise LoomError(
            "Only what was asked can be kept as a case",
            on=f"a {type(what).__name__}",
            try_='the invocation that agent.invoke("…") returned, or its id',
        )
    rows: list[InvocationRow] = []
    for each in several:
        id = each if isinstance(each, int) else each.record.id
        row = invocations.get(id)
        if row is None:
            raise LoomError("The invocation is not stored", on=str(id))
        rows.append(row)
    return rows


def captured_invocation(invocation: Invocation) -> Conversation:
    """The conversation of one turn that an invocation was, with the tools of its trace."""
    row = invocation.agent.store.invocations.get(invocation.record.id)
    if row is None:
        raise LoomError("The invocation is not stored, so nothing more is known of it", on=str(invocation.record.id))
    return conversation_of_rows(invocation.agent.bench, invocation.agent.entry, [row])


def case_of_invocation(invocation: Invocation, **options: Any) -> EvalCase:
    """The invocation as a case of its own."""
    from ..evals.capture import case_of
    from ..evals.capture.capturing import redactor_of

    redactor = redactor_of(options.pop("redact", None))
    options["tags"] = tuple(options.get("tags", ()))
    return case_of(captured_invocation(invocation), redactor=redactor, **options)


def captured_trace(view: TraceView, row: InvocationRow, agent_name: str) -> Conversation:
    """The conversation of one turn that a traced invocation was."""
    return _conversation([row], agent_name, {row.id: view})


def conversation_of_rows(bench: Workbench, entry: AgentEntry, rows: Sequence[InvocationRow]) -> Conversation:
    """Invocations of one session as a conversation, with the tools of their traces."""
    return completed(bench, entry, [_conversation(rows, entry.name)])[0]


def completed(bench: Workbench, entry: AgentEntry, conversations: Sequence[Conversation]) -> list[Conversation]:
    """The conversations with the tools that their traces tell, all read in one batch."""
    ids = [turn.invocation_id for each in conversations for turn in each.turns if turn.failure is None]
    rows = [row for id in ids if id is not None and (row := bench.store.invocations.get(id)) is not None]
    views = {view.invocation_id: view for view in bench.find_traces(entry, rows)} if rows else {}
    return [
        replace(
            each, turns=tuple(replace(turn, tools=_tools(views.get(turn.invocation_id or -1))) for turn in each.turns)
        )
        for each in conversations
    ]


def collect(
    bench: Workbench,
    evalset: EvalSet,
    agents: Sequence[str],
    *,
    since: datetime | timedelta | None,
    by_session: bool,
    **options: Any,
) -> Collection:
    """The set with cases of what these agents (all, when none is named) were asked since then."""
    from ..evals.capture import collect_cases

    entries = [bench.catalog.get(name) for name in agents] if agents else bench.catalog.list()
    begin = datetime.now(UTC) - since if isinstance(since, timedelta) else since
    owner: dict[str, AgentEntry] = {}
    found: list[Conversation] = []
    for entry in entries:
        for rows in _grouped(_rows(bench, entry, begin), by_session=by_session):
            found.append(_conversation(rows, entry.name))
            owner[rows[0].session_id] = entry

    def complete(some: Sequence[Conversation]) -> list[Conversation]:
        whole: dict[int, Conversation] = {}
        for entry in entries:
            mine = [at for at, each in enumerate(some) if owner[each.session_id] is entry]
            whole.update(zip(mine, completed(bench, entry, [some[at] for at in mine]), strict=True))
        return [whole[at] for at in range(len(some))]

    return collect_cases(evalset, found, complete=complete, **options)


def _rows(bench: Workbench, entry: AgentEntry, begin: datetime | None) -> Iterator[InvocationRow]:
    """The ended invocations since then, newest first."""
    before: int | None = None
    while True:
        page = bench.store.invocations.list(entry.id, limit=_PAGE, before_id=before)
        for row in page:
            if begin is not None and row.client_invoke_time and row.client_invoke_time < begin.timestamp():
                return
            if row.status in ("complete", "error"):
                yield row
        if len(page) < _PAGE:
            return
        before = page[-1].id


def _grouped(rows: Iterator[InvocationRow], *, by_session: bool) -> list[list[InvocationRow]]:
    """Oldest first; those of one session together, at the place of its first."""
    groups: dict[object, list[InvocationRow]] = {}
    for row in reversed(list(rows)):
        groups.setdefault(row.session_id if by_session else row.id, []).append(row)
    return list(groups.values())


def _conversation(
    rows: Sequence[InvocationRow], agent_name: str, views: dict[int, TraceView] | None = None
) -> Conversation:
    return Conversation(
        turns=tuple(
            turn_of_row(
                prompt=row.prompt,
                answer=row.response,
                payload_digest=row.payload_digest,
                failure=None if row.status == "complete" else row.failure or "exception",
                error=row.error_message or "",
                invocation_id=row.id,
                trace_id=row.trace_id,
                tools=_tools((views or {}).get(row.id)),
            )
            for row in rows
        ),
        session_id=rows[0].session_id,
        agent_name=agent_name,
        labels=tuple(dict.fromkeys(label for row in rows for label in row.labels)),
    )


def _tools(view: TraceView | None) -> Any:
    return None if view is None or not view.trace.spans else tools_of(view.trace)
