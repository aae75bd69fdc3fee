"""Browsers and browser profiles as resources of the control plane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..resources import Behaviour, Draft, Resource, ResourceRecord
from ..wire import invalid, not_implemented

SYSTEM_BROWSER: Final = "aws.browser.v1"
_SINCE: Final = datetime(2025, 7, 16, tzinfo=UTC)

BROWSER: Final = Resource(
    noun="Browser",
    arn="browser-custom/{id}",
    presets=(
        ResourceRecord(
            kind="Browser",
            region="",
            id=SYSTEM_BROWSER,
            name="aws_browser_v1",
            arn=f"arn:{{partition}}:bedrock-agentcore:{{region}}:aws:browser/{SYSTEM_BROWSER}",
            status="READY",
            document={
                "description": "AWS managed browser; the local AgentCore runs this machine's Chromium for it",
                "networkConfiguration": {"networkMode": "PUBLIC"},
            },
            created_at=_SINCE,
            updated_at=_SINCE,
        ),
    ),
)
BROWSER_PROFILE: Final = Resource(
    noun="BrowserProfile", arn="browser-profile/{id}", aliases={"profileId": "id", "profileArn": "arn"}
)
NOT_IMPLEMENTED: Final = ("browserSigning", "enterprisePolicies", "certificates", "filesystemConfigurations")
"""Members that would change a browser's behaviour and are not implemented here."""


class BrowserBehaviour(Behaviour):
    """Checks a new browser's settings, and lists browsers by type.

    Args:
        end_sessions: Ends the sessions of a browser.
    """

    def __init__(self, end_sessions: Callable[[ResourceRecord], Awaitable[None]]) -> None:
        self._end_sessions = end_sessions

    async def before_create(self, draft: Draft) -> None:
        """Refuse settings that would have no effect here."""
        refuse_members(draft.parameters, "CreateBrowser")
        if draft.parameters["networkConfiguration"]["networkMode"] != "PUBLIC":
            raise not_implemented("CreateBrowser's networkMode VPC")
        recording: Mapping[str, Any] = draft.parameters.get("recording") or {}
        if recording.get("enabled") and "s3Location" not in recording:
            raise invalid("recording.s3Location is missing")
        if recording.get("enabled") and not draft.parameters.get("executionRoleArn"):
            raise invalid("executionRoleArn is missing: a browser with recording requires it")

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """End its sessions."""
        await self._end_sessions(record)

    def is_listed(self, record: ResourceRecord, parameters: Mapping[str, Any]) -> bool:
        """Return whether a browser is of the requested type."""
        browser_type = parameters.get("type")
        return browser_type is None or browser_type == ("SYSTEM" if record.id == SYSTEM_BROWSER else "CUSTOM")


class ProfileBehaviour(Behaviour):
    """Removes the files of a deleted profile, and lists profiles by name.

    Args:
        home: The home folder.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    def is_listed(self, record: ResourceRecord, parameters: Mapping[str, Any]) -> bool:
        """Return whether a profile has the requested name."""
        return parameters.get("name") in (None, record.name)

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return when the profile was saved, and from which session."""
        if "savedAt" not in record.internal:
            return {}
        return {
            "lastSavedAt": datetime.fromtimestamp(record.internal["savedAt"], UTC),
            "lastSavedBrowserSessionId": record.internal["sessionId"],
            "lastSavedBrowserId": record.internal["browserId"],
        }

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Remove its files."""
        profile_file(self._home, record.id).unlink(missing_ok=True)


def profile_file(home: Path, profile_id: str) -> Path:
    """Return the file with a profile's saved state."""
    return home / "browser-profiles" / f"{profile_id}.zip"


def refuse_members(parameters: Mapping[str, Any], operation: str, *further: str) -> None:
    """Refuse members that are not implemented.

    Raises:
        RefusedError: The request has one of them.
    """
    for name in (*NOT_IMPLEMENTED, *further):
        value = parameters.get(name)
        if value and value != {"enabled": False}:
            raise not_implemented(f"{operation}'s {name}")
