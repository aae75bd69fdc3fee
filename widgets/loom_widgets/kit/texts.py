"""Texts of strangers, as a message to a page and a file's name can carry them."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Replace lone surrogates, which no message to a page can carry, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
