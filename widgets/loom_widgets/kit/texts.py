"""Untrusted texts made safe for a message to a page or for a file name."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Replace lone surrogates, which a message cannot contain, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
