"""Browser sessions of AgentCore: start, stop, screenshots, and the signed addresses of their streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from loomlib.errors import ServiceFailedError

from .connection import Clients
from .errors import failure, translated
from .paging import iter_items
from .signing import SERVICE

MANAGED_BROWSER: Final = "aws.browser.v1"
"""The browser that AWS manages, available in every region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedBrowser:
    """A session that was started.

    Attributes:
        session_id: Its id.
        automation: The address of its automation stream, a WebSocket of the Chrome DevTools Protocol.
        live_view: The address of its live view; empty without one.
    """

    session_id: str
    automation: str
    live_view: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserResource:
    """A browser of the account, or the one that AWS manages.

    Attributes:
        id: Its id.
        name: Its name.
        status: AgentCore's status, such as READY.
        description: Its description, "" without one.
        arn: Its ARN.
        created_at: When it was created.
    """

    id: str
    name: str
    status: str
    description: str
    arn: str
    created_at: datetime


def list_browsers(clients: Clients, *, region: str | None = None) -> Iterator[BrowserResource]:
    """Return every browser for which sessions can be started (ListBrowsers).

    Args:
        clients: The AWS clients of a connection.
        region: The region, if it is not the connection's.
    """
    control, where = clients.control(region), region or clients.region
    for item in iter_items(control.list_browsers, "browserSummaries", {}, "Listing browsers", where):
        yield BrowserResource(
            id=item["browserId"],
            name=item.get("name") or item["browserId"],
            status=item["status"],
            description=item.get("description") or "",
            arn=item["browserArn"],
            created_at=item["createdAt"],
        )


def start_browser(
    clients: Clients,
    browser: str,
    *,
    timeout_s: int,
    viewport: tuple[int, int] | None = None,
    profile: str = "",
) -> StartedBrowser:
    """Start a session (StartBrowserSession).

    Args:
        clients: The AWS clients of a connection.
        browser: The browser's id or ARN.
        timeout_s: Seconds after which the session ends, even while in use; at most 28,800.
        viewport: Width and height of the pages in pixels; None for the service's default.
        profile: The saved profile to start with; empty for a new one.

    Raises:
        ResourceNotFoundError: There is no such browser or profile.
    """
    options: dict[str, Any] = {}
    if viewport:
        options["viewPort"] = {"width": viewport[0], "height": viewport[1]}
    if profile:
        options["profileConfiguration"] = {"profileIdentifier": profile}
    with translated("Starting a browser session", on=browser):
        answer: dict[str, Any] = clients.data().start_browser_session(
            browserIdentifier=browser, sessionTimeoutSeconds=timeout_s, **options
        )
    streams = answer["streams"]
    live_view: Mapping[str, str] = streams.get("liveViewStream") or {}
    return StartedBrowser(
        session_id=answer["sessionId"],
        automation=streams["automationStream"]["streamEndpoint"],
        live_view=live_view.get("streamEndpoint", ""),
    )


def stop_browser(clients: Clients, browser: str, session_id: str) -> None:
    """Stop a session (StopBrowserSession).

    Args:
        clients: The AWS clients of a connection.
        browser: The browser's id; `aws.browser.v1` is AWS's own.
        session_id: The session's id.
    """
    with translated("Stopping the browser session", on=session_id):
        clients.data().stop_browser_session(browserIdentifier=browser, sessionId=session_id)


def browser_screenshot(clients: Clients, browser: str, session_id: str) -> bytes:
    """Return a screenshot of a session as PNG (InvokeBrowser).

    Args:
        clients: The AWS clients of a connection.
        browser: The browser's id; `aws.browser.v1` is AWS's own.
        session_id: The session's id.

    Raises:
        ConflictError: The session has ended.
        ServiceFailedError: The browser did not return a screenshot.
    """
    action = "Taking a screenshot of the browser session"
    with translated(action, on=session_id):
        answer = clients.data().invoke_browser(
            browserIdentifier=browser, sessionId=session_id, action={"screenshot": {"format": "PNG"}}
        )
    result: Mapping[str, Any] = answer["result"]["screenshot"]
    if "data" not in result:
        raise failure(
            ServiceFailedError, f"{action} failed: {result.get('error', 'no image was returned')}", on=session_id
        )
    return bytes(result["data"])


def save_browser_profile(clients: Clients, browser: str, session_id: str, profile: str) -> None:
    """Save the cookies and the local storage of a session as a profile (SaveBrowserSessionProfile).

    Args:
        clients: The AWS clients of a connection.
        browser: The browser's id; `aws.browser.v1` is AWS's own.
        session_id: The session's id.
        profile: The profile's id; its previous content is replaced.
    """
    with translated("Saving the profile of the browser session", on=session_id):
        clients.data().save_browser_session_profile(
            profileIdentifier=profile, browserIdentifier=browser, sessionId=session_id
        )


def automation_headers(clients: Clients, address: str) -> dict[str, str]:
    """Return the header fields that open an automation stream; their signature is valid for five minutes."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(method="GET", url=address.replace("ws", "http", 1))
    SigV4Auth(clients.credentials(), SERVICE, clients.region).add_auth(request)
    return {str(name): str(value) for name, value in request.headers.items()}


def presigned_live_view(clients: Clients, address: str, *, expires_s: int) -> str:
    """Return the address of a live view that a web browser can open without credentials.

    Args:
        clients: The AWS clients of a connection.
        address: The live view's address.
        expires_s: Seconds for which it is valid; AWS's SDK allows 300.
    """
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(method="GET", url=address)
    SigV4QueryAuth(clients.credentials(), SERVICE, clients.region, expires=expires_s).add_auth(request)
    return str(request.url)
