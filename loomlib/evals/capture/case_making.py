"""Create a case from a conversation: redacted, named after its request, expecting the agent's behavior."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from ..values.cases import EvalCase, Turn, scenario_to_dict
from ..values.digests import digest_of
from ..values.tool_use import ExpectedTool
from .conversation import CapturedTurn, Conversation

if TYPE_CHECKING:
    from loomlib.redaction import Document, Redactor


_MAX_MESSAGE = 500


def case_of(
    conversation: Conversation,
    *,
    redactor: Redactor | None,
    expected: bool = True,
    tags: tuple[str, ...] = (),
    id: str | None = None,
) -> EvalCase:
    """Return a conversation as a case.

    Args:
        conversation: The conversation.
        redactor: Redacts every part of the case; None redacts nothing.
        expected: Expect the answers and tools of turns that succeeded. Otherwise the answers are stored in the
            metadata, as a reference for writing the expectation.
        tags: Tags of the case, besides "captured".
        id: The case's id; None derives one from the request.
    """
    document = None if redactor is None else redactor.document()
    turns = tuple(_turn(turn, document, expected=expected) for turn in conversation.turns)
    details: dict[str, Any] = {
        "agent": conversation.agent_name,
        "session_id": _clean(conversation.session_id, document),
        "invocations": [turn.invocation_id for turn in conversation.turns if turn.invocation_id is not None],
        "traces": [turn.trace_id for turn in conversation.turns if turn.trace_id],
        "failures": [turn.failure for turn in conversation.turns if turn.failure is not None],
        "errors": [_clean(turn.error, document)[:_MAX_MESSAGE] for turn in conversation.turns if turn.error],
        "notes": list(dict.fromkeys(turn.note for turn in conversation.turns if turn.note)),
    }
    if not expected:
        details["answers"] = [
            None if turn.answer is None else _clean(turn.answer, document) for turn in conversation.turns
        ]
    if document is not None and document.counts:
        details["redacted"] = dict(sorted(document.counts.items()))
    case = EvalCase(
        id="captured",
        turns=turns,
        tags=tuple(dict.fromkeys(("captured", *tags))),
        metadata={"captured": {name: value for name, value in details.items() if value}},
        source=f"captured from {conversation.agent_name or 'a trace'}",
    )
    object.__setattr__(case, "id", id or f"captured-{asked_key(case)[:12]}")
    return case


def asked_key(case: EvalCase) -> str:
    """Return a hash of the request that ignores case, character width and white space."""
    return digest_of(
        [[_normal(turn.prompt), turn.payload] for turn in case.turns],
        None if case.scenario is None else scenario_to_dict(case.scenario),
        case.initial_state or None,
    )


def _turn(turn: CapturedTurn, document: Document | None, *, expected: bool) -> Turn:
    prompt = _clean(turn.prompt, document)
    payload = None if turn.payload is None else dict(turn.payload if document is None else document.value(turn.payload))
    if not expected or turn.failure is not None:
        return Turn(prompt=prompt, payload=payload)
    tools = None
    if turn.tools is not None:
        tools = tuple(
            ExpectedTool(
                name=_clean(use.name, document) if use.name.strip() else "(no name)",
                arguments=use.arguments if use.arguments is None or document is None else document.value(use.arguments),
            )
            for use in turn.tools
        )
    return Turn(
        prompt=prompt,
        payload=payload,
        expected_answer=None if turn.answer is None else _clean(turn.answer, document),
        expected_tools=tools,
    )


def _clean(text: str, document: Document | None) -> str:
    return text if document is None else document.text(text)


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
