"""The folder of pages that stands for the web, searched by meaning and by words."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from loomlib.embeddings import embed

from ..knowledge.chunking import chunks_of
from .pages import KINDS, WebPage, read_page

if TYPE_CHECKING:
    from ..knowledge.index import KnowledgeIndex

_log = logging.getLogger(__name__)
_MOST_PAGES: Final = 20_000
_MOST_BYTES: Final = 5_000_000  # of one page
_LEAST_SCORE: Final = 0.15  # below it a passage shares neither words nor meaning with a query


class WebSearchOffError(Exception):
    """The service was started without a folder of pages; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """The pages that a search may return.

    Attributes:
        include: Lists of domains; from each list, a page's host must equal a domain or be a subdomain of one.
        exclude: Domains whose pages are not returned.
        after: Only pages that were published then or later.
        before: Only pages that were published then or earlier.
    """

    include: Sequence[Sequence[str]] = ()
    exclude: Sequence[str] = ()
    after: datetime | None = None
    before: datetime | None = None

    def allows(self, page: WebPage) -> bool:
        """Return whether a page may be returned; a page without an address or date fails a filter that requires it."""
        if any(not _is_below(page.host, domains) for domains in self.include) or _is_below(page.host, self.exclude):
            return False
        if self.after is None and self.before is None:
            return True
        if page.published is None:
            return False
        return (self.after is None or page.published >= self.after) and (
            self.before is None or page.published <= self.before
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """A page that a search found, with the passage that best answers the query."""

    page: WebPage
    passage: str


class WebCorpus:
    """The pages of a folder: Markdown, text and HTML files; each search first reads the changes since the previous one.

    Args:
        folder: The folder; None to refuse every search.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._state: dict[str, tuple[int, int]] = {}  # by path: time of change and size
        self._number_of: dict[str, int] = {}
        self._pages: dict[int, WebPage] = {}
        self._passages: dict[int, tuple[int, str]] = {}  # by number: the page's number and the text
        self._last_number = 0

    @cached_property
    def _index(self) -> KnowledgeIndex:
        from ..knowledge.index import KnowledgeIndex  # numpy takes 0.1 s to import; only searches need it

        return KnowledgeIndex()

    def check(self) -> Path:
        """Return the folder.

        Raises:
            WebSearchOffError: There is none.
        """
        if self._folder is None:
            raise WebSearchOffError(
                "Web search is off: the local AgentCore works offline and has no pages to search. Start it with a "
                "folder of pages: loom up --web-search-folder FOLDER"
            )
        return self._folder

    def search(self, query: str, *, most: int, filters: PageFilter) -> list[PageResult]:
        """Return the pages that best answer a query, each once, the best first.

        Args:
            query: The query.
            most: The largest number of pages.
            filters: The pages that may be returned.

        Raises:
            WebSearchOffError: There is no folder.
        """
        folder = self.check()
        with self._lock:
            self._refresh(folder)
            allowed = {number for number, page in self._pages.items() if filters.allows(page)}
            results: dict[int, PageResult] = {}
            for chunk, score in self._index.ranked(query, allowed, hybrid=True) if allowed else ():
                if score < _LEAST_SCORE or len(results) == most:
                    break
                page, text = self._passages[chunk]
                results.setdefault(page, PageResult(page=self._pages[page], passage=text))
            return list(results.values())

    def _refresh(self, folder: Path) -> None:
        """Read the pages that are new or have changed, and forget those that are gone."""
        states = dict(_files(folder))
        for path in [path for path, state in self._state.items() if states.get(path) != state]:
            del self._state[path]
            if number := self._number_of.pop(path, 0):
                self._index.remove([number])
                del self._pages[number]
                self._passages = {key: value for key, value in self._passages.items() if value[0] != number}
        for path, state in states.items():
            if path not in self._state:
                self._state[path] = state
                self._add(folder, path)

    def _add(self, folder: Path, path: str) -> None:
        try:
            content = (folder / path).read_bytes()
        except OSError as error:
            _log.warning("The page %s of the web search folder cannot be read: %s", path, error)
            return
        page = read_page(PurePosixPath(path), content)
        if page is None:
            return
        texts = [chunk.text for chunk in chunks_of(page.text, None)]
        self._last_number += 1
        number = self._number_of[path] = self._last_number
        self._pages[number] = page
        first = self._last_number + 1
        self._last_number += len(texts)
        self._passages |= {first + at: (number, text) for at, text in enumerate(texts)}
        vectors = embed(texts)
        self._index.add((first + at, number, text, vectors[at].tobytes()) for at, text in enumerate(texts))


def _is_below(host: str, domains: Sequence[str]) -> bool:
    return any(host == domain.lower() or host.endswith(f".{domain.lower()}") for domain in domains)


def _files(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the pages below a folder with their times of change and sizes; links are not followed."""
    pages_left = _MOST_PAGES
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = Path(parent, name)
            if file.suffix.lower() not in KINDS or file.is_symlink():
                continue
            try:
                facts = file.stat()
            except OSError:  # deleted meanwhile
                continue
            if facts.st_size <= _MOST_BYTES:
                if not pages_left:
                    _log.warning("The web search folder has more than %d pages; the others are left out", _MOST_PAGES)
                    return
                pages_left -= 1
                yield file.relative_to(folder).as_posix(), (facts.st_mtime_ns, facts.st_size)
