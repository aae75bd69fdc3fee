"""The data plane of AgentCore Browser: sessions are started, read, listed, changed and stopped."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..find_chromium import INSTALL, find_chromium
from ..otlp.caller_spans import CallerSpans
from ..paging import page_request
from ..resources import Place, ResourceRecord
from ..resources.store import ResourceStore
from ..sessions.pool_settings import PoolSettings
from ..tenancy import new_tenant, owns_row
from ..wire import RefusedError, conflict, not_found
from .chromium import BrowserStartError
from .devtools import BrowserGoneError, CommandError
from .profiles import ProfileTooLargeError, fill_profile, restore_cookies, save_profile
from .recording import Recording, RecordingLocation
from .resources import BROWSER, profile_file, refuse_members
from .session import BrowserSession, SessionSettings

_log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 3_600
"""botocore's model: "Defaults to 3600 seconds"."""
_VIEWPORT: Final = (1_456, 819)
"""AWS documents no default; its samples use this size."""
_MOST_RUNNING: Final = 32
_STORED_WITHIN_S: Final = 15.0
_MOST_ENDED: Final = 1_000
_NOT_IMPLEMENTED: Final = ("extensions", "proxyConfiguration")


class BrowserPlane:
    """All browser sessions of a service.

    Args:
        resources: The created browsers.
        sessions: The folder, the isolation and the limits of sessions.
        spans: Takes a span of each start, stop and saved profile.
        home: The home folder.
        url: The service's address.
    """

    def __init__(
        self, resources: ResourceStore, sessions: PoolSettings, spans: CallerSpans, *, home: Path, url: str
    ) -> None:
        self._resources, self._sessions, self._home, self._url = resources, sessions, home, url
        self._spans = spans
        self._running: dict[str, BrowserSession] = {}
        self._sessions_by_id: dict[str, BrowserSession] = {}  # includes ended sessions, the oldest first
        self._tokens: dict[tuple[Place, str, str], tuple[str, asyncio.Future[BrowserSession]]] = {}
        self._saving: set[str] = set()
        self._recordings: dict[str, asyncio.Future[None]] = {}
        self._closing = False

    async def start_browser_session(self, parameters: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
        """Start a browser and return its session once it answers."""
        began_ns = time.time_ns()
        browser = self.browser(parameters["browserIdentifier"], place)
        token, digest = parameters.get("clientToken") or "", _digest(parameters)
        key = (place, new_tenant(browser.tenant), token)
        if token and (former := self._tokens.get(key)) is not None:
            if former[0] != digest:
                raise conflict("clientToken was used already, with other parameters")
            session = await asyncio.shield(former[1])
            return self._session_members(session, "browserIdentifier", "sessionId", "createdAt", "streams")
        starting: asyncio.Future[BrowserSession] = asyncio.get_running_loop().create_future()
        if token:
            self._tokens[key] = digest, starting
        try:
            session = await self._start(browser, parameters, place)
        except BaseException as failure:
            self._tokens.pop(key, None)
            if not starting.done():
                starting.set_exception(failure) if isinstance(failure, RefusedError) else starting.cancel()
                starting.exception() if not starting.cancelled() else None
            raise
        starting.set_result(session)
        self._trace("StartBrowserSession", parameters, session, began_ns)
        return self._session_members(session, "browserIdentifier", "sessionId", "createdAt", "streams")

    async def get_browser_session(self, parameters: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
        """Return a session, including one that has ended."""
        return self._session_members(self.session(parameters["browserIdentifier"], parameters["sessionId"], place))

    async def list_browser_sessions(self, parameters: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
        """Return the sessions of a browser, the newest first."""
        browser = self.browser(parameters["browserIdentifier"], place)
        request = page_request(parameters, "ListBrowserSessions", str, size=10)
        status = parameters.get("status")
        sessions = [
            session
            for session in reversed(self._sessions_by_id.values())
            if (session.settings.place, session.settings.browser_id) == (place, browser.id)
            and (status is None or (status == "READY") == session.is_ready)
            and owns_row(session.settings.tenant)
            and (request.after is None or session.id < request.after[0])
        ]
        names = ("browserIdentifier", "sessionId", "name", "status", "createdAt", "lastUpdatedAt")
        summaries = [self._session_members(session, *names) for session in sessions[: request.fetch]]
        return request.page("items", summaries, lambda index: [sessions[index].id])

    async def stop_browser_session(self, parameters: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
        """End a session; do nothing if it has already ended."""
        began_ns = time.time_ns()
        session = self.session(parameters["browserIdentifier"], parameters["sessionId"], place)
        await session.end("The session was stopped")
        if (recording := self._recordings.get(session.id)) is not None:
            await asyncio.wait((recording,), timeout=_STORED_WITHIN_S)
        self._trace("StopBrowserSession", parameters, session, began_ns)
        return self._session_members(session, "browserIdentifier", "sessionId", "lastUpdatedAt")

    async def update_browser_stream(self, parameters: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
        """Let the automation stream's commands pass, or hold them while a person has control."""
        session = self.ready_session(parameters["browserIdentifier"], parameters["sessionId"], place)
        update: Mapping[str, Any] = parameters["streamUpdate"].get("automationStreamUpdate") or {}
        if update.get("streamStatus") == "DISABLED":
            session.automated.clear()
        elif update.get("streamStatus") == "ENABLED":
            session.automated.set()
        session.touch()
        summary = self._session_members(session, "browserIdentifier", "sessionId", "streams")
        return {**summary, "updatedAt": session.updated_at}

    async def save_browser_session_profile(self, parameters: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
        """Save the cookies and the local storage of a session as a profile."""
        began_ns = time.time_ns()
        session = self.ready_session(parameters["browserIdentifier"], parameters["sessionId"], place)
        profile = self._profile(parameters, place)
        assert profile is not None
        if profile.id in self._saving:
            raise conflict(f"{profile.id} is being saved; wait until it is READY")
        self._saving.add(profile.id)
        try:
            await save_profile(session, profile_file(self._home, profile.id))
        except (BrowserGoneError, CommandError, ProfileTooLargeError) as failure:
            raise conflict(f"The profile could not be saved: {failure}") from failure
        finally:
            self._saving.discard(profile.id)
        moment = datetime.now(UTC)
        record = self._resources.of_arn(profile.arn)
        if record is None:
            profile_file(self._home, profile.id).unlink(missing_ok=True)
            raise not_found(f"Browser profile not found: {profile.id}")
        saved = {"savedAt": moment.timestamp(), "sessionId": session.id, "browserId": session.settings.browser_id}
        record = replace(record, internal={**record.internal, **saved}, updated_at=moment)
        await asyncio.to_thread(self._resources.put, [record])
        self._trace("SaveBrowserSessionProfile", parameters, session, began_ns)
        summary = self._session_members(session, "browserIdentifier", "sessionId")
        return {**summary, "profileIdentifier": profile.id, "lastUpdatedAt": moment}

    def browser(self, identifier: str, place: Place) -> ResourceRecord:
        """Return a browser by its id or its ARN.

        Raises:
            RefusedError: It does not exist in the caller's region and account.
        """
        for preset in BROWSER.presets_in(place.region):
            if identifier in (preset.id, preset.arn):
                return preset
        record = self._resources.visible("Browser", place, identifier)
        if record is None:
            raise not_found(f"Browser not found: {identifier}")
        return record

    def session(self, identifier: str, session_id: str, place: Place) -> BrowserSession:
        """Return a session of a browser.

        Raises:
            RefusedError: It does not exist or belongs to another tenant.
        """
        browser, session = self.browser(identifier, place), self._sessions_by_id.get(session_id)
        if (
            session is None
            or (session.settings.place, session.settings.browser_id) != (place, browser.id)
            or not owns_row(session.settings.tenant)
        ):
            raise not_found(f"Browser session not found: {session_id}")
        return session

    def ready_session(self, identifier: str, session_id: str, place: Place) -> BrowserSession:
        """Return a running session.

        Raises:
            RefusedError: It does not exist or has ended.
        """
        session = self.session(identifier, session_id, place)
        if not session.is_ready:
            raise conflict(f"Browser session {session_id} is TERMINATED: {session.why_ended}")
        return session

    async def end_browser(self, record: ResourceRecord) -> None:
        """End the sessions of a deleted browser."""
        ending = [session for session in self._running.values() if session.settings.browser_id == record.id]
        await asyncio.gather(*(session.end("The browser was deleted") for session in ending))

    async def close(self) -> None:
        """End all sessions."""
        self._closing = True
        await asyncio.gather(*(session.end("The local AgentCore is stopping") for session in [*self._running.values()]))
        if self._recordings:
            await asyncio.wait(self._recordings.values(), timeout=_STORED_WITHIN_S)

    async def _start(self, browser: ResourceRecord, parameters: Mapping[str, Any], place: Place) -> BrowserSession:
        refuse_members(parameters, "StartBrowserSession", *_NOT_IMPLEMENTED)
        if self._closing or len(self._running) >= _MOST_RUNNING:
            raise RefusedError(
                "ServiceQuotaExceededException",
                402,
                f"{len(self._running)} browser sessions are running already",
            )
        program = await asyncio.to_thread(find_chromium)
        if program is None:
            raise RefusedError(
                "NotImplementedException", 501, f"A browser session needs Chromium, which this machine lacks: {INSTALL}"
            )
        profile = self._profile(parameters, place)
        target = RecordingLocation.of(browser.document.get("recording"), place)
        size: Mapping[str, int] = parameters.get("viewPort") or {}
        settings = SessionSettings(
            place=place,
            browser_id=browser.id,
            arn=browser.arn,
            name=parameters.get("name") or "",
            timeout_s=parameters.get("sessionTimeoutSeconds") or _TIMEOUT_S,
            viewport=(size["width"], size["height"]) if size else _VIEWPORT,
            tenant=new_tenant(browser.tenant),
            profile_id=profile.id if profile else "",
        )
        session = BrowserSession(self._sessions, settings, self._forget)
        saved = profile_file(self._home, settings.profile_id) if profile else None
        self._running[session.id] = session
        try:
            if saved is not None and saved.exists():
                await session.start(program, partial(fill_profile, saved))
                await restore_cookies(session, saved)
            else:
                await session.start(program, lambda _: None)
        except (BrowserStartError, BrowserGoneError, CommandError, OSError) as failure:
            self._running.pop(session.id, None)
            _log.error("A browser session did not start: %s", failure)
            raise RefusedError("NotImplementedException", 501, f"The browser did not start: {failure}") from failure
        except BaseException:
            self._running.pop(session.id, None)
            raise
        self._sessions_by_id[session.id] = session
        if target is not None:
            session.recorded_to = target.address(session.id)
            self._recordings[session.id] = asyncio.ensure_future(Recording(session, target).run())
        return session

    def _profile(self, parameters: Mapping[str, Any], place: Place) -> ResourceRecord | None:
        """Return the saved profile that a request names, if it names one."""
        configuration: Mapping[str, str] = parameters.get("profileConfiguration") or {}
        identifier = parameters.get("profileIdentifier") or configuration.get("profileIdentifier", "")
        if not identifier:
            return None
        record = self._resources.visible("BrowserProfile", place, identifier)
        if record is None:
            raise not_found(f"Browser profile not found: {identifier}")
        return record

    def _trace(self, operation: str, parameters: Mapping[str, Any], session: BrowserSession, began_ns: int) -> None:
        place = session.settings.place
        attributes = {"browser.id": session.settings.browser_id, "toolsession.id": session.id}
        arn = session.settings.arn
        self._spans.write(operation, parameters, place, arn, began_ns=began_ns, attributes=attributes)

    def _forget(self, session: BrowserSession) -> None:
        """Forget all ended sessions but the newest."""
        self._running.pop(session.id, None)
        if (recording := self._recordings.get(session.id)) is not None:
            recording.add_done_callback(lambda _: self._recordings.pop(session.id, None))
        ended_sessions = [candidate for candidate in self._sessions_by_id.values() if not candidate.is_ready]
        for old_session in ended_sessions[:-_MOST_ENDED]:
            del self._sessions_by_id[old_session.id]
        for key, (_, task) in list(self._tokens.items()):
            if task.done() and task.result().id not in self._sessions_by_id:
                del self._tokens[key]
        _log.info("Browser session %s has ended: %s", session.id, session.why_ended)

    def _session_members(self, session: BrowserSession, *names: str) -> dict[str, Any]:
        members = {**session.response_members(), "streams": self._streams(session)}
        return {name: members[name] for name in names if name in members} if names else members

    def _streams(self, session: BrowserSession) -> Mapping[str, Any]:
        path = f"/browser-streams/{session.settings.browser_id}/sessions/{session.id}"
        status = "ENABLED" if session.automated.is_set() else "DISABLED"
        automation = f"{self._url.replace('http', 'ws', 1)}{path}/automation"
        return {
            "automationStream": {"streamEndpoint": automation, "streamStatus": status},
            "liveViewStream": {"streamEndpoint": f"{self._url}{path}/live-view"},
        }


def _digest(parameters: Mapping[str, Any]) -> str:
    content = {name: value for name, value in parameters.items() if name not in ("clientToken", *_TRACE)}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


_TRACE: Sequence[str] = ("traceId", "traceParent")
