"""What a rule found in a clause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["fact", "preference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that a user stated, or took back.

    `slot` is what it is about ("home", "allergy:peanuts"): a slot holds one value, so another value of the same slot
    takes the place of the former. `retracts` means that the slot's statement holds no longer: any value when `value`
    is empty, or the values that are like `value`. `category` is a preference's.
    """

    kind: Kind
    slot: str
    value: str
    text: str = ""
    retracts: bool = False
    category: str = "general"
