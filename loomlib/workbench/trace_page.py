"""A trace as static HTML: the answer, the parts with what they come from, and the waterfall. No script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from .cards import milliseconds
from .trace_look import PART_COLOURS, PART_NAMES, label, share

if TYPE_CHECKING:
    from ..telemetry.cost import Cost
    from ..telemetry.diagnosis import LatencyFinding
    from ..telemetry.traces import Bar, Breakdown

SHOWN_BARS: Final = 200
SHOWN_FINDINGS: Final = 5
_STYLE = """<style>
.loom-trace{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:13px;line-height:1.45;max-width:70em;
color:var(--jp-ui-font-color1,#222)}
.loom-trace .quiet{color:var(--jp-ui-font-color2,#616161)}
.loom-trace .answer{border:1px solid var(--jp-border-color2,#bdbdbd);border-left:4px solid
var(--jp-brand-color1,#1976d2);padding:.5em 1em;margin:.5em 0;font-size:15px}
.loom-trace .answer p{margin:.15em 0}
.loom-trace table{font:inherit;border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.5em 0;width:100%}
.loom-trace th,.loom-trace td{text-align:left;padding:.15em .8em .15em 0;vertical-align:top;
border-bottom:1px solid var(--jp-border-color2,#e0e0e0)}
.loom-trace .number{text-align:right;white-space:nowrap}
.loom-trace .name{max-width:24em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.loom-trace .part{white-space:nowrap}
.loom-trace .lane{width:45%;min-width:12em}
.loom-trace .line{position:relative;height:1.1em;background:var(--jp-layout-color2,#f5f5f5);overflow:hidden}
.loom-trace .bar{position:absolute;top:.15em;bottom:.15em;min-width:2px}
.loom-trace .swatch{display:inline-block;width:.8em;height:.8em;margin-right:.5em;vertical-align:-1px}
.loom-trace .failed{outline:2px solid #c62828}
.loom-trace details{margin:.4em 0}.loom-trace summary{cursor:pointer}
</style>"""


def trace_page(
    *,
    title: str,
    sentences: Sequence[str],
    breakdown: Breakdown,
    findings: Sequence[LatencyFinding] | None,
    cost: Cost | None,
    bars: Sequence[Bar],
) -> str:
    """Return the page of one trace; all texts are escaped.

    Args:
        title: The line above the page.
        sentences: The result, one paragraph each.
        breakdown: Where the time went.
        findings: Causes of the duration; None where there are no spans to judge.
        cost: What the invocation cost; None where there are no spans.
        bars: The waterfall.
    """
    lines = "".join(f"<p>{escape(line)}</p>" for line in sentences)
    parts = [
        _STYLE,
        '<div class="loom-trace mathjax_ignore">',
        f'<div class="quiet">{escape(title)}</div>',
        f'<div class="answer">{lines}</div>',
    ]
    if breakdown.total_ns:
        parts += [_stripe(breakdown), _parts(breakdown)]
    if findings is not None:
        parts.append(_findings(findings))
    if cost is not None:
        parts.append(f'<div class="quiet">cost: {escape(_cost(cost))}</div>')
    if bars:
        parts.append(_waterfall(bars, breakdown))
    return "\n".join([*parts, "</div>"])


def _stripe(breakdown: Breakdown) -> str:
    """The whole as one line, each stretch where it lies in time."""
    start, whole = breakdown.start_ns, breakdown.total_ns
    pieces = "".join(
        f'<span class="bar" title="{escape(PART_NAMES[name])}" '
        f'style="{_place((at - start) / whole, (end - at) / whole)}background:{PART_COLOURS[name]}"></span>'
        for name, at, end in breakdown.timeline()
    )
    return f'<div class="line" role="img" aria-label="where the time went, in order">{pieces}</div>'


def _parts(breakdown: Breakdown) -> str:
    rows = "".join(
        f'<tr><td class="part"><span class="swatch" style="background:{PART_COLOURS[part.name]}"></span>'
        f"{escape(PART_NAMES[part.name])}</td>"
        f'<td class="number">{milliseconds(part.duration_ms)}</td><td class="number">{share(part.share)}</td>'
        f"<td>{escape(part.certainty)}</td>"
        f"<td>{escape(part.derived_from)}{_doubt(part.doubt)}</td></tr>"
        for part in breakdown.parts
    )
    whole = (
        f'<tr><th>the whole</th><th class="number">{milliseconds(breakdown.total_ms)}</th><th class="number">100 %</th>'
        f"<th></th><th>{escape(breakdown.whole)}</th></tr>"
    )
    head = '<tr><th>part</th><th class="number">time</th><th class="number">share</th><th></th><th>from</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{rows}{whole}</tbody></table>"


def _findings(found: Sequence[LatencyFinding]) -> str:
    """The costliest causes, each with its evidence and what to try."""
    if not found:
        return '<p class="quiet">Nothing stands out: no rule of the diagnosis applies.</p>'
    listed = "".join(
        f"<li><strong>{escape(label(each.title, 200))}</strong> · {milliseconds(each.ms_at_stake)} at stake, "
        f"{escape(each.confidence)} confidence<br>"
        f"{escape('; '.join(label(one.text, 300) for one in each.evidence))}<br>"
        f'<span class="quiet">try: {escape("; ".join(each.try_))}</span></li>'
        for each in found[:SHOWN_FINDINGS]
    )
    return f"<details open><summary>What to look at ({len(found)})</summary><ul>{listed}</ul></details>"


def _cost(cost: Cost) -> str:
    simulated = " · simulated tokens, nobody is billed" if cost.is_simulated else ""
    return f"model {cost.model} · runtime {cost.runtime}{simulated}"


def _waterfall(bars: Sequence[Bar], breakdown: Breakdown) -> str:
    shown = bars[:SHOWN_BARS]
    first = min(0.0, *(bar.start_ms for bar in shown))
    last = max(breakdown.total_ms, *(bar.start_ms + bar.duration_ms for bar in shown))
    width = max(last - first, 1e-6)
    rows = "".join(
        f'<tr><td class="name" style="padding-left:{bar.depth * 1.1:.1f}em" title="{escape(label(bar.label))}">'
        f"{escape(label(bar.label))}{_marks(bar)}</td>"
        f"<td>{escape(PART_NAMES[bar.part])}</td>"
        f'<td class="number">{bar.start_ms:,.1f} ms</td><td class="number">{milliseconds(bar.duration_ms)}</td>'
        f'<td class="lane"><div class="line"><span class="bar{" failed" if bar.is_failed else ""}" '
        f'style="{_place((bar.start_ms - first) / width, bar.duration_ms / width)}'
        f'background:{PART_COLOURS[bar.part]}"></span></div></td></tr>'
        for bar in shown
    )
    more = len(bars) - len(shown)
    note = f'<p class="quiet">… {more:,} more spans; all of them are in .spans()</p>' if more > 0 else ""
    numbers = '<th class="number">after</th><th class="number">took</th>'
    head = f'<tr><th>span</th><th>part</th>{numbers}<th class="lane"></th></tr>'
    return (
        f"<details open><summary>Waterfall, {len(bars):,} spans</summary>"
        f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>{note}</details>"
    )


def _place(left: float, width: float) -> str:
    return f"left:{left * 100:.3f}%;width:{width * 100:.3f}%;"


def _doubt(doubt: str) -> str:
    return f'<br><span class="quiet">{escape(doubt)}</span>' if doubt else ""


def _marks(bar: Bar) -> str:
    words = [*(["failed"] if bar.is_failed else []), *sorted(mark.replace("_", " ") for mark in bar.marks)]
    return f' <span class="quiet">{escape(", ".join(words))}</span>' if words else ""
