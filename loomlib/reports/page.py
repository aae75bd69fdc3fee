"""The page of a report: one self-contained HTML file that opens with the answer.

The page's Content-Security-Policy forbids every address and every script but the two that are named by their hash, so
neither a missing network nor hostile text in an output changes what a reader sees.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from markupsafe import Markup
from nbconvert.filters import Highlight2HTML  # pyright: ignore[reportUnknownVariableType]

from .notebook import Notebook, source_of, tags_of
from .outputs import PLOTLY_MIME, render_outputs
from .safe_html import safe_html, safe_markdown

ANSWER_TAG = "answer"
"""A cell with this tag has its output moved to the top of the page; prose with it is the notebook's alone."""

APPENDIX_TAG = "appendix"
"""A cell with this tag comes after the others, below the evidence."""

_LEFT_OUT = {"injected-parameters", "papermill-error-cell-tag", "parameters", "page-omit"}
"""Cells that the page tells in its own words: the parameters and the failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What a page says about how it was made; `failure` and `summary` are empty when there are none."""

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
    """A piece of the page's body: prose, or folded code with its visible output."""

    kind: str
    markup: Markup
    code: Markup = Markup("")  # noqa: RUF009 - immutable


def render_page(notebook: Notebook, facts: PageFacts) -> str:
    """The executed `notebook` as one HTML file, about 5 MB when it has charts (plotly.js, once) and 30 kB when not."""
    cells = _told_cells(notebook, to_the_end=not facts.failure)
    title, question = _opening(cells, facts.report)
    answers, parts = _split(cells)
    needs_plotly = any(PLOTLY_MIME in output.get("data", {}) for cell in cells for output in cell.get("outputs", ()))
    scripts = [_plotly_script(), _template("page.js")] if needs_plotly else []
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts)) or chr(39) + 'none' + chr(39)}; "
        "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    # Autoescape is on; what is marked safe below went through `safe_html` or is Loom's own file.
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_template("page.html.j2")).render(
        title=title,
        question=Markup(question),  # noqa: S704
        answers=answers,
        parts=parts,
        facts=facts,
        policy=policy,
        style=Markup(_template("page.css")),  # noqa: S704
        scripts=[Markup(script) for script in scripts],  # noqa: S704
    )


def _told_cells(notebook: Notebook, *, to_the_end: bool) -> list[Notebook]:
    """The cells that have something to tell; of a report that broke, those up to where it broke."""
    cells = [cell for cell in notebook.cells if source_of(cell).strip() and not _LEFT_OUT.intersection(tags_of(cell))]
    if to_the_end:
        return cells
    ran = [place for place, cell in enumerate(cells) if cell.get("execution_count") or cell.get("outputs")]
    return cells[: ran[-1] + 1] if ran else cells[:1]


def _opening(cells: Sequence[Notebook], report: str) -> tuple[str, str]:
    """The first cell asks the question: its heading is the page's title, the rest stands below it."""
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
            shown = Markup(render_outputs(cell))  # noqa: S704
            if ANSWER_TAG in tags:
                answers.append(shown)
                shown = Markup("")
            place.append(_Part(kind="code", markup=shown, code=_highlighted(source)))
    return answers, parts + appendix


def _is_prose(cells: Sequence[Notebook]) -> bool:
    return bool(cells) and cells[0].cell_type == "markdown"


def _highlighted(source: str) -> Markup:
    return Markup(safe_html(str(_HIGHLIGHT(source))))  # noqa: S704  # pyright: ignore[reportUnknownArgumentType]


def _template(name: str) -> str:
    return files("loomlib.reports").joinpath("template", name).read_text("utf-8")


def _plotly_script() -> str:
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def _hash(script: str) -> str:
    """The CSP source for exactly this inline script (CSP Level 3, §6.7.3)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


_HIGHLIGHT = Highlight2HTML()
