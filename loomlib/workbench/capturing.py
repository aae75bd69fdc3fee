"""Eval cases from stored invocations, with the tool calls of their traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from ..agents import AgentEntry
from ..errors import LoomError
from ..evals import EvalSet
from ..evals.capture import Collection, Conversation, collect_cases
from ..json_values import parse_object
from ..store import InvocationRow
from .context import Context
from .conversations import conversation_of, tools_in
from .tracing import find_traces

_PAGE = 500
_LAST = 20
"""Number of newest invocations that are searched for the last one that can be a case."""


def stored_row(context: Context, invocation_id: int) -> InvocationRow:
    """Return the stored row of an invocation.

    Raises:
        LoomError: The invocation is not stored.
    """
    row = context.store.invocations.get(invocation_id)
    if row is None:
        raise LoomError(
            "The invocation is not stored, so nothing else is known about it",
            on=str(invocation_id),
            try_="the id of a stored invocation: agent.history lists them",
        )
    return row


def select_rows(
    context: Context, entry: AgentEntry, invocation_ids: Sequence[int] | None, session_id: str | None
) -> list[InvocationRow]:
    """Return stored invocations, oldest first: by ids, else by session, else the agent's last one.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        invocation_ids: Ids of stored invocations; None to select by session.
        session_id: A session whose invocations are all selected; None for the agent's last invocation.

    Raises:
        LoomError: No stored invocation could become a case.
    """
    if invocation_ids is not None:
        return [stored_row(context, id) for id in invocation_ids]
    newest_first = context.store.invocations.list(entry.id, session_id, limit=None if session_id else _LAST)
    rows = [row for row in reversed(newest_first) if _is_case(entry, row)][0 if session_id else -1 :]
    if not rows:
        raise LoomError("No invocation is stored", on=session_id or entry.name, try_='agent.invoke("…")')
    return rows


def traced_conversation(context: Context, entry: AgentEntry, rows: Sequence[InvocationRow]) -> Conversation:
    """Return invocations of one session as a conversation, with the tools of their traces.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        rows: Stored invocations of one session, oldest first.
    """
    return add_tools(context, entry, [conversation_of(rows, entry.name)])[0]


def add_tools(context: Context, entry: AgentEntry, conversations: Sequence[Conversation]) -> list[Conversation]:
    """Return the conversations with the tools of their traces, which are read in one batch.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        conversations: Conversations of that agent.
    """
    ids = [turn.invocation_id for talk in conversations for turn in talk.turns if turn.failure is None]
    rows = [row for id in ids if id is not None and (row := context.store.invocations.get(id)) is not None]
    traces = {view.invocation_id: view.trace for view in find_traces(context, entry, rows)} if rows else {}
    return [
        replace(
            talk,
            turns=tuple(replace(turn, tools=tools_in(traces.get(turn.invocation_id or -1))) for turn in talk.turns),
        )
        for talk in conversations
    ]


def collect(
    context: Context,
    evalset: EvalSet,
    agents: Sequence[str],
    *,
    since: datetime | timedelta | None,
    by_session: bool,
    **options: Any,
) -> Collection:
    """Collect cases from stored invocations, as `BenchEvals.collect` documents it.

    Args:
        context: The workbench's resources.
        evalset: The set to add the cases to.
        agents: Names of agents; all when empty.
        since: Only invocations at or after this time; a timedelta counts back from now. None for everything.
        by_session: Create one case per session instead of one per invocation.
        **options: Options of `loomlib.evals.capture.collect_cases`.

    Raises:
        ValueError: `since` has no time zone.
    """
    from ..metrics import Window

    entries = context.catalog.select(agents) if agents else context.catalog.list()
    begin = Window.of(since).since
    owner: dict[int | None, AgentEntry] = {}
    conversations: list[Conversation] = []
    for entry in entries:
        for rows in _grouped(_ended_rows(context, entry, begin), by_session=by_session):
            conversations.append(conversation_of(rows, entry.name))
            owner[rows[0].id] = entry

    def complete(some: Sequence[Conversation]) -> list[Conversation]:
        whole: dict[int, Conversation] = {}
        for entry in entries:
            places = [place for place, talk in enumerate(some) if owner[talk.turns[0].invocation_id] is entry]
            completed = add_tools(context, entry, [some[place] for place in places])
            whole.update(zip(places, completed, strict=True))
        return [whole[place] for place in range(len(some))]

    return collect_cases(evalset, conversations, complete=complete, **options)


def _ended_rows(context: Context, entry: AgentEntry, begin: datetime | None) -> Iterator[InvocationRow]:
    """Yield the invocations since `begin` that have ended, newest first."""
    before: int | None = None
    while True:
        page = context.store.invocations.list(entry.id, limit=_PAGE, before_id=before)
        for row in page:
            if begin is not None and row.client_invoke_time and row.client_invoke_time < begin.timestamp():
                return
            if _is_case(entry, row):
                yield row
        if len(page) < _PAGE:
            return
        before = page[-1].id


def _is_case(entry: AgentEntry, row: InvocationRow) -> bool:
    """Return whether an invocation has ended and can be repeated; of MCP requests, only tool calls can."""
    asks = entry.protocol != "MCP" or "tool" in parse_object(row.prompt or "")
    return asks and row.status in ("complete", "error")


def _grouped(rows: Iterator[InvocationRow], *, by_session: bool) -> list[list[InvocationRow]]:
    """Return the rows, oldest first; those of one session are grouped at the position of its first row."""
    groups: dict[object, list[InvocationRow]] = {}
    for row in reversed(list(rows)):
        groups.setdefault(row.session_id if by_session else row.id, []).append(row)
    return list(groups.values())
