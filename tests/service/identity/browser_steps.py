"""What a browser does on a user's way to the authorization server and back."""

from __future__ import annotations

import http.client
from typing import Any
from urllib.parse import parse_qs, urlsplit

from identities import RETURN_URL, Identities

FLOW = "USER_FEDERATION"


def opened(url: str, **headers: str) -> tuple[int, str, str]:
    """What a browser gets: status, the address that it goes to next, and the page."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
    answer = connection.getresponse()
    page = answer.read().decode()
    connection.close()
    return answer.status, answer.headers.get("location", ""), page


def consented(url: str) -> dict[str, str]:
    """Follow a browser from the first page to the application; what the application's address was given."""
    while not url.startswith(RETURN_URL.partition("?")[0]):
        status, url, page = opened(url)
        assert status == 302, page
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def begun(identities: Identities, token: str, provider: str, **more: Any) -> dict[str, Any]:
    return identities.ask(token, provider, FLOW, **{"resourceOauth2ReturnUrl": RETURN_URL, **more})
