"""What a stored evaluation asked, as conversations that are judged already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from ..values.cases import Turn
from .conversation import CapturedTurn, Conversation

if TYPE_CHECKING:
    from ..runs.eval_run import EvalRun
    from ..values.cases import EvalCase
    from ..values.judgement import Judgement


def with_runs_opened(sources: Iterable[object] | EvalRun) -> Iterator[object]:
    """The same, with the conversations of an evaluation in its place."""
    from ..runs.eval_run import EvalRun

    for each in [sources] if isinstance(sources, EvalRun) else sources:
        if isinstance(each, EvalRun):
            yield from conversations_of_run(each)
        else:
            yield each


def conversations_of_run(run: EvalRun) -> Iterator[Conversation]:
    """One for each case and repeat; `unpassed` names the scores that did not pass, parts left out."""
    cases = run.evalset.cases
    for judged in run.judgements():
        yield Conversation(
            turns=tuple(_turns(cases[judged.position], judged)),
            session_id=next((turn.session_id for turn in judged.answer.turns if turn.session_id), ""),
            agent_name=run.target.name,
            unpassed="; ".join(_unpassed(judged)),
        )


def _turns(case: EvalCase, judged: Judgement) -> Iterator[CapturedTurn]:
    answer, failure = judged.answer, judged.answer.failure
    said: list[Turn] = list(case.turns) or [Turn(prompt=each) for each in answer.metadata.get("prompts", ())]
    for turn, given in zip_longest(said or [Turn(prompt=case.prompt)], answer.turns):
        if turn is None:
            return
        if given is None:  # the one that failed; what should have come behind it was not asked
            if failure is not None:
                yield CapturedTurn(
                    prompt=turn.prompt, payload=turn.payload, failure=failure.kind, error=failure.message
                )
            return
        yield CapturedTurn(
            prompt=turn.prompt,
            payload=turn.payload,
            answer=given.text,
            tools=given.tools,
            invocation_id=given.invocation_id,
            trace_id=given.trace_id,
        )


def _unpassed(judged: Judgement) -> Iterator[str]:
    for name, said in judged.verdicts.items():
        if isinstance(said, tuple) and said and said[0].passed is False:
            yield f"{name} does not let it pass ({said[0].value:g})"
