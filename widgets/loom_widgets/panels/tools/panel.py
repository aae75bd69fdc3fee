"""Tools: the gateways, knowledge bases, guardrails and code interpreters that agents use, listed and tried."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from loomlib import Workbench
from loomlib.errors import LoomError
from loomlib.presentation.formats import plural

from ...kit import Panel, action
from ...kit.panel import static_summary
from ...kit.source import frame_rows
from .bedrock_actions import BedrockActions
from .code_actions import CodeActions
from .gateway_actions import GatewayActions

if TYPE_CHECKING:
    from markupsafe import Markup


class ToolsPanel(Panel):
    """The Tools panel."""

    opener: ClassVar[str] = "tools"
    called: ClassVar[str] = "Tools"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.panels.tools", "panel.js")
    parts: ClassVar[tuple[tuple[str, str], ...]] = (("loom_widgets.kit", "schema_form.js"),)

    def __init__(self, bench: Workbench, **options: Any) -> None:
        self._gateways = GatewayActions(self)
        self._code = CodeActions(self)
        super().__init__(bench, actions=(self._gateways, BedrockActions(self), self._code), **options)
        self.later("refresh")

    @action(lane="view")
    def refresh(self) -> None:
        """List the gateways, knowledge bases and guardrails; one service that refuses leaves the others listed."""
        found: dict[str, int] = {}
        refusals: list[LoomError] = []
        for name, noun, frame in (
            ("gateways", "gateway", self.bench.gateways.table),
            ("knowledge_bases", "knowledge base", self.bench.bedrock.knowledge_bases.table),
            ("guardrails", "guardrail", self.bench.bedrock.guardrails.table),
        ):
            try:
                found[noun] = self.tables.put(name, frame_rows(frame()))
            except LoomError as error:
                refusals.append(error)
        self.show(listed=found)
        self.show_code(
            "bench.gateways.table()\nbench.bedrock.knowledge_bases.table()\nbench.bedrock.guardrails.table()"
        )
        self.say(" · ".join(plural(count, noun) for noun, count in found.items()))
        self.send_message("lists")
        for error in refusals:
            raise error

    def read_again(self) -> None:
        """List again; what is chosen stays."""
        self.later("refresh")

    def welcome(self) -> Mapping[str, Any]:
        """Return the chosen gateway and its tools' number."""
        return self._gateways.chosen

    def close(self) -> None:
        """Close the sessions, then the widget."""
        if hasattr(self, "_code"):
            self._gateways.close()
            self._code.close()
        super().close()

    def static_html(self) -> Markup | str:
        """Return the lists."""
        head = ["name", "status"]
        titles = (("gateways", "gateway"), ("knowledge_bases", "knowledge base"), ("guardrails", "guardrail"))
        return static_summary(
            tables=[
                ([noun, *head[1:]], [[row["name"], row["status"]] for row in self.tables.rows(name)[:50]])
                for name, noun in titles
            ],
        )
