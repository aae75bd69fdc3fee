"""A recall study as static HTML: the answer, the evidence, the method. Every foreign text in it is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from .measurements import Asked
from .method import cannot_tell, method_notes, run_again
from .tables import COLUMNS, arm_rows

if TYPE_CHECKING:
    from .result import RecallResult

_STYLE = """<style>
.loom-recall{font:13px/1.5 var(--jp-ui-font-family,system-ui,-apple-system,'Segoe UI',sans-serif);max-width:76rem;
color:var(--jp-ui-font-color1,#212121)}
.loom-recall .quiet{color:var(--jp-ui-font-color2,#616161)}
.loom-recall .answer{border:1px solid var(--jp-border-color2,#bdbdbd);border-left:4px solid
var(--jp-brand-color1,#1976d2);padding:.6em 1em;margin:.6em 0;font-size:15px}
.loom-recall .answer p{margin:.15em 0}
.loom-recall table{font:inherit;border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.6em 0}
.loom-recall th,.loom-recall td{text-align:left;padding:.25em .8em;border-bottom:1px solid
var(--jp-border-color2,#e0e0e0);vertical-align:top}
.loom-recall details{margin:.4em 0}.loom-recall summary{cursor:pointer}
.loom-recall pre{white-space:pre-wrap;background:var(--jp-layout-color2,#f5f5f5);color:inherit;padding:.5em}
</style>"""
_MOST_ROWS = 200


def recall_html(result: RecallResult) -> str:
    """The whole page of a study."""
    findings = "".join(
        f"<li><strong>{escape(each.title)}.</strong> {escape(each.evidence)}"
        f'<br><span class="quiet">{escape(each.advice)}</span></li>'
        for each in result.findings()
    )
    notes = "".join(f"<li>{escape(each)}</li>" for each in (*method_notes(result), *cannot_tell(result)))
    return "\n".join(
        [
            _STYLE,
            '<div class="loom-recall mathjax_ignore">',
            f'<div class="quiet">{escape(result.title())}</div>',
            f'<div class="answer">{"".join(f"<p>{escape(each)}</p>" for each in result.sentences())}</div>',
            f'<div style="overflow-x:auto">{_table(COLUMNS, arm_rows(result))}</div>',
            f"<details open><summary>What to look at next</summary><ul>{findings}</ul></details>" if findings else "",
            misses_html(result.asked, styled=False),
            f"<details><summary>How this was measured, and what it cannot tell</summary><ul>{notes}</ul>"
            f"<pre>{escape(run_again(result))}</pre></details></div>",
        ]
    )


def misses_html(asked: Sequence[Asked], *, styled: bool = True) -> str:
    """The questions that were missed or answered by a former value, with what came instead."""
    bad = [each for each in asked if each.verdict in ("missed", "stale", "recalled beside a former value")]
    rows = [
        (
            each.verdict,
            str(each.arm),
            each.probe.said,
            each.probe.expected or "nothing any more",
            ", ".join(each.probe.former) or "–",
            f"session {each.probe.session}, told {each.probe.age} before",
            " | ".join(each.shown) or "–",
        )
        for each in bad[:_MOST_ROWS]
    ]
    if not rows:
        return "<p>Every question was answered rightly.</p>" if asked else ""
    head = ("what came of it", "arm", "question", "holds now", "held before", "when", "first records, or the answer")
    more = f"<p>{len(bad) - _MOST_ROWS} more are in result.questions().</p>" if len(bad) > _MOST_ROWS else ""
    told = (
        f"<details><summary>What was missed, or came with a former value ({len(bad)})</summary>"
        f'<div style="overflow-x:auto">{_table(head, rows)}</div>{more}</details>'
    )
    return f'{_STYLE}<div class="loom-recall mathjax_ignore">{told}</div>' if styled else told


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
