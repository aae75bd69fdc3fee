"""What a policy of a guardrail finds in a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Source = Literal["INPUT", "OUTPUT"]
"""Which side of a model a text is on."""

BLOCKED, ANONYMIZED, NONE = "BLOCKED", "ANONYMIZED", "NONE"
_ACTIONS = {"BLOCK": BLOCKED, "ANONYMIZE": ANONYMIZED, "NONE": NONE}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailFinding:
    """One entry of an assessment.

    Attributes:
        policy: Member of the assessment, such as `wordPolicy`.
        entries: The list in it, such as `customWords`.
        entry: The entry as it is on the wire, with `action` and `detected`.
        spans: Where it is in the text, from start to end; empty for a judgement of the whole text.
        placeholder: What replaces the spans when they are masked.
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
    """Return what an item of a policy does with a match on one side of a model.

    Args:
        item: The item as it was configured.
        source: The side.

    Returns:
        BLOCKED, ANONYMIZED or NONE (a match is reported only); None where the item is not evaluated on that side.
    """
    side = source.lower()
    if not item.get(f"{side}Enabled", True):
        return None
    return _ACTIONS[item.get(f"{side}Action") or item.get("action") or "BLOCK"]
