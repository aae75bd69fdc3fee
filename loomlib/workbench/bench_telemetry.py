"""The part of the workbench that finds traces, and that knows the rules and prices by which they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from .frames import rows_frame

if TYPE_CHECKING:
    import pandas as pd

    from ..agents import AgentEntry
    from ..aws import Clients
    from ..plugins import Plugins
    from ..settings import Settings
    from ..store import InvocationRow, Store
    from ..telemetry import NamedSource
    from ..telemetry.cost import PriceTable
    from ..telemetry.diagnosis import RuleBook
    from .environment import Environment
    from .runtime_uses import RuntimeUses
    from .trace_view import TraceView
    from .tracer import Tracer


class BenchTelemetry:
    """What `Workbench` offers about traces; diagnosis and prices are read when a trace is, not by every `connect()`."""

    store: Store
    clients: Clients
    settings: Settings
    _house: Environment

    def rules(self) -> pd.DataFrame:
        """The rules by which `findings()` judges: what each asks, from where on it speaks, what to try, and its source.

        A `rules.toml` in Loom's home changes them, plugins add to them.
        """
        return rows_frame(self._rules.table())

    def prices(self) -> pd.DataFrame:
        """The prices by which `cost()` reckons, in dollars for a million tokens, each with its source and date.

        A `prices.toml` in Loom's home goes before the shipped ones.
        """
        return rows_frame(self._prices.table())

    def find_traces(
        self,
        entry: AgentEntry,
        rows: Sequence[InvocationRow],
        *,
        source: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> list[TraceView]:
        """The traces of an agent's stored invocations, in that order (see `Invocation.trace`)."""
        from ..aws.token_counts import count_tokens
        from .trace_view import TraceView
        from .wait_line import WaitLine

        elsewhere = None if source is None else self._span_source(source)
        found = self._tracer.trace(entry, rows, source=elsewhere, progress=progress or WaitLine())
        return [
            TraceView(
                each,
                agent_name=entry.name,
                labels=each.row.labels,
                remedy=self._tracer.patience.remedy,
                count_tokens=partial(count_tokens, self.clients, region=entry.region),
                rules=self._rules,
                prices=self._prices,
                find_use=partial(self._runtime_uses.of, entry, each),
            )
            for each in found
        ]

    def _span_source(self, name: str) -> NamedSource | None:
        from ..telemetry import CloudWatchSpans, NamedSource

        given = self._plugins.get("span_sources", name)
        # The collector asks CloudWatch itself: it knows which logs say why spans are missing there.
        return None if isinstance(given, CloudWatchSpans) else NamedSource(name=name, read=given)

    @cached_property
    def _plugins(self) -> Plugins:
        from ..plugins import find_plugins

        return find_plugins("span_sources", "rules", "panels")

    @cached_property
    def _runtime_uses(self) -> RuntimeUses:
        from ..telemetry.cost import UsageLogs
        from .runtime_uses import RuntimeUses

        return RuntimeUses(self.store, UsageLogs(self.clients), settled_s=self._house.patience().horizon_s)

    @cached_property
    def _rules(self) -> RuleBook:
        from ..telemetry.diagnosis import rule_book

        return rule_book(home=self.settings.home, plugins=self._plugins)

    @cached_property
    def _prices(self) -> PriceTable:
        from ..telemetry.cost import price_table

        return price_table(home=self.settings.home)

    @cached_property
    def _tracer(self) -> Tracer:
        from .tracer import Tracer

        return Tracer(self.store, self.clients, patience=self._house.patience(), same_clock=self._house.same_clock)
