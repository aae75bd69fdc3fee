"""Cards: the static HTML face of an agent, an invocation, a workbench. Everything in them is escaped text."""

from __future__ import annotations

import html
from collections.abc import Sequence

_STYLE = """<style>
.loom-card{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:13px;line-height:1.45;max-width:60em;
border:1px solid var(--jp-border-color2,#cfcfcf);border-radius:4px;padding:10px 14px;margin:2px 0;
color:var(--jp-ui-font-color1,#222);background:var(--jp-layout-color1,#fff)}
.loom-card h4{margin:0 0 2px;font-size:14px;font-weight:600}
.loom-card .labels{color:var(--jp-ui-font-color2,#616161);margin:0 0 6px}
.loom-card .state{font-weight:600}.loom-card .state::before{content:"\\25CF\\00A0"}
.loom-card .good::before{color:#2e7d32}.loom-card .bad::before{color:#c62828}.loom-card .wait::before{color:#b26a00}
.loom-card dl{display:grid;grid-template-columns:max-content 1fr;gap:1px 14px;margin:6px 0 0}
.loom-card dt{color:var(--jp-ui-font-color2,#616161)}.loom-card dd{margin:0;overflow-wrap:anywhere;
font-variant-numeric:tabular-nums}
.loom-card pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:6px 0;padding:6px 8px;max-height:24em;overflow:auto;
background:var(--jp-layout-color2,#f5f5f5);color:inherit;font-family:var(--jp-code-font-family,monospace)}
</style>"""

_LONGEST_TEXT = 20_000


def card(
    title: str,
    *,
    state: tuple[str, str] | None = None,
    labels: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
    text: str | None = None,
    note: str = "",
) -> str:
    """A card as HTML. `state` is a kind ("good", "bad", "wait") and its word; `text` is shown verbatim, cut if long."""
    parts = [_STYLE, '<div class="loom-card mathjax_ignore">', f"<h4>{_safe(title)}"]
    if state:
        parts.append(f' · <span class="state {_safe(state[0])}">{_safe(state[1])}</span>')
    parts.append("</h4>")
    if labels:
        parts.append(f'<div class="labels">{_safe(" · ".join(labels))}</div>')
    if note:
        parts.append(f"<div>{_safe(note)}</div>")
    if text is not None:
        parts.append(f"<pre>{_safe(_folded(text))}</pre>")
    if facts:
        rows = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(value)}</dd>" for name, value in facts)
        parts.append(f"<dl>{rows}</dl>")
    return "".join([*parts, "</div>"])


def milliseconds(value: float | None) -> str:
    """A duration for people: `6.1 ms`, `312 ms`, `2.34 s`, or `–` when there is none."""
    if value is None:
        return "–"
    if abs(value) >= 10_000:
        return f"{value / 1000:.1f} s"
    if abs(value) >= 1_000:
        return f"{value / 1000:.2f} s"
    return f"{value:.0f} ms" if abs(value) >= 100 else f"{value:.1f} ms"


def _folded(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]}\n… {len(text) - _LONGEST_TEXT:,} more characters; all of them are in .text"


def _safe(text: str) -> str:
    return html.escape(text, quote=True)
