"""One stored request of a protocol's session: the answer, timings at the socket, and the transcript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry, InvocationRecord
from ..agents.entry import ServerEntry
from ..agents.protocols.transcript import TranscriptEntry, read_transcript
from ..deprecation import renamed_members
from ..errors import NotSupportedError
from ..json_values import as_list, as_mapping
from ..presentation.formats import milliseconds
from .context import Context
from .invocation import Invocation
from .stored_call import StoredCall
from .transcripts import transcript_frame

if TYPE_CHECKING:
    import pandas as pd

    from .invocation_evals import InvocationEvals
    from .trace_view import TraceView


class ProtocolCall(StoredCall):
    """One request of an MCP, A2A or WebSocket session. A failed one is a `ProtocolCall` too, with `ok` False.

    Args:
        title: What was called, for cards.
        record: The stored record.
        result: The protocol's result.
        events: The stored transcript.
        context: The workbench's resources.
        entry: The agent or server.
    """

    def __init__(
        self,
        title: str,
        record: InvocationRecord,
        result: Mapping[str, Any],
        events: Sequence[str],
        context: Context,
        entry: AgentEntry | ServerEntry,
    ) -> None:
        super().__init__(record)
        self.title, self.result = title, result
        self._events, self._context, self._entry = tuple(events), context, entry

    @property
    def value(self) -> Any:
        """The structured content of an MCP tool's result; its text where there is none.

        A value that is not a JSON object is sent as `{"result": value}`; this property returns the value.
        """
        structured: Any = self.result.get("structuredContent")
        if structured is None:
            return self.text
        return structured["result"] if [*as_mapping(structured)] == ["result"] else structured

    @property
    def content(self) -> Sequence[Any]:
        """The content blocks of the result, in the protocol's form."""
        return as_list(self.result.get("content")) or as_list(self.result.get("contents"))

    @property
    def entries(self) -> tuple[TranscriptEntry, ...]:
        """The messages in both directions, in order."""
        return read_transcript(self._events)

    def transcript(self) -> pd.DataFrame:
        """Return the messages in both directions, one row each, with their times at the socket."""
        return transcript_frame(self.entries)

    @property
    def invocation(self) -> Invocation:
        """The same request as an invocation of the agent: trace, latency, eval cases.

        Raises:
            NotSupportedError: The server is not an agent of AgentCore, so there is nothing but the transcript.
        """
        if isinstance(self._entry, AgentEntry):
            return Invocation(self.record, self._context, self._entry)
        raise NotSupportedError(
            "No logs or spans are available for a server outside AgentCore",
            on=self._entry.name,
            try_="call.transcript()",
        )

    def trace(self) -> TraceView:
        """Return the agent's spans of this request (see `Invocation.trace`).

        Raises:
            NotSupportedError: The server is not an agent of AgentCore.
        """
        return self.invocation.trace()

    @property
    def evals(self) -> InvocationEvals:
        """This call as an eval case; an evaluation repeats the call.

        Raises:
            NotSupportedError: The server is not an agent of AgentCore.
        """
        return self.invocation.evals

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return renamed_members(self, {"captured": "evals.conversation", "as_case": "evals.case"}, name)

    def __repr__(self) -> str:
        outcome = "" if self.ok else f", {self.failure}: {self.error}"
        return f"<{self.title}: {self.record.status}, {milliseconds(self.duration_ms)}{outcome}>"

    def _repr_html_(self) -> str:
        return self._card(self.title, [("messages", str(len(self.entries)))])
