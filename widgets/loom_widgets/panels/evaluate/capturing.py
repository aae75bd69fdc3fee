"""An agent's invocations to choose from, and a captured case with its redactions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from loomlib import Agent
from loomlib.evals.views.case_body import cut, line
from loomlib.redaction import redact

if TYPE_CHECKING:
    from loomlib.evals.capture import CapturedInto

_LISTED = 500
_LOOKED_AT = 2_000
"""Number of leading characters of a text that are redacted and shown; redacting whole texts would take too long."""
_LONGEST_WORD = 400
"""Maximum length of a cut-off last word that is dropped, so that long texts without white space are still listed."""
_LAST_WORD = re.compile(r"\S+\Z")


def invocation_rows(agent: Agent) -> list[dict[str, Any]]:
    """Return the agent's invocations, newest first, redacted as their cases will be."""
    return [
        {
            "id": int(row["id"]),
            "at": row["started_at"].isoformat() if row["started_at"] == row["started_at"] else None,
            "session": row["session_id"],
            "status": row["status"],
            "prompt": _clean(row["prompt"]),
            "response": _clean(row["response"]),
        }
        for row in agent.history.table(limit=_LISTED).to_dict("records")
    ]


def _clean(text: object) -> str:
    """Redact a text before it is cut: half a secret is still a secret, and no rule may recognize it."""
    whole = str(text or "")
    looked = whole[:_LOOKED_AT]
    if len(whole) > _LOOKED_AT:
        looked = looked[:-_LONGEST_WORD] + _LAST_WORD.sub("", looked[-_LONGEST_WORD:])
    return line(redact(looked).text, 200)


def captured_details(captured: CapturedInto, *, written: bool) -> dict[str, Any]:
    """Return the case as it is stored, and the number of redactions of each kind."""
    case = captured.case
    return {
        "case": case.id,
        "path": str(captured.path),
        "cases": len(captured.evalset),
        "is_new": captured.is_new,
        "written": written and captured.is_new,
        "sentence": captured.sentence(),
        "redactions": [[name, count] for name, count in captured.redactions.items()],
        "tags": list(case.tags),
        "turns": [
            {
                "asked": cut(turn.prompt),
                "expected": None if turn.expected_answer is None else cut(turn.expected_answer),
                "tools": None if turn.expected_tools is None else [tool.name for tool in turn.expected_tools],
            }
            for turn in case.turns
        ],
    }
