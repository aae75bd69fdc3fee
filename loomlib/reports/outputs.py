"""A cell's outputs as HTML that needs neither a kernel nor a network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast
from urllib.parse import quote

from markupsafe import Markup

from loomlib.presentation.html import fragment
from loomlib.presentation.theme import plain

from .notebook import Notebook, as_node
from .safe_html import safe_html, safe_markdown, safe_text
from .summary import SUMMARY_MIME

PLOTLY_MIME = "application/vnd.plotly.v1+json"
_WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
_IMAGES = ("image/png", "image/jpeg", "image/gif")
_NUMBERS = re.compile(r'<figure class="loom-chart\b.*?<details open>(.*)</details>', re.S)


def render_outputs(cell: Notebook) -> str:
    """Render the displayable outputs of a code cell, in order."""
    return "\n".join(filter(None, (_render(output) for output in _joined(cell.get("outputs", ())))))


def _joined(outputs: Iterable[Notebook]) -> list[Notebook]:
    """Merge adjacent pieces of one stream, which a kernel sends as they are written."""
    joined: list[Notebook] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            joined[-1] = as_node({**last, "text": _text(last.text) + _text(output.text)})
        else:
            joined.append(output)
    return joined


def _render(output: Notebook) -> str:
    kind = output.output_type
    if kind == "stream":
        return _stream(_text(output.text), output.name)
    if kind == "error":
        return _error(output)
    if kind in ("display_data", "execute_result"):
        return _display(output.get("data", {}))
    return ""


def _stream(text: str, name: str) -> str:
    if not text.strip():
        return ""
    lines = text.strip().count("\n") + 1
    return _output("stream", body=_safe(safe_text(text.rstrip())), name=name, lines=lines)


def _error(output: Notebook) -> str:
    traceback = _safe(safe_text("\n".join(output.traceback)))
    return _output("error", headline=f"{output.ename}: {output.evalue}", traceback=traceback)


def _display(data: Mapping[str, Any]) -> str:
    if PLOTLY_MIME in data:
        return _figure(data[PLOTLY_MIME], _text(data.get("text/html", "")))
    if "text/html" in data:
        return _output("html", body=_safe(html)) if (html := safe_html(_text(data["text/html"])).strip()) else ""
    if "image/svg+xml" in data:
        return _image("image/svg+xml;utf8", quote(_text(data["image/svg+xml"])), separator=",")
    for mime in _IMAGES:
        if mime in data:
            return _image(mime, "".join(_text(data[mime]).split()), separator=";base64,")
    if "text/markdown" in data:
        return _output("html", body=_safe(safe_markdown(_text(data["text/markdown"]))))
    if _WIDGET_MIME in data or SUMMARY_MIME in data or "text/plain" not in data:
        return ""
    return _output("plain", body=_safe(safe_text(_text(data["text/plain"]))))


def trace_types(figures: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return plotly's types of the traces in these figures; a trace without a type is a scatter."""
    traces = [trace for figure in figures for trace in cast("Iterable[Mapping[str, Any]]", figure.get("data", ()))]
    return {str(trace.get("type", "scatter")) for trace in traces}


def _figure(figure: Mapping[str, Any], html: str) -> str:
    """Return the figure's data for the page's script, with its title as text, which can wrap.

    The numbers that Loom's own charts carry as `html` are folded below the drawing.
    """
    layout = dict(cast("Mapping[str, Any]", figure.get("layout", {})))
    title, subtitle = _titles(layout.pop("title", None))
    drawn = {"data": figure.get("data", []), "layout": layout, "config": figure.get("config", {})}
    # `<` is written as an escape: no text in the figure can end the script element that carries it.
    payload = json.dumps(drawn, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    folded = _NUMBERS.search(html)
    return _output(
        "figure", title=title, subtitle=subtitle, height=int(layout.get("height") or 360), payload=_safe(payload),
        numbers=_safe(safe_html(folded[1])) if folded else "",
    )  # fmt: skip


def _titles(title: object) -> tuple[str, str]:
    """Return a plotly title's text and subtitle without plotly's escapes and markup."""
    if not isinstance(title, Mapping):
        return plain(title), ""
    parts = cast("Mapping[str, Any]", title)
    subtitle = cast("Mapping[str, Any]", parts.get("subtitle") or {})
    return plain(parts.get("text")), plain(subtitle.get("text"))


def _image(mime: str, content: str, *, separator: str) -> str:
    return _output("image", address=f"data:{mime}{separator}{content}")


def _output(kind: str, **values: Any) -> str:
    return str(fragment("loomlib.reports:output.html.j2", kind=kind, values=values))


def _safe(html: str) -> Markup:
    """Mark HTML that `safe_html` or `safe_text` returned, or JSON without `<`, as safe to insert."""
    return Markup(html)  # noqa: S704


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "".join(value)
