"""An error as a panel shows it: what failed, on what, and what to try; no stack trace, secret or personal data."""

from __future__ import annotations

from loomlib.errors import LoomError
from loomlib.redaction import redact_message

_LONGEST = 600


def error_parts(error: BaseException, *, doing: str = "") -> dict[str, str]:
    """Return the three parts of an error: what failed, on what, and what to try.

    Only the type of an unexpected error is shown, since its text may contain values.

    Args:
        error: The error.
        doing: What the panel did, for errors that do not name it.
    """
    if isinstance(error, LoomError):
        return {"what": _safe(error.what), "on": _safe(error.on), "try": _safe(error.try_)}
    if isinstance(error, ValueError | TypeError) and str(error):
        return {"what": _safe(str(error).partition("\n")[0]), "on": doing, "try": "Change the form and try again."}
    if isinstance(error, OSError) and error.strerror:
        place = error.filename if isinstance(error.filename, str) else ""
        return {
            "what": f"{error.strerror}.",
            "on": _safe(place) or doing,
            "try": "Choose another path, or make this one available.",
        }
    return {
        "what": f"{type(error).__name__} was raised unexpectedly.",
        "on": doing,
        "try": "Copy the action as Python and run it in a cell to see where it failed.",
    }


def _safe(text: str) -> str:
    clean = redact_message(text)
    return clean if len(clean) <= _LONGEST else f"{clean[: _LONGEST - 1]}…"
