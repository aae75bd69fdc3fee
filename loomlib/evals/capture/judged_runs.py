"""The conversations of a stored evaluation run, with their verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from loomlib.presentation.formats import score

from ..runs.eval_run import EvalRun
from ..values.cases import EvalCase, Turn
from ..values.judgement import Judgement
from .conversation import CapturedTurn, Conversation


def with_runs_opened(sources: Iterable[object] | EvalRun) -> Iterator[object]:
    """Yield the sources, each stored run replaced by its conversations."""
    for source in [sources] if isinstance(sources, EvalRun) else sources:
        if isinstance(source, EvalRun):
            yield from conversations_of_run(source)
        else:
            yield source


def conversations_of_run(run: EvalRun) -> Iterator[Conversation]:
    """Yield one conversation per case and repeat; `unpassed` names the evaluators that did not pass it."""
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
    turns: list[Turn] = list(case.turns) or [Turn(prompt=prompt) for prompt in answer.metadata.get("prompts", ())]
    for turn, turn_answer in zip_longest(turns or [Turn(prompt=case.prompt)], answer.turns):
        if turn is None:
            return
        if turn_answer is None:  # the turn that failed; later turns were not asked
            if failure is not None:
                yield CapturedTurn(
                    prompt=turn.prompt, payload=turn.payload, failure=failure.kind, error=failure.message
                )
            return
        yield CapturedTurn(
            prompt=turn.prompt,
            payload=turn.payload,
            answer=turn_answer.text,
            tools=turn_answer.tools,
            invocation_id=turn_answer.invocation_id,
            trace_id=turn_answer.trace_id,
        )


def _unpassed(judged: Judgement) -> Iterator[str]:
    for name, verdict in judged.verdicts.items():
        if isinstance(verdict, tuple) and verdict and verdict[0].passed is False:
            yield f"{name} did not pass ({score(verdict[0].value)})"
