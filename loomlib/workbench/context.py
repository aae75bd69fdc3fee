"""Resources that a workbench shares with its agents and invocations: store, clients, settings and environment."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ..agents import Catalog, Invoker
from ..aws import Clients
from ..plugins import Plugins, find_plugins
from ..settings import Settings
from ..store import Store
from ..telemetry import LogReader
from .environment import Environment

if TYPE_CHECKING:
    from ..telemetry.cost import PriceTable
    from ..telemetry.diagnosis import RuleBook
    from .runtime_uses import RuntimeUses
    from .trace_finder import TraceFinder


class Context:
    """The open resources of one workbench. `connect()` creates it; agents, invocations and memories share it.

    Plugins, rules, prices and the tracer are read when they are first needed, not by every `connect()`.

    Args:
        where: "local" or "aws".
        settings: The settings in force.
        store: The database of agents, invocations, studies and runs.
        clients: The connection to AgentCore.
        environment: Where AgentCore runs.
    """

    def __init__(
        self, *, where: str, settings: Settings, store: Store, clients: Clients, environment: Environment
    ) -> None:
        self.where, self.settings, self.store, self.clients = where, settings, store, clients
        self.environment = environment
        self.labels = environment.labels()
        self.catalog = Catalog(store, clients, scope=where)
        self.invoker = Invoker(store, clients, read_timeout_s=settings.read_timeout_s)
        self.log_reader = LogReader(clients)

    @cached_property
    def plugins(self) -> Plugins:
        """The plugins that a workbench uses."""
        return find_plugins("span_sources", "rules", "panels")

    @cached_property
    def rules(self) -> RuleBook:
        """The diagnosis rules: built-in ones, plugins', and changes in the home folder's `rules.toml`."""
        from ..telemetry.diagnosis import rule_book

        return rule_book(home=self.settings.home, plugins=self.plugins)

    @cached_property
    def prices(self) -> PriceTable:
        """The price table: the shipped one, overridden by the home folder's `prices.toml`."""
        from ..telemetry.cost import price_table

        return price_table(home=self.settings.home)

    @cached_property
    def tracer(self) -> TraceFinder:
        """Collects traces and stores them."""
        from .trace_finder import TraceFinder

        environment = self.environment
        return TraceFinder(
            self.store, self.clients, span_polling=environment.span_polling(), same_clock=environment.same_clock
        )

    @cached_property
    def runtime_uses(self) -> RuntimeUses:
        """Reads CPU and memory use of invocations from the runtime's usage logs."""
        from ..telemetry.cost import UsageLogs
        from .runtime_uses import RuntimeUses

        return RuntimeUses(self.store, UsageLogs(self.clients), settled_s=self.environment.span_polling().horizon_s)

    def close(self) -> None:
        """Finish pending writes and close all connections; stop a local service that only this process used."""
        self.invoker.close()
        self.store.close()
        self.clients.close()
        self.environment.leave()
