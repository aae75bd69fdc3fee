"""Addresses of services."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_loopback(endpoint: str) -> bool:
    """Return whether an address is on this machine's loopback interface."""
    host = urlsplit(endpoint).hostname or ""
    return host == "localhost" or host.startswith("127.") or host == "::1"
