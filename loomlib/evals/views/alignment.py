"""The alignment of an expected and an actual path as static HTML."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from ..matching.alignment import ROW_SIGNS


def alignment_html(table: Sequence[Mapping[str, Any]], sentence: str = "") -> str:
    """The same as static HTML: no script, no network, everything that an agent said escaped.

    Told by words and signs, not by colour alone.
    """
    tones = {
        "kept": "transparent",
        "changed": "#f2c74455",
        "moved": "#4c8dd655",
        "missing": "#d6584c44",
        "extra": "#8a63d244",
    }
    body = "".join(
        f'<tr style="background:{tones.get(row["kind"], "transparent")}">'
        f"<td>{ROW_SIGNS.get(row['kind'], '?')} {html.escape(str(row['kind']))}</td>"
        f"<td>{row['expected_step'] or ''}</td><td>{_code(row['expected'])}</td>"
        f"<td>{row['actual_step'] or ''}</td><td>{_code(row['actual'])}</td></tr>"
        for row in table
    )
    caption = f'<caption style="text-align:left">{html.escape(sentence)}</caption>' if sentence else ""
    head = "".join(f'<th scope="col">{each}</th>' for each in ("", "step", "expected", "step", "called"))
    opened = '<table class="loom-alignment mathjax_ignore">'
    return f"{opened}{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _code(call: str | None) -> str:
    return f"<code>{html.escape(call)}</code>" if call else ""
