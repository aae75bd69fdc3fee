"""AgentCore's evaluators as judges: boto3's Evaluate, with reference inputs, and with error codes that are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import AwsError

from ..values.digests import digest_of
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .model import SIMULATED_JUDGE
from .question import RATIONALE_LIMIT
from .session_spans import SpanSource, session_of, spans_from_answer, trace_of

if TYPE_CHECKING:
    from loomlib.aws import Clients
    from loomlib.aws.evaluation import EvaluationResult, Reference

    from ..values.answers import CaseAnswer
    from ..values.cases import EvalCase

_LEVELS: Final[Mapping[str, str]] = {"SESSION": "session", "TRACE": "answer", "TOOL_CALL": "component"}
_SIMULATED: Final = "Simulated judge"
_LOWER_IS_BETTER: Final = frozenset({"Builtin.Refusal"})


@dataclass(frozen=True, kw_only=True)
class AgentCoreJudge:
    """One of AgentCore's evaluators, by id: a built-in one ("Builtin.Helpfulness") or one of the account's.

    `kind` is the level of a custom evaluator (SESSION, TRACE, TOOL_CALL); of a built-in one it is known. `threshold`
    is the value that passes; without one a score has no bar, save those of the trajectory evaluators, which pass at 1.
    `spans` reads the spans that the agent exported; without it, or where it has none, spans are written from the
    answer (`details["spans"]` says which).
    """

    evaluator_id: str
    kind: str = ""
    threshold: float | None = None
    clients: Clients | None = field(default=None, repr=False)
    spans: SpanSource | None = field(default=None, repr=False)

    is_quick = False

    def __post_init__(self) -> None:
        from loomlib.aws.evaluation import BUILTIN_LEVELS, EVALUATOR_ID

        if not EVALUATOR_ID.fullmatch(self.evaluator_id):
            raise ValueError(f"{self.evaluator_id!r} is no id of an AgentCore evaluator, such as Builtin.Helpfulness")
        known = BUILTIN_LEVELS.get(self.evaluator_id)
        if (known is None and self.kind not in _LEVELS) or (known is not None and self.kind not in ("", known)):
            raise ValueError(f"kind is {known or ', '.join(_LEVELS)} for {self.evaluator_id}, not {self.kind!r}")
        object.__setattr__(self, "kind", known or self.kind)

    @property
    def name(self) -> str:
        return f"agentcore:{self.evaluator_id}"

    @property
    def level(self) -> str:
        return "trajectory" if self._is_trajectory else _LEVELS[self.kind]

    @property
    def needs_tools(self) -> bool:
        return self._is_trajectory or self.kind == "TOOL_CALL"

    @property
    def digest(self) -> str:
        local = self.clients is not None and bool(self.clients.connection.environment)
        return digest_of("AgentCoreJudge", self.evaluator_id, self.kind, self.threshold, local, self.spans is not None)

    @property
    def _is_trajectory(self) -> bool:
        return self.evaluator_id.startswith("Builtin.Trajectory")

    def connected_to(self, clients: Clients) -> AgentCoreJudge:
        """This judge behind `clients`."""
        return self if self.clients is not None else replace(self, clients=clients)

    def with_spans(self, source: SpanSource) -> AgentCoreJudge:
        """This judge reading the agent's own spans from `source`."""
        return self if self.spans is not None else replace(self, spans=source)

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """A score for each result. Raises `JudgeFailedError`; AWS's error codes are kept as "aws:<code>"."""
        from loomlib.aws.evaluation import evaluate

        if self._is_trajectory and case.expected_tools is None:
            return NotApplicable("the case expects nothing of the tools")
        if not answer.turns:
            return NotApplicable("there is no answer to judge")
        if self.kind == "TOOL_CALL" and answer.tools == ():
            return NotApplicable("the agent called no tool")
        if self.clients is None:
            raise JudgeFailedError("No connection to AWS", kind="no_model", try_="judge.connected_to(bench.clients)")
        exported = None if self.spans is None else await self.spans(case, answer)
        if not exported and answer.tools is None and self.needs_tools:
            raise JudgeFailedError(
                "The trajectory is not known", kind="no_trajectory", on=case.id, try_="export traces"
            )
        spans = exported or spans_from_answer(case, answer)
        try:
            results = await asyncio.to_thread(
                evaluate, self.clients, self.evaluator_id, spans, references=self._references(case, answer, spans)
            )
        except AwsError as error:
            raise JudgeFailedError.of_aws(error) from error
        if not results:
            return NotApplicable("AgentCore found nothing to judge")
        if failed := next((each for each in results if each.value is None), None):
            raise JudgeFailedError(
                f"AgentCore could not judge: {failed.error_message or 'no value, and no reason given'}",
                kind=f"aws:{failed.error_code or 'NoValue'}",
                on=self.evaluator_id,
            )
        return [self._score(each, at, len(results), bool(exported)) for at, each in enumerate(results, 1)]

    def _references(
        self, case: EvalCase, answer: CaseAnswer, spans: Sequence[Mapping[str, Any]]
    ) -> tuple[Reference, ...]:
        """What the case expects: tools and assertions of the session, an answer of each trace."""
        from loomlib.aws.evaluation import Reference

        session_id = _session_in(spans) or session_of(case, answer)
        expected = case.expected_tools
        found: list[Reference] = []
        if expected is not None or case.assertions:
            names = None if expected is None else tuple(each.name for each in expected)
            found.append(Reference(session_id=session_id, assertions=case.assertions, tool_names=names))
        for at, turn in enumerate(case.turns[: len(answer.turns)]):
            if turn.expected_answer:
                trace_id = _trace_in(spans, trace_of(case, answer, at), at, len(answer.turns))
                found.append(
                    Reference(session_id=session_id, trace_id=trace_id, expected_response=turn.expected_answer)
                )
        return tuple(found)

    def _score(self, result: EvaluationResult, number: int, of: int, exported: bool) -> Score:
        value = result.value or 0.0
        bar = 1.0 if self.threshold is None and self._is_trajectory else self.threshold
        passed = None if bar is None else value <= bar if self.evaluator_id in _LOWER_IS_BETTER else value >= bar
        known = result.input_tokens is not None and result.output_tokens is not None
        simulated = result.explanation.startswith(_SIMULATED) or _SIMULATED.lower() in result.label
        details: dict[str, Any] = {
            "label": result.label,
            "spans": "exported" if exported else "written from the answer",
        }
        if result.dimension:
            details["dimension"] = result.dimension
        if result.ignored:
            details["ignored"] = list(result.ignored)
        if result.span_id:
            details["span_id"] = result.span_id
        return Score(
            value=value,
            passed=passed,
            rationale=result.explanation[:RATIONALE_LIMIT],
            part="" if of == 1 else result.dimension or f"{'call' if self.kind == 'TOOL_CALL' else 'turn'} {number}",
            details=details,
            labels=(SIMULATED_JUDGE,) if simulated else (),
            tokens=(result.input_tokens or 0) + (result.output_tokens or 0) if known else None,
            cost=0.0 if simulated or (self._is_trajectory and not known) else None,
        )


def _trace_in(spans: Sequence[Mapping[str, Any]], trace_id: str, turn: int, turns: int) -> str:
    """The trace of a turn: the one it is known by, or the turn's by order where an agent begins traces of its own."""
    known = list(dict.fromkeys(str(each["traceId"]) for each in sorted(spans, key=_start) if each.get("traceId")))
    return known[turn] if trace_id not in known and len(known) == turns else trace_id


def _start(span: Mapping[str, Any]) -> int:
    return int(span.get("startTimeUnixNano") or span.get("timeUnixNano") or 0)


def _session_in(spans: Sequence[Mapping[str, Any]]) -> str:
    """The session id that the spans themselves name."""
    for span in spans:
        attributes: Any = span.get("attributes")
        if isinstance(attributes, Mapping) and attributes.get("session.id"):  # pyright: ignore[reportUnknownMemberType]
            return str(attributes["session.id"])  # pyright: ignore[reportUnknownArgumentType]
    return ""
