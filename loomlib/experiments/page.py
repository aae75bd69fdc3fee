"""A study as static HTML: the answer, the table, the findings and the method. No script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .result import StudyRecord, StudyTable

_STYLE = """<style>
.loom-study{font:13px/1.5 var(--jp-ui-font-family,system-ui,-apple-system,'Segoe UI',sans-serif);max-width:76rem;
color:var(--jp-ui-font-color1,#212121)}
.loom-study .loom-quiet{color:var(--jp-ui-font-color2,#616161)}
.loom-study .loom-answer{border:1px solid var(--jp-border-color2,#bdbdbd);border-left:4px solid
var(--jp-brand-color1,#1976d2);padding:.6em 1em;margin:.6em 0;font-size:15px}
.loom-study .loom-answer p{margin:.15em 0}
.loom-study table{font:inherit;border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.6em 0}
.loom-study th,.loom-study td{text-align:left;padding:.25em .8em;border-bottom:1px solid
var(--jp-border-color2,#e0e0e0);vertical-align:top}
.loom-study details{margin:.4em 0}.loom-study summary{cursor:pointer}
.loom-study pre{white-space:pre-wrap;background:var(--jp-layout-color2,#f5f5f5);color:inherit;padding:.5em}
</style>"""


def study_page(result: StudyRecord) -> str:
    """Return the page of a study; text that others wrote is escaped."""
    findings = result.findings()
    listed = "".join(
        f"<li><strong>{escape(finding.title)}.</strong> {escape(finding.evidence)}"
        f'<br><span class="loom-quiet">{escape(finding.advice)}</span></li>'
        for finding in findings
    )
    method = result.method()
    notes = "".join(f"<li>{escape(note)}</li>" for note in (*method.notes, *method.limits))
    return framed(
        f'<div class="loom-quiet">{escape(result.title())}</div>',
        f'<div class="loom-answer">{"".join(f"<p>{escape(text)}</p>" for text in result.sentences())}</div>',
        table_html(result.text_table()),
        f"<details open><summary>What to look at next ({len(findings)})</summary><ul>{listed}</ul></details>"
        if findings
        else "",
        *result.sections(),
        f"<details><summary>How this was measured, and what it cannot tell</summary><ul>{notes}</ul>"
        f"<pre>{escape(method.run_again)}</pre></details>",
    )


def framed(*parts: str) -> str:
    """Return parts of a study's page as HTML that can stand on its own."""
    return "\n".join([_STYLE, '<div class="loom-study mathjax_ignore">', *filter(None, parts), "</div>"])


def table_html(table: StudyTable) -> str:
    """Return a table as HTML, with the mark of each row's condition before its name."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    marks: Sequence[tuple[str, str]] = table.marks or [("", "")] * len(table.rows)
    body = "".join(f"<tr>{_row(row, *mark)}</tr>" for row, mark in zip(table.rows, marks, strict=True))
    return f'<div style="overflow-x:auto"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(cells: Sequence[str], colour: str, mark: str) -> str:
    symbol = f'<span style="color:{colour}" aria-hidden="true">{mark}</span> ' if mark else ""
    first, *rest = map(escape, cells)
    return f'<th scope="row">{symbol}{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest)
