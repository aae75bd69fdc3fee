"""Pages of a folder: their text, title, address and date."""

from __future__ import annotations

import html.parser
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final

from ..knowledge.documents import DocumentError, SourceDocument

KINDS: Final = frozenset({".html", ".htm", ".md", ".txt"})
_HOST = re.compile(r"(?i)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\.[a-z]{2,24}")
_FRONT_MATTER = re.compile(r"---\r?\n(.*?)\r?\n---\r?\n", re.DOTALL)
_ADDRESSES: Final = ("url", "canonical", "og:url")
_DATES: Final = ("published", "date", "article:published_time")
_HEAD_CHARACTERS: Final = 100_000  # of a page: its title and address are near its beginning
_TITLE_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """A page of the folder.

    Attributes:
        title: Its title.
        url: Its address on the web; "" if unknown.
        host: The host in it, in lower case.
        published: When it was published; None if unknown.
        text: Its text.
    """

    title: str
    url: str
    host: str
    published: datetime | None
    text: str = field(repr=False)


def read_page(path: PurePosixPath, content: bytes) -> WebPage | None:
    """Return a page; None for one without text.

    Its address is, in this order: `url` of the front matter, the page's canonical link or `og:url`, or its path where
    the first folder has the name of a host, as copies of web sites have. Its date is `published` or `date` of the front
    matter, or `article:published_time`.

    Args:
        path: Its path below the folder.
        content: Its bytes.
    """
    try:
        text = SourceDocument(address=str(path), content=content, metadata={}).text()
    except DocumentError:
        return None
    metadata: dict[str, str] = {}
    if path.suffix.lower() in (".html", ".htm"):
        head = _Head()
        head.feed(content[:_HEAD_CHARACTERS].decode("utf-8-sig", "replace"))
        head.close()
        metadata = {"title": " ".join("".join(head.title).split()), **head.meta_values}
    elif match := _FRONT_MATTER.match(text):
        text = text[match.end() :]
        pairs = (line.partition(":") for line in match[1].splitlines() if ":" in line)
        metadata = {name.strip().lower(): value.strip().strip("\"'") for name, _, value in pairs}
    if not text.strip():
        return None
    url = next((metadata[name] for name in _ADDRESSES if metadata.get(name)), "") or _mirrored(path)
    host = re.match(r"https?://([^/:?#]+)", url)
    heading = re.match(r"#+\s*(.+)", text.lstrip())
    title = metadata.get("title") or (heading[1] if heading else "") or path.stem
    date = next((metadata[name] for name in _DATES if metadata.get(name)), "")
    return WebPage(
        title=title[:_TITLE_CHARACTERS],
        url=url if host else "",
        host=host[1].lower() if host else "",
        published=_moment(date),
        text=text,
    )


def _mirrored(path: PurePosixPath) -> str:
    """Return the address of a page in a copy of a web site, such as `docs.python.org/3/index.html`."""
    if len(path.parts) < 2 or _HOST.fullmatch(path.parts[0]) is None:
        return ""
    return f"https://{path}".removesuffix("index.html")


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class _Head(html.parser.HTMLParser):
    """The title of a page, its canonical address, and the contents of its `meta` elements by name."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.meta_values: dict[str, str] = {}
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self._in_title = tag == "title" and not self.title
        if tag == "meta":
            name = attributes.get("property") or attributes.get("name") or ""
            self.meta_values.setdefault(name.lower(), attributes.get("content", ""))
        elif tag == "link" and attributes.get("rel", "").lower() == "canonical":
            self.meta_values.setdefault("canonical", attributes.get("href", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
