"""The recording of a session: screenshots with their pages' addresses and titles, stored in the local S3 while it runs.

AWS records changes to the page's elements for its replay; here `index.html` shows a sequence of images.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import html
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from moto.core.exceptions import ServiceException
from moto.s3.models import s3_backends

from ..resources import Place
from ..resources.naming import partition_of
from ..wire import invalid
from .devtools import BrowserGoneError, CommandError
from .session import BrowserSession, attach_page

_log = logging.getLogger(__name__)
_EVERY_S: Final = 1.0
_MOST_FRAMES: Final = 2_000
_FRAME_WITHIN_S: Final = 10.0
_TEXT: Final = 2_000
_STRIP: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Browser session {session}</title>'
    "<style>body{{font:14px sans-serif;margin:16px}}figure{{display:inline-block;margin:0 8px 16px 0}}"
    "img{{width:320px;border:1px solid #888}}figcaption{{width:320px;overflow-wrap:anywhere}}</style>"
    "<h1>Browser session {session}</h1><p>Recorded by the local AgentCore as screenshots: {count}.</p>{figures}</html>"
)
_FIGURE: Final = (
    '<figure><img src="{file}" alt="{title}" loading="lazy"><figcaption>{time} {title} {url}</figcaption></figure>'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingLocation:
    """A place in the local S3.

    Attributes:
        place: The region and account of the bucket.
        bucket: The bucket.
        prefix: The prefix of its keys.
    """

    place: Place
    bucket: str
    prefix: str

    @classmethod
    def of(cls, recording: Mapping[str, Any] | None, place: Place) -> RecordingLocation | None:
        """Return the location for recordings of a browser's sessions; None if they are not recorded.

        Raises:
            RefusedError: The bucket does not exist.
        """
        if not recording or not recording.get("enabled"):
            return None
        location = recording["s3Location"]
        target = cls(place=place, bucket=location["bucket"], prefix=location["prefix"].strip("/"))
        try:
            s3_backends[place.account_id][partition_of(place.region)].head_bucket(target.bucket)
        except ServiceException as error:
            raise invalid(f"The recording's bucket {target.bucket} does not exist") from error
        return target

    def address(self, session_id: str) -> str:
        """Return the S3 address of a session's recording."""
        return f"s3://{self.bucket}/{self.prefix}/{session_id}/"

    def put(self, session_id: str, name: str, content: bytes) -> None:
        """Store a file of a session's recording."""
        backend = s3_backends[self.place.account_id][partition_of(self.place.region)]
        backend.put_object(self.bucket, f"{self.prefix}/{session_id}/{name}", content)


@dataclass(slots=True)
class Recording:
    """The recording of one session; run it as a task until the session ends.

    Attributes:
        session: The session.
        target: The location in S3.
        frames: The recorded images, each with its time, its file, and the page's address and title.
    """

    session: BrowserSession
    target: RecordingLocation
    frames: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    async def run(self) -> None:
        """Take a screenshot every second and store it if it differs from the last one; finally store `index.html`."""
        former = b""
        try:
            while self.session.is_ready and len(self.frames) < _MOST_FRAMES:
                image, page = b"", dict[str, Any]()
                with contextlib.suppress(CommandError, TimeoutError):
                    async with asyncio.timeout(_FRAME_WITHIN_S):
                        image, page = await self._look()
                digest = hashlib.sha256(image).digest()
                if image and digest != former:
                    former = digest
                    await self._store(image, page)
                await asyncio.sleep(_EVERY_S)
        except BrowserGoneError:
            pass
        except ServiceException as error:  # the bucket was deleted
            _log.warning("Browser session %s is no longer recorded: %s", self.session.id, error)
        finally:
            self._finish()

    async def _look(self) -> tuple[bytes, dict[str, Any]]:
        channel = await self.session.channel()
        try:
            page = await attach_page(channel)
            image = await channel.command("Page.captureScreenshot", session=page, format="jpeg", quality=60)
            target = await channel.command("Target.getTargetInfo", session=page)
            return base64.b64decode(image["data"]), target["targetInfo"]
        finally:
            await channel.close()

    async def _store(self, image: bytes, page: Mapping[str, Any]) -> None:
        name = f"{len(self.frames) + 1:06}.jpg"
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        await asyncio.to_thread(self.target.put, self.session.id, name, image)
        self.frames.append({"time": moment, "file": name, "url": page["url"][:_TEXT], "title": page["title"][:_TEXT]})

    def _finish(self) -> None:
        figures = "".join(
            _FIGURE.format(**{name: html.escape(value[:500]) for name, value in frame.items()}) for frame in self.frames
        )
        strip = _STRIP.format(session=self.session.id, count=len(self.frames), figures=figures)
        events = "".join(json.dumps(frame) + "\n" for frame in self.frames)
        try:
            self.target.put(self.session.id, "events.jsonl", events.encode())
            self.target.put(self.session.id, "index.html", strip.encode())
        except ServiceException as error:
            _log.warning("The recording of browser session %s could not be stored: %s", self.session.id, error)
