"""Static HTML of runs, comparisons and sets, from the templates of `loomlib.evals`: no script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from loomlib.presentation.html import fragment
from loomlib.presentation.text import printable

if TYPE_CHECKING:
    from markupsafe import Markup


def page(title: str, sentences: Sequence[str], *parts: Markup | str) -> str:
    """Render a display: the title, the sentences in a box, then the parts.

    Args:
        title: A line above the box, "" for none.
        sentences: The sentences in the box.
        *parts: HTML of other fragments; plain text is escaped.
    """
    nonempty_parts = [part for part in parts if part]
    texts = [printable(sentence) for sentence in sentences]
    return str(
        fragment(
            "loomlib.evals:page.html.j2", title=printable(title), sentences=texts, parts=nonempty_parts, style=_style()
        )
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup | str:
    """Render a table of text whose first column holds the rows' heads; "" without rows.

    Args:
        columns: Column titles.
        rows: Texts.
    """
    if not rows:
        return ""
    texts = [[printable(text) for text in row] for row in rows]
    return fragment("loomlib.evals:table.html.j2", columns=columns, rows=texts)


def folded(label: str, body: Markup | str, *, is_open: bool = False) -> Markup | str:
    """Render a collapsed section with a title; "" without a body.

    Args:
        label: The heading.
        body: HTML of another fragment; plain text is escaped.
        is_open: Whether it is open at first.
    """
    return fragment("loomlib.evals:fold.html.j2", label=printable(label), body=body, is_open=is_open) if body else ""


def listed(sentences: Sequence[str]) -> Markup | str:
    """Render sentences as a list; "" without any."""
    texts = [printable(sentence) for sentence in sentences]
    return fragment("loomlib.evals:list.html.j2", sentences=texts) if texts else ""


def joined(parts: Sequence[Markup | str]) -> Markup:
    """Concatenate HTML fragments; plain text is escaped."""
    from markupsafe import Markup

    return Markup("").join(parts)


def heading(text: str, level: int = 4) -> Markup:
    """Render a heading.

    Args:
        text: The heading.
        level: Its level, 4 or 5.
    """
    return fragment("loomlib.evals:heading.html.j2", text=printable(text), level=level)


def quiet(text: str) -> Markup:
    """Render a paragraph in the secondary text colour."""
    return fragment("loomlib.evals:quiet.html.j2", text=printable(text))


@cache
def _style() -> Markup:
    from markupsafe import Markup

    return Markup(files("loomlib.evals").joinpath("templates", "eval.css").read_text("utf-8").strip())  # noqa: S704
