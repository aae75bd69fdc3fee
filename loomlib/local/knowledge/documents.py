"""Documents of a data source: the objects in its bucket, with their texts and their metadata."""

from __future__ import annotations

import csv
import hashlib
import html.parser
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final, cast

from moto.core.exceptions import ServiceException
from moto.s3.models import s3_backends

from ..resources import Place
from ..resources.naming import partition_of

_LARGEST_BYTES: Final = 50_000_000  # AWS: size of a source document
_METADATA: Final = ".metadata.json"
_TEXTS: Final = frozenset({"txt", "md", "html", "htm", "csv"})
_BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option",
    "p", "pre", "section", "table", "title", "tr", "ul",
})  # fmt: skip
_VALUES: Final[Mapping[str, str]] = {
    "STRING": "stringValue", "NUMBER": "numberValue", "BOOLEAN": "booleanValue", "STRING_LIST": "stringListValue",
}  # fmt: skip


class DocumentError(Exception):
    """A document cannot be read; the message is the reason."""


class SourceError(Exception):
    """A data source cannot be read; the message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDocument:
    """A document as it is in a data source.

    Attributes:
        address: Its S3 address, or the id of a directly ingested document.
        content: Its bytes.
        metadata: Its attributes.
        kind: The format of its content, such as "html"; "" if the file name extension of its address determines it.
        failure: Why it cannot be read, such as malformed metadata; "" if no reason is known yet.
    """

    address: str
    content: bytes = field(repr=False)
    metadata: Mapping[str, Any]
    kind: str = ""
    failure: str = ""

    @property
    def digest(self) -> str:
        """A digest of content and metadata: a document with the same one is not indexed again."""
        attributes = json.dumps(self.metadata, sort_keys=True).encode()
        return hashlib.sha256(self.content + b"\0" + attributes).hexdigest()

    def text(self) -> str:
        """Return its text.

        Raises:
            DocumentError: It is too large or malformed, or its format is not supported here.
        """
        if self.failure:
            raise DocumentError(self.failure)
        ending = self.address.rpartition(".")[2].lower() if "." in self.address.rpartition("/")[2] else "txt"
        kind = self.kind or ending
        if kind not in _TEXTS:
            raise DocumentError(f"Documents of the kind .{kind} cannot be read here, only {', '.join(sorted(_TEXTS))}")
        if len(self.content) > _LARGEST_BYTES:
            raise DocumentError(f"The document is larger than {_LARGEST_BYTES:,} bytes")
        text = self.content.decode("utf-8-sig", "replace")
        if kind in ("html", "htm"):
            return _text_of_page(text)
        if kind == "csv":
            try:
                return _text_of_table(text)
            except csv.Error as error:
                raise DocumentError(f"The document is not a CSV file that can be read: {error}") from error
        return text


def _text_of_table(text: str) -> str:
    csv.field_size_limit(_LARGEST_BYTES)  # Python's default refuses cells of 128 KiB
    rows = csv.reader(io.StringIO(text))
    head = next(rows, list[str]())
    lines = ("; ".join(_cells(head, row)) for row in rows)
    return "\n".join(f"{line}." for line in lines if line)


def _cells(head: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    for name, value in zip_longest(head, row, fillvalue=""):
        if value:
            yield f"{name}: {value}" if name else value


def read_source(configuration: Mapping[str, Any], place: Place) -> Iterator[SourceDocument]:
    """Yield the documents of a data source in S3, in the order of their addresses.

    Args:
        configuration: The data source's `s3Configuration`.
        place: The region and the account of the knowledge base.

    Raises:
        SourceError: The bucket cannot be read.
    """
    bucket = configuration["bucketArn"].rpartition(":")[2]
    prefixes = tuple(configuration.get("inclusionPrefixes") or ("",))
    owner = configuration.get("bucketOwnerAccountId") or place.account_id
    backend = s3_backends[owner][partition_of(place.region)]
    try:
        keys = sorted(cast("Mapping[str, Any]", backend.get_bucket(bucket).keys))  # type: ignore[attr-defined]
        included_keys = [key for key in keys if key.startswith(prefixes) and not key.endswith("/")]
        for key in included_keys:
            if key.endswith(_METADATA):
                continue
            document_object = backend.get_object(bucket, key)
            metadata_object = backend.get_object(bucket, key + _METADATA) if key + _METADATA in keys else None
            if document_object is not None:
                address = f"s3://{bucket}/{key}"
                metadata, failure = {}, ""
                if metadata_object is not None:
                    try:
                        metadata = _read_metadata(metadata_object.value, address)
                    except DocumentError as error:
                        failure = str(error)
                yield SourceDocument(address=address, content=document_object.value, metadata=metadata, failure=failure)
    except ServiceException as error:
        raise SourceError(f"The bucket {bucket} cannot be read: {error}") from error


def inline_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the attributes of a directly ingested document (`inlineAttributes`)."""
    attributes = (metadata or {}).get("inlineAttributes") or ()
    return {item["key"]: item["value"][_VALUES[item["value"]["type"]]] for item in attributes}


def _read_metadata(content: bytes, address: str) -> dict[str, Any]:
    try:
        attributes = json.loads(content)["metadataAttributes"]
        return {
            name: value["value"][_VALUES[value["value"]["type"]]] if isinstance(value, dict) else value
            for name, value in attributes.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DocumentError(f"The metadata of {address} must contain a valid metadataAttributes object") from error


class _Page(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip a section such as `<![x[y]]>`, which is a comment in HTML."""
        end = self.rawdata.find(">", i)
        return -1 if end < 0 else end + 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")
        self._separate(tag)

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0
        self._separate(tag)

    def _separate(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def _text_of_page(text: str) -> str:
    page = _Page()
    try:
        page.feed(text)
        page.close()
    except AssertionError as error:  # of html.parser, for some malformed declarations
        raise DocumentError(f"The HTML cannot be read: {error}") from error
    lines = (" ".join(line.split()) for line in "".join(page.pieces).splitlines())
    return "\n".join(line for line in lines if line)
