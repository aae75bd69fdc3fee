"""Eval cases created from one invocation."""

from __future__ import annotations

from typing import Any

from ..agents import AgentEntry, InvocationRecord
from ..evals import EvalCase
from ..evals.capture import Conversation, case_of
from ..evals.capture.capturing import redactor_of
from .capturing import stored_row, traced_conversation
from .context import Context


class InvocationEvals:
    """One invocation as an eval case; `inv.evals`."""

    def __init__(self, context: Context, entry: AgentEntry, record: InvocationRecord) -> None:
        self._context, self._entry, self._record = context, entry, record

    def conversation(self) -> Conversation:
        """Return prompt and answer with the tools of the trace, as `EvalSet.capture` takes them."""
        return traced_conversation(self._context, self._entry, [stored_row(self._context, self._record.id)])

    def case(self, **options: Any) -> EvalCase:
        """Return this invocation as a separate, redacted eval case.

            evalset.with_cases(inv.evals.case(tags=["production"]))

        Args:
            **options: `expected`, `tags`, `redact` and `id`, as for `EvalSet.capture`.
        """
        redactor = redactor_of(options.pop("redact", None))
        options["tags"] = tuple(options.get("tags", ()))
        return case_of(self.conversation(), redactor=redactor, **options)
