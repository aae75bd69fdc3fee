"""Files and images of AgentCore's tools in a trace: what a code interpreter wrote and read, what a browser showed.

The local AgentCore records them as events of the spans of calls; AWS telemetry does not contain them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from loomlib.json_values import to_text

from .image_size import image_size
from .span import Span
from .trace import Trace

_PICTURE, _FILE = "loom.picture", "loom.file"
_KINDS: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MOST_PICTURES: Final = 20
_MOST_PIXELS: Final = 32_000_000
"""Limit for all images of one tool run: decoded, they take 128 MB in the page that shows them."""
_MOST_FILES: Final = 100
_TOOLS: Final = {"Browser": "browser", "CodeInterpreter": "code interpreter"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePicture:
    """A picture: an image file, or what a browser showed.

    Attributes:
        title: A title, such as a path.
        kind: Its media type, such as `image/png`.
        content: Its bytes.
    """

    title: str
    kind: str
    content: bytes = field(repr=False)

    @property
    def address(self) -> str:
        """A `data:` address, which a page shows without loading anything."""
        return f"data:{self.kind};base64,{base64.b64encode(self.content).decode()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFile:
    """A file of a code interpreter.

    Attributes:
        path: Its path in the session.
        action: What was done: "wrote", "read", "listed", or "too large to be shown" for a picture.
        size: Its bytes, or characters of a text; None when unknown.
    """

    path: str
    action: str
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolArtifacts:
    """The files and pictures of one run of a tool, or of an agent's own calls.

    Attributes:
        span_id: The span of the run, "" for calls outside every tool.
        name: The tool.
        files: Its files, in the order of the calls.
        pictures: Its pictures.
    """

    span_id: str
    name: str
    files: tuple[TraceFile, ...]
    pictures: tuple[TracePicture, ...]


def tool_artifacts(trace: Trace) -> tuple[ToolArtifacts, ...]:
    """Return the files and pictures of a trace, by the tool run in which they were created."""
    tools = {span.span_id: span for span in trace.of_operation("execute_tool")}
    parents = {span.span_id: span.parent_id for span in trace.spans}
    spans: dict[tuple[str, str], list[Span]] = {}
    for span in trace.spans:
        if any(event.name in (_PICTURE, _FILE) for event in span.events):
            tool = _tool_above(span.span_id, tools, parents)
            name = tools[tool].name.removeprefix("execute_tool ") if tool else _tool_name(span)
            spans.setdefault((tool, name), []).append(span)
    return tuple(
        ToolArtifacts(span_id=tool, name=name, files=_files(tool_spans), pictures=_pictures(tool_spans))
        for (tool, name), tool_spans in spans.items()
    )


def _tool_above(span_id: str, tools: Mapping[str, Span], parents: Mapping[str, str | None]) -> str:
    visited: set[str] = set()
    at: str | None = span_id
    while at and at not in visited:
        if at in tools:
            return at
        visited.add(at)
        at = parents.get(at)
    return ""


def _tool_name(span: Span) -> str:
    return next((name for part, name in _TOOLS.items() if part in span.name), span.name)


def _files(spans: Iterable[Span]) -> tuple[TraceFile, ...]:
    files: dict[str, TraceFile] = {}
    for event in (event for span in spans for event in span.events if event.name == _FILE):
        size = event.attributes.get("size")
        path, action = to_text(event.attributes.get("path")), to_text(event.attributes.get("action"))
        if path not in files or action != "listed":
            files[path] = TraceFile(path=path, action=action, size=size if isinstance(size, int) else None)
    return tuple(files.values())[:_MOST_FILES]


def _pictures(spans: Iterable[Span]) -> tuple[TracePicture, ...]:
    pictures: list[TracePicture] = []
    remaining_pixels = _MOST_PIXELS
    for event in (event for span in spans for event in span.events if event.name == _PICTURE):
        kind = to_text(event.attributes.get("mime_type"))
        try:
            content = base64.b64decode(to_text(event.attributes.get("data")), validate=True)
        except (binascii.Error, ValueError):  # truncated, or not recorded by Loom
            continue
        size = image_size(content)
        if kind in _KINDS and size is not None and 0 < size[0] * size[1] <= remaining_pixels:
            remaining_pixels -= size[0] * size[1]
            pictures.append(TracePicture(title=to_text(event.attributes.get("title")), kind=kind, content=content))
    return tuple(pictures[:_MOST_PICTURES])
