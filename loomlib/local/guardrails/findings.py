"""Findings of a guardrail policy in a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Source = Literal["INPUT", "OUTPUT"]
"""The side of a model that a text is on: input or output."""

BLOCKED, ANONYMIZED, NONE = "BLOCKED", "ANONYMIZED", "NONE"
_ACTIONS = {"BLOCK": BLOCKED, "ANONYMIZE": ANONYMIZED, "NONE": NONE}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailFinding:
    """One entry of an assessment.

    Attributes:
        policy: Member of the assessment, such as `wordPolicy`.
        entries: The list in that member, such as `customWords`.
        entry: The entry in the form of the API, with `action` and `detected`.
        spans: Start and end positions in the text; empty for a judgment of the whole text.
        placeholder: The replacement of masked spans.
    """

    policy: str
    entries: str
    entry: Mapping[str, Any]
    spans: tuple[tuple[int, int], ...] = ()
    placeholder: str = ""

    @property
    def action(self) -> str:
        """BLOCKED, ANONYMIZED or NONE."""
        return str(self.entry["action"])


def action_for(item: Mapping[str, Any], source: Source) -> str | None:
    """Return the action of a policy item for a match on one side of a model.

    Args:
        item: The configured item.
        source: The side.

    Returns:
        BLOCKED, ANONYMIZED or NONE (a match is only reported); None if the item is not evaluated on that side.
    """
    side = source.lower()
    if not item.get(f"{side}Enabled", True):
        return None
    return _ACTIONS[item.get(f"{side}Action") or item.get("action") or "BLOCK"]
