"""The page of a report: one self-contained HTML file that opens with the answer.

The page's Content-Security-Policy forbids every address, and every script except two that are named by their hash, so
neither a missing network nor hostile text in an output changes what a reader sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Any

from markupsafe import Markup
from nbconvert.filters import Highlight2HTML  # pyright: ignore[reportUnknownVariableType]

from loomlib.presentation.html import fragment

from .chart_library import chart_library, script_source
from .notebook import Notebook, source_of, tags_of
from .outputs import PLOTLY_MIME, render_outputs, trace_types
from .safe_html import safe_html, safe_markdown

ANSWER_TAG = "answer"
"""The output of a cell with this tag is moved to the top of the page; prose with it stays in the notebook."""

APPENDIX_TAG = "appendix"
"""A cell with this tag is moved below the others."""

_OMITTED = {"injected-parameters", "papermill-error-cell-tag", "parameters", "page-omit"}
"""Tags of cells that the page omits: it has its own table of parameters and its own failure message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """The circumstances of a report's run; `failure` and `summary` are empty when there are none."""

    report: str
    command: str
    parameters: Mapping[str, object]
    begun_at: datetime
    took_s: float
    versions: Mapping[str, str]
    failure: str = ""
    summary: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of the page's body: prose, or output with its collapsed code."""

    kind: str
    markup: Markup
    code: Markup = Markup("")  # noqa: RUF009 - immutable


def render_page(notebook: Notebook, facts: PageFacts) -> str:
    """Render the executed notebook as one HTML file: under 1.5 MB with Loom's charts, about 30 kB without any.

    Args:
        notebook: The executed notebook.
        facts: How it was run.
    """
    cells = _reported_cells(notebook, to_the_end=not facts.failure)
    title, question = _opening(cells, facts.report)
    answers, parts = _split(cells)
    charts = [data[PLOTLY_MIME] for cell in cells for data in _output_data(cell) if PLOTLY_MIME in data]
    library = chart_library(trace_types(charts)) if charts else None
    script = _template("page.js") if charts else ""
    allowed = f"{library.source} {script_source(script.encode())}" if library else "'none'"
    policy = (
        f"default-src 'none'; script-src {allowed}; "
        "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    # Everything marked safe below was sanitized by `safe_html` or is a file of Loom's own.
    return fragment(
        "loomlib.reports:page.html.j2",
        title=title,
        question=Markup(question),  # noqa: S704
        answers=answers,
        parts=parts,
        facts=facts,
        policy=policy,
        style=Markup(_template("page.css")),  # noqa: S704
        library=library.content if library else "",
        script=Markup(script),  # noqa: S704
    )


def _reported_cells(notebook: Notebook, *, to_the_end: bool) -> list[Notebook]:
    """Return the cells that the page shows; of a report that failed, those up to the failure."""
    cells = [cell for cell in notebook.cells if source_of(cell).strip() and not _OMITTED.intersection(tags_of(cell))]
    if to_the_end:
        return cells
    ran = [place for place, cell in enumerate(cells) if cell.get("execution_count") or cell.get("outputs")]
    return cells[: ran[-1] + 1] if ran else cells[:1]


def _opening(cells: Sequence[Notebook], report: str) -> tuple[str, str]:
    """Return the title and the question: the first cell's heading and the text below it."""
    first = cells[0] if cells else None
    fallback = report.replace("_", " ").capitalize()
    if first is None or first.cell_type != "markdown":
        return fallback, ""
    heading, _, rest = source_of(first).strip().partition("\n")
    if not heading.startswith("# "):
        return fallback, safe_markdown(source_of(first))
    return heading.removeprefix("# ").strip(), safe_markdown(rest) if rest.strip() else ""


def _split(cells: Sequence[Notebook]) -> tuple[list[Markup], list[_Part]]:
    answers: list[Markup] = []
    parts: list[_Part] = []
    appendix: list[_Part] = []
    for cell in cells[1:] if _is_prose(cells[:1]) else cells:
        tags, source = tags_of(cell), source_of(cell)
        place = appendix if APPENDIX_TAG in tags or ANSWER_TAG in tags else parts
        if cell.cell_type == "markdown" and ANSWER_TAG not in tags:
            place.append(_Part(kind="prose", markup=Markup(safe_markdown(source))))  # noqa: S704
        elif cell.cell_type == "code":
            markup = Markup(render_outputs(cell))  # noqa: S704
            if ANSWER_TAG in tags:
                answers.append(markup)
                markup = Markup("")
            place.append(_Part(kind="code", markup=markup, code=_highlighted(source)))
    return answers, parts + appendix


def _is_prose(cells: Sequence[Notebook]) -> bool:
    return bool(cells) and cells[0].cell_type == "markdown"


def _highlighted(source: str) -> Markup:
    return Markup(safe_html(str(_HIGHLIGHT(source))))  # noqa: S704  # pyright: ignore[reportUnknownArgumentType]


def _template(name: str) -> str:
    return files("loomlib.reports").joinpath("templates", name).read_text("utf-8")


def _output_data(cell: Notebook) -> list[Mapping[str, Any]]:
    return [output.get("data", {}) for output in cell.get("outputs", ())]


_HIGHLIGHT = Highlight2HTML()
