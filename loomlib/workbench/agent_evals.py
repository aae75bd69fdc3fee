"""Evaluations of an agent, and eval cases created from its invocations."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from ..agents import AgentEntry
from ..deprecation import renamed_parameter
from ..errors import LoomError
from ..evals import EvalSet
from ..evals.capture import CapturedInto, Conversation, capture, capture_into
from .capturing import select_rows, traced_conversation
from .context import Context
from .stored_call import StoredCall

Captured = StoredCall | int | Sequence[StoredCall | int]
"""Invocations or calls of a protocol, or the ids of stored ones."""


class AgentEvals:
    """Eval cases of one agent; `agent.evals`."""

    def __init__(self, context: Context, entry: AgentEntry) -> None:
        self._context, self._entry = context, entry

    @renamed_parameter("what", "invocations")
    def capture(
        self, evalset: EvalSet, invocations: Captured | None = None, *, session_id: str | None = None, **options: Any
    ) -> EvalSet:
        """Return the set with one more case, created from stored invocations.

            evalset = agent.evals.capture(evalset)                    # the last invocation
            evalset = agent.evals.capture(evalset, session_id="…")    # a conversation

        Args:
            evalset: The set to extend.
            invocations: An invocation, its id, or several; the last one, or the session's, by default.
            session_id: A whole session.
            **options: Options of `EvalSet.capture`: `expected`, `tags`, `redact`, `id`, `replace_known`.
        """
        return capture(evalset, self._conversation(invocations, session_id), **options)

    @renamed_parameter("what", "invocations")
    def capture_into(
        self,
        path: str | PathLike[str],
        invocations: Captured | None = None,
        *,
        session_id: str | None = None,
        write: bool = True,
        **options: Any,
    ) -> CapturedInto:
        """Add a case to the eval set in a file, and return what was added and what was redacted.

            agent.evals.capture_into("production.json")               # the last invocation

        Args:
            path: The eval set's file; created if it does not exist.
            invocations: An invocation, its id, or several; the last one, or the session's, by default.
            session_id: A whole session.
            write: False previews the case and leaves the file unchanged.
            **options: Options of `EvalSet.capture`.
        """
        return capture_into(path, self._conversation(invocations, session_id), write=write, **options)

    def _conversation(self, selection: Captured | None, session_id: str | None) -> Conversation:
        rows = select_rows(self._context, self._entry, None if selection is None else _ids(selection), session_id)
        return traced_conversation(self._context, self._entry, rows)


def _ids(selection: Captured) -> list[int]:
    items: Sequence[object] = (
        [selection] if isinstance(selection, str) or not isinstance(selection, Sequence) else selection
    )
    ids = [invocation.record.id if isinstance(invocation, StoredCall) else invocation for invocation in items]
    if other := [id for id in ids if not isinstance(id, int)]:
        raise LoomError(
            "Only invocations can be captured as a case",
            on=f"a {type(other[0]).__name__}",
            try_='the invocation that agent.invoke("…") returned, or its id',
        )
    return [id for id in ids if isinstance(id, int)]
