"""The static page of an overview: numbers as tiles, tables below. Everything in it is escaped text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..metrics import Headline

BINS_SHOWN: Final = 48

_STYLE = """<style>
.loom-overview{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:13px;line-height:1.45;
color:var(--jp-ui-font-color1,#222)}
.loom-overview .labels{color:var(--jp-ui-font-color2,#616161)}
.loom-overview dl{display:flex;flex-wrap:wrap;gap:8px;margin:8px 0}
.loom-overview dl>div{border:1px solid var(--jp-border-color2,#cfcfcf);border-radius:4px;padding:6px 10px}
.loom-overview dt{color:var(--jp-ui-font-color2,#616161)}
.loom-overview dd{margin:0;font-variant-numeric:tabular-nums}
.loom-overview dd+dd{color:var(--jp-ui-font-color2,#616161)}
.loom-overview td,.loom-overview th{text-align:left;overflow-wrap:anywhere}
</style>"""


def overview_page(
    title: str,
    labels: Sequence[str],
    sentence: str,
    headlines: Sequence[Headline],
    table: str,
    *sections: tuple[str, str],
    note: str = "",
) -> str:
    """The page. `table` and the second of each section are HTML made by `table_html`; the rest is text."""
    tiles = "".join(
        f"<div><dt>{escape(each.title)}</dt><dd>{escape(each.value)}</dd>"
        f"{f'<dd>{escape(each.note)}</dd>' if each.note else ''}</div>"
        for each in headlines
    )
    more = "".join(f"<p><strong>{escape(name)}</strong></p>{html}" for name, html in sections if html)
    said = f'<div class="labels">{escape(" · ".join(labels))}</div>' if labels else ""
    return (
        f'{_STYLE}<div class="loom-overview mathjax_ignore">'
        f"<strong>{escape(title)}</strong>{said}<p>{escape(sentence)}</p>"
        f"{f'<dl>{tiles}</dl>' if tiles else ''}{table}{more}{f'<p>{escape(note)}</p>' if note else ''}</div>"
    )


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]], *, more: int = 0) -> str:
    """A table of text, empty when there are no rows."""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    if not body:
        return ""
    names = "".join(f"<th>{escape(name)}</th>" for name in head) if any(head) else ""
    left = f"<p>… {more:,} more in the table</p>" if more > 0 else ""
    return f'<div style="overflow-x:auto"><table>{f"<tr>{names}</tr>" if names else ""}{body}</table></div>{left}'
