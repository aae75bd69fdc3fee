"""What an agent was asked, as cases of a set."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..agents import AgentEntry
    from ..evals import EvalSet
    from ..evals.capture import CapturedInto
    from .bench import Workbench
    from .invocation import Invocation


class CapturedAgent:
    """The part of `Agent` that makes cases of what it was asked."""

    entry: AgentEntry
    bench: Workbench

    def capture(
        self,
        evalset: EvalSet,
        what: Invocation | int | Sequence[Invocation | int] | None = None,
        *,
        session_id: str | None = None,
        **options: Any,
    ) -> EvalSet:
        """The set with a case more: of an invocation (or its id), of several, or of a whole session.

            evalset = agent.capture(evalset)                    # what was asked last
            evalset = agent.capture(evalset, session_id="…")    # a conversation

        The options are those of `EvalSet.capture`: `expected`, `tags`, `redact`, `id`, `replace_known`.
        """
        from ..evals.capture import capture
        from .capturing import chosen_rows, conversation_of_rows

        rows = chosen_rows(self.bench, self.entry, what, session_id)
        return capture(evalset, conversation_of_rows(self.bench, self.entry, rows), **options)

    def capture_into(
        self,
        path: str | PathLike[str],
        what: Invocation | int | Sequence[Invocation | int] | None = None,
        *,
        session_id: str | None = None,
        write: bool = True,
        **options: Any,
    ) -> CapturedInto:
        """`capture` into a file of a set, which is made when it is new; tells what was struck out.

            agent.capture_into("production.json")               # what was asked last

        Without `write` the file stays as it is: a look at what would be kept.
        """
        from ..evals.capture import capture_into
        from .capturing import chosen_rows, conversation_of_rows

        rows = chosen_rows(self.bench, self.entry, what, session_id)
        return capture_into(path, conversation_of_rows(self.bench, self.entry, rows), write=write, **options)
