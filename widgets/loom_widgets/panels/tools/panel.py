"""Tools: what agents use (gateways, functions, knowledge bases, browsers, …), listed and tried."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from loomlib import Workbench
from loomlib.errors import LoomError
from loomlib.presentation.formats import plural

from ...kit import Panel, action
from ...kit.panel import static_summary
from ...kit.source import connect_code, frame_rows
from .agent_actions import AgentActions
from .bedrock_actions import BedrockActions
from .browser_actions import BrowsingActions
from .code_actions import CodeActions
from .function_actions import FunctionActions
from .gateway_actions import GatewayActions
from .search_actions import SearchActions
from .snapshot_actions import SnapshotActions

if TYPE_CHECKING:
    from markupsafe import Markup

_KINDS: Final = (
    ("gateways", "gateway", "bench.gateways.table()"),
    ("knowledge_bases", "knowledge base", "bench.bedrock.knowledge_bases.table()"),
    ("guardrails", "guardrail", "bench.bedrock.guardrails.table()"),
    ("functions", "function", "bench.tools.functions.table()"),
    ("bedrock_agents", "Bedrock agent", "bench.bedrock.agents.table()"),
    ("browsers", "browser", "bench.tools.browsers()"),
)
"""Each list: its name, the noun for one item, and the code that reads it."""


class ToolsPanel(Panel):
    """The Tools panel."""

    opener: ClassVar[str] = "tools"
    called: ClassVar[str] = "Tools"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.panels.tools", "panel.js")
    parts: ClassVar[tuple[tuple[str, str], ...]] = (("loom_widgets.kit", "schema_form.js"),)

    def __init__(self, bench: Workbench, **options: Any) -> None:
        self._gateways = GatewayActions(self)
        self._code = CodeActions(self)
        self._browser = BrowsingActions(self)
        others = (
            BedrockActions(self), FunctionActions(self), AgentActions(self), SnapshotActions(self), SearchActions(self),
        )  # fmt: skip
        super().__init__(bench, actions=(self._gateways, self._code, self._browser, *others), **options)
        self.later("refresh")

    @action(lane="view")
    def refresh(self) -> None:
        """List everything; an error of one service does not affect the other lists."""
        refusals = self._list()
        self.show_code(connect_code(self.bench) + "\n".join(code for _, _, code in _KINDS))
        self.say(" · ".join(plural(count, noun) for noun, count in self.state["listed"].items()))
        for error in refusals:
            raise error

    def _list(self) -> list[LoomError]:
        """Read all lists, and return the errors of the services that refused."""
        bench = self.bench
        tables = (
            bench.gateways.table,
            bench.bedrock.knowledge_bases.table,
            bench.bedrock.guardrails.table,
            bench.tools.functions.table,
            bench.bedrock.agents.table,
            bench.tools.browsers,
        )
        counts: dict[str, int] = {}
        refusals: list[LoomError] = []
        for (name, noun, _), table in zip(_KINDS, tables, strict=True):
            try:
                counts[noun] = self.tables.put(name, frame_rows(table()))
            except LoomError as error:
                refusals.append(error)
        self.show(listed=counts)
        self.send_message("lists")
        return refusals

    def read_again(self) -> None:
        """List again; the selection, the status and the code stay, and errors are left to the next refresh."""
        self._list()

    def welcome(self) -> Mapping[str, Any]:
        """Return the chosen gateway and the number of its tools."""
        return self._gateways.chosen

    def close(self) -> None:
        """Close the sessions, then the widget."""
        if hasattr(self, "_browser"):
            for part in (self._gateways, self._code, self._browser):
                part.close()
        super().close()

    def static_html(self) -> Markup | str:
        """Return the lists."""
        return static_summary(
            tables=[
                ([noun, "status"], [[row["name"], row["status"]] for row in self.tables.rows(name)[:50]])
                for name, noun, _ in _KINDS
            ],
        )
