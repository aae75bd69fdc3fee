"""A golden set: the old agent's answers as the expectations of its successor, redacted, with their provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from loomlib.evals import EvalCase, EvalSet
from loomlib.evals.capture import Conversation
from loomlib.evals.capture.capturing import redactor_of
from loomlib.evals.capture.case_making import case_of
from loomlib.evals.capture.conversation import CapturedTurn
from loomlib.evals.values.answers import CaseAnswer
from loomlib.presentation.formats import join, plural

from .names import ToolNames
from .pairs import asked_turns

if TYPE_CHECKING:
    from loomlib.redaction import RedactionRule, Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSource:
    """The agent that gave the answers.

    Attributes:
        agent: The agent's name.
        arn: Its ARN.
        version: The version that answered.
        alias: The alias that was invoked.
        names: The names of its tools in the set.
        labels: Provenance labels.
    """

    agent: str
    arn: str
    version: str
    alias: str
    names: ToolNames
    labels: tuple[str, ...] = ()


def golden_set(
    answers: Iterable[tuple[EvalCase, CaseAnswer]],
    source: AnswerSource,
    *,
    name: str = "",
    redact: Redactor | Sequence[RedactionRule] | None = None,
) -> EvalSet:
    """Return a set whose cases expect an agent's answers and tool calls.

    Cases that failed are left out and counted in the set's notes. All stored texts are redacted: prompts, answers
    and arguments.

    Args:
        answers: The cases with the answers.
        source: The agent that gave the answers.
        name: The set's name.
        redact: Redaction rules or a `Redactor`; None takes Loom's rules, an empty list redacts nothing.
    """
    redactor, cases = redactor_of(redact), list[EvalCase]()
    failed: Counter[str] = Counter()
    redacted: Counter[str] = Counter()
    for case, answer in answers:
        if answer.failure is not None:
            failed[answer.failure.kind] += 1
            continue
        golden_case = case_of(_conversation(case, answer, source), redactor=redactor, tags=("golden",), id=case.id)
        redacted.update(golden_case.metadata["captured"].get("redacted", {}))
        # Results of returned calls and session attributes are part of the request.
        state: dict[str, Any] = redactor.value(dict(case.initial_state)) if case.initial_state else {}
        tags = tuple(dict.fromkeys((*case.tags, *golden_case.tags)))
        cases.append(replace(golden_case, tags=tags, initial_state=state, source=f"answered by {source.agent}"))
    notes = [f"{plural(sum(failed.values()), 'case')} failed and left out: {_counted(failed)}"] if failed else []
    notes += [f"redacted: {_counted(redacted)}"] if redacted else []
    return EvalSet(
        name=name or f"{source.agent} golden",
        cases=tuple(cases),
        description=f"What the Bedrock agent {source.agent} ({source.version}) answered.",
        metadata={
            "golden": {
                "agent": source.agent,
                "arn": source.arn,
                "version": source.version,
                "alias": source.alias,
                "labels": list(source.labels),
                "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "failed": dict(failed),
                "redacted": dict(redacted),
            }
        },
        notes=tuple(notes),
    )


def _conversation(case: EvalCase, answer: CaseAnswer, source: AnswerSource) -> Conversation:
    turns = [
        CapturedTurn(
            prompt=turn.prompt,
            payload=turn.payload,
            answer=reply.text,
            tools=None
            if reply.tools is None
            else tuple(
                replace(use, arguments=None) if source.names.takes_free_text(use.name) else use for use in reply.tools
            ),
            invocation_id=reply.invocation_id,
        )
        for turn, reply in zip(asked_turns(case, answer), answer.turns, strict=False)
    ]
    session = answer.turns[0].session_id if answer.turns else ""
    return Conversation(turns=tuple(turns), session_id=session, agent_name=source.agent, labels=source.labels)


def _counted(counts: Counter[str]) -> str:
    return join([f"{count} {kind}" for kind, count in counts.most_common()])
