"""Addresses of services."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(endpoint: str) -> bool:
    """Return whether an address is on this machine's loopback interface."""
    host = urlsplit(endpoint).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"  # any other name, such as 127.0.0.1.example.com, can resolve to any address
