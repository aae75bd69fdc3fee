"""An attack as a value: a name, the code that a hostile agent runs, and what must hold of its outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

CANARY = "canary"
"""Part of every secret that the tests put where an agent must not read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a client saw: the answer's text, or the error."""

    text: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack; `holds` is asked of its outcome once its session has ended or answered.

    It has a runtime of its own if it reaches sessions of the same version, as it may.
    """

    name: str
    code: str
    holds: Callable[[Outcome], bool]
    needs_own_network: bool = False
    own_session: bool = False
    own_runtime: bool = False


def holds_nothing(outcome: Outcome) -> bool:
    """The answer, if there is one, has no secret."""
    return CANARY not in outcome.text + outcome.error


def is_refused(outcome: Outcome) -> bool:
    """The system refused: the answer is an error of the operating system."""
    refusals = ("FileNotFoundError", "PermissionError", "OSError", "ProcessLookupError", "ConnectionRefusedError")
    return outcome.text.startswith((*refusals, "NotADirectoryError", "TimeoutError")) and holds_nothing(outcome)


def ends(outcome: Outcome) -> bool:
    """The client got an error, in time."""
    return outcome.error != ""


def reaches(limit: str) -> Callable[[Outcome], bool]:
    """The client's error names the limit."""
    return lambda outcome: f"Resource limit reached: {limit}" in outcome.error
