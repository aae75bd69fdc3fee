"""Loom's own log holds no secrets and no personal data."""

from __future__ import annotations

import logging

import pytest

from loomlib.redaction import RedactingFormatter


def _formatted(level: int, message: str, error: BaseException | None = None) -> str:
    record = logging.LogRecord(
        "loomlib", level, __file__, 1, message, (), (type(error), error, None) if error else None
    )
    return RedactingFormatter("%(levelname)s %(message)s").format(record)


@pytest.mark.parametrize(
    ("message", "formatted"),
    [
        ("ann.lee@example.org has no session", "WARNING [email] has no session"),
        ("The password is swordfish.", "WARNING The password is [password]."),
        ("session loom-0123456789abcdef0123456789abcdef ended", None),
        ("arn:aws:bedrock-agentcore:us-east-1:611597143987:runtime/shop-abcDEF1234 is gone", None),
    ],
)
def test_a_warning_is_redacted_and_keeps_its_ids(message: str, formatted: str | None) -> None:
    assert _formatted(logging.WARNING, message) == (formatted or f"WARNING {message}")


def test_a_traceback_is_redacted() -> None:
    text = _formatted(logging.ERROR, "failed", ValueError("password=Sw0rdfish!9"))
    assert "Sw0rdfish" not in text
    assert "ValueError" in text
