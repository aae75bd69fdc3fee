"""The static HTML of runs and comparisons: the sentences, then tables. No script, no network, all text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as escape_markup

from .words import printable

_FONT = "var(--jp-ui-font-family,system-ui,-apple-system,'Segoe UI',sans-serif)"
_STYLE = f"""<style>
.loom-eval{{font:13px/1.5 {_FONT};color:var(--jp-ui-font-color1,#212121);max-width:70rem}}
.loom-eval .loom-quiet{{color:var(--jp-ui-font-color2,#616161)}}
.loom-eval .loom-answer{{border:1px solid var(--jp-border-color2,#bdbdbd);border-left:4px solid
var(--jp-brand-color1,#1976d2);padding:.6em 1em;margin:.6em 0;font-size:15px}}
.loom-eval .loom-answer p{{margin:.15em 0}}
.loom-eval table{{font:inherit;border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.6em 0}}
.loom-eval th,.loom-eval td{{text-align:left;padding:.25em .8em;border-bottom:1px solid
var(--jp-border-color2,#e0e0e0);white-space:pre-wrap;overflow-wrap:break-word;
vertical-align:top}}
.loom-eval th[scope=col]{{white-space:nowrap}}.loom-eval td:last-child{{overflow-wrap:anywhere}}
.loom-eval details{{margin:.4em 0}}.loom-eval summary{{cursor:pointer}}
.loom-eval h4{{font-size:14px;font-weight:600;margin:1em 0 .3em}}
.loom-eval h5{{font-size:13px;font-weight:600;margin:.9em 0 .2em}}
.loom-eval .loom-case{{border-top:1px solid var(--jp-border-color2,#e0e0e0);margin:0;padding:.2em 0}}
.loom-eval .loom-case > summary{{overflow-wrap:anywhere}}
.loom-eval .loom-case[open]{{background:var(--jp-layout-color2,#f7f7f7);padding:.2em .8em .5em;margin:.2em 0}}
.loom-eval .loom-state{{font-weight:600;white-space:nowrap}}
.loom-eval .loom-failed,.loom-eval .loom-lost{{color:var(--jp-error-color1,#b71c1c)}}
.loom-eval .loom-not-answered,.loom-eval .loom-not-judged{{color:var(--jp-warn-color1,#8d5a00)}}
.loom-eval .loom-passed,.loom-eval .loom-won{{color:var(--jp-success-color1,#2e7d32)}}
.loom-eval .loom-chip{{display:inline-block;border:1px solid var(--jp-border-color2,#bdbdbd);border-radius:3px;
padding:0 .4em;margin:0 .2em;font-size:12px;max-width:22em;overflow:hidden;text-overflow:ellipsis;
white-space:nowrap;vertical-align:bottom}}
.loom-eval .loom-talk{{display:grid;grid-template-columns:max-content 1fr;gap:.2em 1em;margin:.5em 0}}
.loom-eval .loom-talk dt{{color:var(--jp-ui-font-color2,#616161);margin:0;padding:0}}
.loom-eval .loom-talk dd{{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}}
.loom-eval .loom-paths{{overflow-x:auto}}.loom-eval .loom-paths td:first-child{{white-space:nowrap}}
.loom-eval .loom-paths code{{overflow-wrap:anywhere}}
.loom-eval .loom-paths caption{{text-align:left;font-weight:600;padding:.2em 0}}
</style>"""


def page(title: str, sentences: Sequence[str], *parts: str) -> str:
    """A whole piece of HTML: `title` and `sentences` are text and escaped here, `parts` are HTML already."""
    head = f'<div class="loom-quiet">{escape(title)}</div>' if title else ""
    answer = "".join(f"<p>{escape(each)}</p>" for each in sentences)
    box = f'<div class="loom-answer">{answer}</div>' if answer else ""
    return "\n".join([_STYLE, f'<div class="loom-eval mathjax_ignore">{head}{box}', *parts, "</div>"])


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text, its first column the rows' heads; "" without rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(text)}</td>" for text in row[1:]) + "</tr>"
        for row in rows
    )
    inner = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="overflow-x:auto">{inner}</div>'


def folded(label: str, inner: str, *, is_open: bool = False) -> str:
    """HTML under a heading that opens it; "" without content."""
    return f"<details{' open' * is_open}><summary>{escape(label)}</summary>{inner}</details>" if inner else ""


def listed(sentences: Sequence[str]) -> str:
    """Sentences as a list; "" without any."""
    return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in sentences)}</ul>" if sentences else ""


def escape(text: str) -> str:
    """Foreign text as HTML shows it: never markup, never a byte that a page cannot hold."""
    return escape_markup(printable(text))
