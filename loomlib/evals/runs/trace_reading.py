"""What answers' traces tell; traces that cannot be read leave the answers as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..targets import Target
from ..values.answers import TurnAnswer

_NOT_READ: Final = "traces not read"
_MAY_CHANGE: Final = ("", "not_found_yet", "partial")
_LONGEST_STATE: Final = 500


async def read_traces(target: Target, turns: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
    """The same answers with what their traces tell, or with why nobody could read them (no access, no connection)."""
    try:
        return await target.collect_tools(turns)
    except Exception as error:  # noqa: BLE001 - the answers have come, and most evaluators can judge them as they are
        state = f"{_NOT_READ}: {type(error).__name__}: {error}"[:_LONGEST_STATE]
        return [each if each.tools is not None else replace(each, tools_state=state) for each in turns]


def may_be_there(state: str) -> bool:
    """Whether an answer with this state of its trace is worth another look."""
    return state in _MAY_CHANGE or state.startswith(_NOT_READ)
