"""Gateways in the Tools panel: their targets and tools, and calls of the tools."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import LoomError
from loomlib.json_values import as_mapping, as_text
from loomlib.presentation.formats import milliseconds, plural

from ...kit import Form, PanelPort, action
from ...kit.schema_forms import fields_of, values_of
from ...kit.source import connect_code, frame_rows
from ...kit.texts import short_text

if TYPE_CHECKING:
    from loomlib.workbench.gateway_view import GatewayView

_HEADS: Final = ("name", "kind", "status", "reason")


class GatewayActions:
    """The chosen gateway."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel
        self._gateway: GatewayView | None = None
        self._schemas: dict[str, Mapping[str, Any]] = {}
        self.chosen: dict[str, Any] = {}
        """The values of the chosen gateway that views show; empty without a gateway."""

    @action(lane="gateway")
    def choose_gateway(self, form: Form) -> Mapping[str, Any]:
        """Read a gateway's targets and tools; if that fails, the former gateway stays chosen, as the views show it."""
        arn = form.text("arn")
        gateway = self._panel.bench.gateways.get(arn)
        self._panel.say(f"Reading the tools of {gateway.value.name} …")
        self._panel.show_code(f"{self._opened(gateway)}gateway.targets()\ngateway.tools()")
        try:
            targets, tools = frame_rows(gateway.targets()), gateway.tools()
        except BaseException:
            gateway.close()
            raise
        self.close()
        self._gateway = gateway
        self._panel.show(call={})
        self._schemas = dict(zip(tools["name"], map(as_mapping, tools["input_schema"]), strict=True))
        rows = frame_rows(tools[["name", "description", "arguments"]])
        count = self._panel.tables.put("tools", rows)
        value = gateway.value
        self.chosen = {
            "arn": value.arn,
            "name": value.name,
            "facts": [["address", value.url], ["status", value.status], ["callers", value.authorizer]],
            "targets": {"head": list(_HEADS), "rows": [[short_text(row[key]) for key in _HEADS] for row in targets]},
            "searches": value.searches,
            "tools": count,
        }
        self._panel.say(f"{value.name}: {plural(len(targets), 'target')}, {plural(count, 'tool')}.")
        self._panel.send_message("gateway", **self.chosen)
        return self.chosen

    @action(lane="gateway")
    def search_tools(self, form: Form) -> Mapping[str, Any]:
        """Return the names of the tools that match a sentence, the best first."""
        query, gateway = form.text("query").strip(), self._shown_gateway(form)
        self._panel.show_code(f"{self._opened(gateway)}gateway.search({query!r})")
        names = list(gateway.search(query))
        self._panel.say(f"{plural(len(names), 'tool')} found, the best first.")
        return {"names": [short_text(name) for name in names]}

    @action(lane="gateway")
    def choose_tool(self, form: Form) -> Mapping[str, Any]:
        """Return the fields of a tool's form."""
        self._shown_gateway(form)
        name = form.text("name")
        return {"name": name, "fields": fields_of(self._schema(name))}

    @action(lane="gateway")
    def call_gateway_tool(self, form: Form) -> None:
        """Call a tool with the values of its form, and show the result."""
        name, gateway = form.text("name"), self._shown_gateway(form)
        arguments = values_of(self._schema(name), as_mapping(form.get("values")))
        self._panel.show_code(f"{self._opened(gateway)}gateway.call({name!r}, **{arguments!r}).value")
        self._panel.say(f"Calling {name} …")
        call = gateway.call(name, **arguments)
        took = milliseconds(call.duration_ms)
        self._panel.show(
            call={
                "tool": short_text(name),
                "ok": call.ok,
                "took": took,
                "text": short_text(call.text or as_text(call.error)),
                "labels": list(call.labels),
            }
        )
        self._panel.say(f"{name} {'answered' if call.ok else 'failed'} in {took}.")

    def close(self) -> None:
        """Close the gateway's MCP session."""
        if self._gateway is not None:
            self._gateway.close()
            self._gateway = None

    def _shown_gateway(self, form: Form) -> GatewayView:
        """Return the chosen gateway; refuse a request from a view that still shows another one."""
        if self._gateway is None:
            raise LoomError("No gateway is chosen", try_="choose a row of the table")
        if form.text("gateway", self._gateway.value.arn) != self._gateway.value.arn:
            raise LoomError(
                "Another gateway was chosen in the meantime",
                on=self._gateway.value.name,
                try_="choose the gateway of the tool again",
            )
        return self._gateway

    def _schema(self, name: str) -> Mapping[str, Any]:
        if name not in self._schemas:
            raise LoomError("The gateway has no such tool", on=short_text(name), try_="choose a row of the table")
        return self._schemas[name]

    def _opened(self, gateway: GatewayView) -> str:
        return f"{connect_code(self._panel.bench)}gateway = bench.gateways.get({gateway.value.name!r})\n"
