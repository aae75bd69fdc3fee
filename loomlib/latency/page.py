"""A study as static HTML: the answer, the table, what to look at, and how it was measured. No script, no network."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .figures import floor_note
from .method import cannot_tell, method_notes, run_again
from .scenarios import Scenario
from .tables import COLUMNS, summary_rows
from .theme import FONT, LOOKS

if TYPE_CHECKING:
    from .result import StudyResult

_STYLE = f"""<style>
.loom-study{{font:13px/1.5 {FONT};color:var(--jp-ui-font-color1,#212121);max-width:70rem}}
.loom-study .loom-quiet{{color:var(--jp-ui-font-color2,#616161)}}
.loom-study .loom-answer{{border:1px solid var(--jp-border-color2,#bdbdbd);border-left:4px solid
var(--jp-brand-color1,#1976d2);padding:.6em 1em;margin:.6em 0;font-size:15px}}
.loom-study .loom-answer p{{margin:.15em 0}}
.loom-study table{{font:inherit;border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.6em 0}}
.loom-study th,.loom-study td{{text-align:right;padding:.25em .8em;border-bottom:1px solid
var(--jp-border-color2,#e0e0e0);white-space:nowrap}}
.loom-study th:first-child,.loom-study td:first-child{{text-align:left}}
.loom-study details{{margin:.4em 0}}.loom-study summary{{cursor:pointer}}
.loom-study pre{{white-space:pre-wrap;background:var(--jp-layout-color2,#f5f5f5);color:inherit;padding:.5em}}
</style>"""


def study_html(result: StudyResult) -> str:
    """The whole page of a study; every foreign text in it is escaped."""
    findings = result.findings()
    parts = [
        _STYLE,
        '<div class="loom-study mathjax_ignore">',
        f'<div class="loom-quiet">{escape(result.title())}</div>',
        f'<div class="loom-answer">{"".join(f"<p>{escape(each)}</p>" for each in result.sentences())}</div>',
        _table(result),
        f'<div class="loom-quiet">{escape(floor_note(result.floor))}</div>',
    ]
    if findings:
        listed = "".join(
            f"<li><strong>{escape(each.title)}.</strong> {escape(each.evidence)}"
            f'<br><span class="loom-quiet">{escape(each.advice)}</span></li>'
            for each in findings
        )
        parts.append(
            f"<details open><summary>What we would look at next ({len(findings)})</summary><ul>{listed}</ul></details>"
        )
    notes = "".join(f"<li>{escape(each)}</li>" for each in (*method_notes(result), *cannot_tell(result)))
    parts.append(
        f"<details><summary>How this was measured, and what it cannot tell</summary><ul>{notes}</ul>"
        f"<pre>{escape(run_again(result))}</pre></details></div>"
    )
    return "\n".join(parts)


def _table(result: StudyResult) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in COLUMNS)
    body = "".join(
        "<tr>" + "".join(_cell(text, first=place == 0) for place, text in enumerate(row)) + "</tr>"
        for row in summary_rows(result.estimates())
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="overflow-x:auto">{table}</div>'


def _cell(text: str, *, first: bool) -> str:
    if not first:
        return f"<td>{escape(text)}</td>"
    look = LOOKS[Scenario(text)]
    return (
        f'<th scope="row"><span style="color:{look.colour}" aria-hidden="true">{look.mark}</span> {escape(text)}</th>'
    )
