"""The static page of an overview: figures as tiles, tables below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..presentation.html import fragment

if TYPE_CHECKING:
    from ..metrics import Headline

BINS_SHOWN: Final = 48


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a page; omitted if it has no rows. `more` is the number of rows left out."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""
    more: int = 0


def overview_page(
    title: str,
    labels: Sequence[str],
    sentence: str,
    headlines: Iterable[Headline],
    *sections: Section,
    note: str = "",
) -> str:
    """Render the page.

    Args:
        title: The subject and time range of the page.
        labels: Provenance labels.
        sentence: The result.
        headlines: Figures, shown as tiles.
        *sections: Tables.
        note: A remark at the end.
    """
    tiles = [(headline.title, headline.value, headline.note, headline.observed) for headline in headlines]
    return fragment(
        "loomlib.workbench:overview.html.j2",
        title=title,
        labels=labels,
        sentence=sentence,
        tiles=tiles,
        sections=sections,
        note=note,
    )
