"""Files and pictures from AgentCore's tools, as events of the spans of the calls that produced them.

AWS's own telemetry has no such events. A span is stored as one log event, so its pictures are kept only as far as they
fit into one.
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Mapping
from typing import Any, cast

from opentelemetry.trace import Span

_MOST_CHARACTERS = 180_000
"""Maximum base64 characters of all pictures of one span, so that the span fits into a log event of 256 KiB."""
_MOST_FILES = 50
_KINDS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class SpanArtifacts:
    """The files and pictures of one call.

    Args:
        span: The call's span.
    """

    def __init__(self, span: Span) -> None:
        self._span, self._characters_left, self._files = span, _MOST_CHARACTERS, _MOST_FILES

    def note_written(self, parameters: Mapping[str, Any]) -> None:
        """Record the files that a call of a code interpreter writes."""
        if parameters.get("name") == "writeFiles":
            for file in _listed(_members(parameters.get("arguments")).get("content")):
                content = file.get("blob") if file.get("text") is None else file.get("text")
                self._file(file.get("path"), "wrote", len(content) if isinstance(content, str | bytes) else None)

    def note_answer(self, content: object) -> None:
        """Record the contents of a code interpreter's response: files that were read or listed, and images."""
        for block in _listed(content):
            resource = _members(block.get("resource"))
            if block.get("type") == "image":
                self.picture("image", block.get("mimeType"), block.get("data"))
            elif block.get("type") == "resource_link" and block.get("description") == "File":
                self._file(_path(block.get("uri")), "listed", block.get("size"))
            elif resource:
                path, data = _path(resource.get("uri")), resource.get("blob") or resource.get("text")
                self._file(path, "read", len(data) if isinstance(data, str | bytes) else None)
                self.picture(path, resource.get("mimeType"), resource.get("blob"))

    def picture(self, title: object, kind: object, data: object) -> None:
        """Record a picture, if it is one and fits.

        Args:
            title: What it is, such as its file's path.
            kind: Its media type; guessed from the title if it is not an image type.
            data: Its bytes.
        """
        kind = kind if kind in _KINDS else mimetypes.guess_type(str(title))[0]
        if not isinstance(data, bytes) or not data or kind not in _KINDS:
            return
        if 4 * len(data) // 3 > self._characters_left:
            self._file(str(title), "too large to be shown", len(data))
            return
        text = base64.b64encode(data).decode()
        self._characters_left -= len(text)
        self._span.add_event("loom.picture", {"title": str(title)[:500], "mime_type": str(kind), "data": text})

    def _file(self, path: object, action: str, size: object) -> None:
        if not isinstance(path, str) or not path or not self._files:
            return
        self._files -= 1
        sized = {"size": size} if isinstance(size, int) else {}
        self._span.add_event("loom.file", {"path": path[:500], "action": action, **sized})


def _path(uri: object) -> str:
    return uri.removeprefix("file:///") if isinstance(uri, str) else ""


def _members(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _listed(value: object) -> list[Mapping[str, Any]]:
    return [_members(item) for item in cast("list[object]", value)] if isinstance(value, list) else []
