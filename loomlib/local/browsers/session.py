"""One browser session: a Chromium with a profile of its own, from its start to its end."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..resources import Place
from ..sessions.pool_settings import PoolSettings
from .chromium import Chromium, remove_files, start_chromium
from .devtools import BrowserGoneError, CommandError, DevToolsChannel

_START_WITHIN_S: Final = 50.0
"""AWS's SDKs time out after 60 s without a response."""
_IMAGE_WITHIN_S: Final = 10.0
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base32, the alphabet of AWS's session ids (ULIDs)
PROFILE: Final = "profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """The settings requested by StartBrowserSession.

    Attributes:
        place: The caller's region and account.
        browser_id: The browser.
        arn: Its ARN.
        name: The session's name; empty if it has none.
        timeout_s: Seconds after which it ends.
        viewport: Width and height of the pages.
        tenant: The tenant that owns it; empty for none.
        profile_id: The saved profile that it starts with; empty for a new one.
    """

    place: Place
    browser_id: str
    arn: str
    name: str
    timeout_s: int
    viewport: tuple[int, int]
    tenant: str
    profile_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    chromium: Chromium
    mark: str
    folder: Path


class BrowserSession:
    """A session.

    Attributes:
        id: Its id.
        settings: The requested settings.
        created_at: When it was started.
        updated_at: When it was last changed.
        is_ready: Whether it runs.
        automated: Whether the automation stream is enabled; wait for it before passing a command on.
        why_ended: The reason of its end; empty until then.
        recorded_to: The S3 address below which its recording is stored; empty if it is not recorded.
    """

    def __init__(
        self, sessions: PoolSettings, settings: SessionSettings, on_ended: Callable[[BrowserSession], None]
    ) -> None:
        self.id = new_session_id()
        self.settings = settings
        self.created_at = self.updated_at = datetime.now(UTC)
        self.why_ended = self.recorded_to = ""
        self.automated = asyncio.Event()
        self.automated.set()
        self._sessions, self._on_ended = sessions, on_ended
        self._running: _Running | None = None
        self._has_ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def folder(self) -> Path:
        """The folder of a running session.

        Raises:
            BrowserGoneError: It has ended.
        """
        if self._running is None or self.why_ended:
            raise BrowserGoneError(self.why_ended or "The session has not started")
        return self._running.folder

    @property
    def is_ready(self) -> bool:
        """Whether it runs."""
        return self._running is not None and not self.why_ended

    async def start(self, program: Path, fill: Callable[[Path], None]) -> None:
        """Start the browser.

        Args:
            program: Chromium.
            fill: Writes a saved profile's files into the new profile's folder.

        Raises:
            BrowserStartError: It did not start.
        """
        mark = secrets.token_hex(16)
        folder = self._sessions.folder / mark
        profile = folder / PROFILE
        await asyncio.to_thread(profile.mkdir, parents=True)
        try:
            await asyncio.to_thread(fill, profile)
            chromium = await start_chromium(
                self._sessions,
                program,
                mark,
                profile=profile,
                viewport=self.settings.viewport,
                within_s=_START_WITHIN_S,
            )
        except BaseException:
            await asyncio.to_thread(remove_files, self._sessions, mark)
            raise
        self._running = _Running(chromium=chromium, mark=mark, folder=folder)
        limits = self._sessions.limits
        self._sessions.watch.add(mark, chromium.process.leader, (folder,), limits, self._on_limit)
        self._spawn(self._follow(self._running))
        self._timer = asyncio.get_running_loop().call_later(
            self.settings.timeout_s, lambda: self._spawn(self.end("The session has reached its time limit"))
        )
        with contextlib.suppress(CommandError, BrowserGoneError):
            await self._fit_window()

    async def end(self, why: str) -> None:
        """End the browser with all its processes, and remove its files."""
        if not self.why_ended:
            self.why_ended, self.updated_at = why, datetime.now(UTC)
            if self._timer is not None:
                self._timer.cancel()
            if self._running is not None:
                await self._running.chromium.process.end(grace_s=0)
            else:
                self._has_ended.set()
        await self._has_ended.wait()

    def touch(self) -> None:
        """Record the time of a change."""
        self.updated_at = datetime.now(UTC)

    async def channel(self) -> DevToolsChannel:
        """Return a view of the browser for one client.

        Raises:
            BrowserGoneError: The session has ended.
        """
        if self._running is None or self.why_ended:
            raise BrowserGoneError(self.why_ended or "The session has not started")
        return await self._running.chromium.devtools.channel()

    async def screenshot(self, format: str = "png", **parameters: Any) -> bytes:
        """Return an image of the most recently opened page.

        Raises:
            BrowserGoneError: The session has ended.
            CommandError: The browser refused it.
        """
        channel = await self.channel()
        try:
            page = await asyncio.wait_for(attach_page(channel), _IMAGE_WITHIN_S)
            taking = channel.command("Page.captureScreenshot", session=page, format=format, **parameters)
            image = await asyncio.wait_for(taking, _IMAGE_WITHIN_S)
            return base64.b64decode(image["data"])
        except TimeoutError as failure:
            raise CommandError("the page shows a dialog, or is busy") from failure
        finally:
            await channel.close()

    def response_members(self) -> Mapping[str, Any]:
        """Return the members of the session in AWS's responses."""
        settings = self.settings
        members: dict[str, Any] = {
            "browserIdentifier": settings.browser_id,
            "sessionId": self.id,
            "createdAt": self.created_at,
            "lastUpdatedAt": self.updated_at,
            "status": "READY" if self.is_ready else "TERMINATED",
            "sessionTimeoutSeconds": settings.timeout_s,
            "viewPort": dict(zip(("width", "height"), settings.viewport, strict=True)),
        }
        if settings.name:
            members["name"] = settings.name
        if settings.profile_id:
            members["profileConfiguration"] = {"profileIdentifier": settings.profile_id}
        if self.recorded_to:
            members["sessionReplayArtifact"] = self.recorded_to
        return members

    async def _fit_window(self) -> None:
        """Enlarge the window by the size of its own bars, so that a page has the size of the viewport."""
        channel = await self.channel()
        try:
            page = await attach_page(channel)
            size = "JSON.stringify([outerWidth - innerWidth, outerHeight - innerHeight])"
            answer = await channel.command("Runtime.evaluate", session=page, expression=size)
            bars: list[int] = [int(part) for part in str(answer["result"]["value"]).strip("[]").split(",")]
            window = await channel.command("Browser.getWindowForTarget", session=page)
            width, height = (size + bar for size, bar in zip(self.settings.viewport, bars, strict=True))
            bounds = {"width": width, "height": height}
            await channel.command("Browser.setWindowBounds", windowId=window["windowId"], bounds=bounds)
        finally:
            await channel.close()

    def _on_limit(self, name: str) -> None:
        if name != "open_files":
            self._spawn(self.end(self._sessions.limits.reached(name)))

    async def _follow(self, running: _Running) -> None:
        """Wait for the end of the browser, whatever its cause, and release its resources."""
        process, devtools = running.chromium.process, running.chromium.devtools
        ending = [asyncio.ensure_future(process.ended.wait()), asyncio.ensure_future(devtools.ended.wait())]
        await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        for waiting in ending:
            waiting.cancel()
        if not self.why_ended:
            self.why_ended, self.updated_at = "The browser has ended", datetime.now(UTC)
        if self._timer is not None:
            self._timer.cancel()
        await process.end(grace_s=0)
        self._sessions.watch.remove(running.mark)
        running.chromium.close()
        await asyncio.to_thread(remove_files, self._sessions, running.mark)
        self._has_ended.set()
        self._on_ended(self)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def attach_page(channel: DevToolsChannel) -> str:
    """Return the id of the DevTools session for the most recently opened page."""
    targets = (await channel.command("Target.getTargets"))["targetInfos"]
    pages = [target["targetId"] for target in targets if target["type"] == "page"]
    target = pages[0] if pages else (await channel.command("Target.createTarget", url="about:blank"))["targetId"]
    answer = await channel.command("Target.attachToTarget", targetId=target, flatten=True)
    return str(answer["sessionId"])


def new_session_id() -> str:
    """Return an id in AWS's form: a time and random bits, 26 characters."""
    number = (int(time.time() * 1_000) << 80) | secrets.randbits(80)
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
