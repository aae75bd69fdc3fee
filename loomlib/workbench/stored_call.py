"""One stored request of any protocol: its answer, outcome and times."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Self

from ..agents import InvocationRecord
from ..presentation.formats import milliseconds
from ..presentation.html import card

_KINDS = {"complete": "good", "error": "bad"}


class StoredCall:
    """A stored request with its answer; `Invocation` and `ProtocolCall` add further lookups.

    Durations are milliseconds by a monotonic clock; `started_at` is the client's wall clock. A failed request is also
    a call: `ok` is False, `failure` its class (`loomlib.agents.FAILURES`), `error` the message.

    Args:
        record: The stored record.
    """

    def __init__(self, record: InvocationRecord) -> None:
        self.record = record

    @property
    def text(self) -> str:
        """The text of the answer, or the part that arrived before an interruption."""
        return self.record.response

    @property
    def ok(self) -> bool:
        """Whether the answer is complete and not an error."""
        return self.record.ok

    @property
    def status(self) -> str:
        """`pending`, `streaming`, `complete` or `error`."""
        return self.record.status

    @property
    def failure(self) -> str | None:
        """The class of the failure, or None."""
        return self.record.failure

    @property
    def error(self) -> str | None:
        """The error message, or None."""
        return self.record.error_message

    @property
    def session_id(self) -> str:
        """The runtime session; pass it to `agent.invoke(…, session_id=…)` to continue the conversation."""
        return self.record.session_id

    @property
    def ttft_ms(self) -> float | None:
        """Milliseconds from sending the request to the first byte received."""
        return self.record.ttft_ms

    @property
    def duration_ms(self) -> float | None:
        """Milliseconds from sending the request to the end of the answer."""
        return self.record.client_duration_ms

    @property
    def started_at(self) -> datetime | None:
        """When the request was sent, by the client's clock."""
        sent_s = self.record.client_invoke_time
        return None if sent_s is None else datetime.fromtimestamp(sent_s, UTC)

    @property
    def labels(self) -> tuple[str, ...]:
        """Provenance labels shown beside every figure, such as "simulated"."""
        return self.record.labels

    def raise_for_status(self) -> Self:
        """Return this call when its answer is complete.

        Raises:
            InvocationFailedError: The call failed or has not ended.
        """
        self.record.raise_for_status()
        return self

    def _card(self, title: str, facts: Sequence[tuple[str, str]]) -> str:
        """Return the outcome and the times as HTML.

        Args:
            title: What was called.
            facts: Facts specific to the kind of call, shown between its times and its session.
        """
        return card(
            title,
            state=(_KINDS.get(self.status, "wait"), self.status),
            labels=self.labels,
            text=self.text if self.ok else "\n".join(filter(None, (self.error, self.text))),
            facts=[
                *([] if self.ok else [("failure", self.failure or "–")]),
                ("duration", milliseconds(self.duration_ms)),
                ("first byte", milliseconds(self.ttft_ms)),
                *facts,
                ("session", self.session_id),
            ],
        )
