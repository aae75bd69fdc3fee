"""The locally built images, in `images/` of the home folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from .building import BuiltImage


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that a runtime can run.

    Attributes:
        uri: Its name with a tag or a digest, as in `containerUri`.
        package: The package, a zip file.
        entry_point: AWS's list of one or two items.
        environment: Variables of the image, which the runtime's own replace.
    """

    uri: str
    package: Path
    entry_point: tuple[str, ...]
    environment: dict[str, str]


class ImageStore:
    """Stores packages by their digest, and the names that refer to them."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "images"

    def put(self, uri: str, built: BuiltImage) -> str:
        """Store an image under a name and return its digest (`sha256:…`)."""
        digest = hashlib.sha256(built.package).hexdigest()
        self._folder.mkdir(parents=True, exist_ok=True)
        package = self._folder / f"{digest}.zip"
        if not package.exists():
            partial = package.with_suffix(".partial")
            partial.write_bytes(built.package)
            partial.replace(package)
        document = {"digest": digest, "entry_point": built.entry_point, "environment": built.environment}
        for name in (uri, f"{repository_of(uri)}@sha256:{digest}"):
            record = self._record(name)
            partial = record.with_suffix(".partial")
            partial.write_text(json.dumps(document), "utf-8")
            partial.replace(record)
        return f"sha256:{digest}"

    def find(self, uri: str) -> Image | None:
        """Return the image of a name, or None if it was not built here."""
        try:
            document = json.loads(self._record(uri).read_text("utf-8"))
            return Image(
                uri=uri,
                package=self._folder / f"{document['digest']}.zip",
                entry_point=tuple(document["entry_point"]),
                environment=document["environment"],
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _record(self, uri: str) -> Path:
        name = uri if "@" in uri or ":" in uri.rpartition("/")[2] else f"{uri}:latest"
        return self._folder / f"{quote(name, safe='')}.json"


def repository_of(uri: str) -> str:
    """Return a name without its tag or digest."""
    base = uri.partition("@")[0]
    head, slash, last = base.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"
