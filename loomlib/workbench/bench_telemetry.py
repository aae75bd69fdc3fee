"""Traces of stored invocations, and the rules and prices applied to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..agents import AgentEntry
from ..store import InvocationRow
from .context import Context
from .frames import rows_frame
from .tracing import find_traces

if TYPE_CHECKING:
    import pandas as pd

    from .trace_view import TraceView


class BenchTelemetry:
    """Telemetry of a workbench's agents; `bench.telemetry`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def rules(self) -> pd.DataFrame:
        """Return the rules of `findings()`: question, threshold, advice and source, one row each.

        A `rules.toml` in the home folder changes them; plugins add to them.
        """
        return rows_frame(self._context.rules.table())

    def prices(self) -> pd.DataFrame:
        """Return the prices that `cost()` uses, in USD per million tokens, each with its source and date.

        A `prices.toml` in the home folder overrides the shipped ones.
        """
        return rows_frame(self._context.prices.table())

    def find_traces(
        self,
        entry: AgentEntry,
        rows: Sequence[InvocationRow],
        *,
        source: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> list[TraceView]:
        """Return the traces of an agent's stored invocations, in the order of the rows (see `Invocation.trace`).

        Args:
            entry: The agent.
            rows: Its invocations.
            source: A plugin's span source to read instead of CloudWatch.
            progress: Called with a line while spans are waited for.
        """
        return find_traces(self._context, entry, rows, source=source, progress=progress)
