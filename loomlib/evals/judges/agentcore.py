"""AgentCore's evaluators as judges, through the Evaluate API with reference inputs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from loomlib.aws import Clients
from loomlib.aws.evaluation import BUILTIN_LEVELS, EVALUATOR_ID, EvaluationResult, Reference, evaluate
from loomlib.errors import AwsError

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.digests import digest_of
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .model import SIMULATED_JUDGE
from .question import RATIONALE_LIMIT
from .session_spans import SPANS_VERSION, SessionSpanReader, session_of, spans_from_answer, trace_of

_LEVELS: Final[Mapping[str, str]] = {"SESSION": "session", "TRACE": "answer", "TOOL_CALL": "component"}
_SIMULATED: Final = "Simulated judge"
_LOWER_IS_BETTER: Final = frozenset({"Builtin.Refusal"})


@dataclass(frozen=True, kw_only=True)
class AgentCoreJudge:
    """One of AgentCore's evaluators: a built-in one ("Builtin.Helpfulness") or a custom one of the account.

    Attributes:
        evaluator_id: The evaluator's id.
        kind: Level of a custom evaluator (SESSION, TRACE or TOOL_CALL); known for a built-in one.
        threshold: Value that passes. Without one scores have no threshold, except those of the trajectory evaluators,
            which pass at 1.
        clients: Connection to AgentCore; set by `connected_to`.
        spans: Source of the spans that the agent exported. Without it, or where it has none, spans are generated from
            the answer; `details["spans"]` of a score says which were used.
    """

    evaluator_id: str
    kind: str = ""
    threshold: float | None = None
    clients: Clients | None = field(default=None, repr=False)
    spans: SessionSpanReader | None = field(default=None, repr=False)

    is_quick = False

    def __post_init__(self) -> None:
        if not EVALUATOR_ID.fullmatch(self.evaluator_id):
            raise ValueError(f"{self.evaluator_id!r} is not an AgentCore evaluator id, such as Builtin.Helpfulness")
        level = BUILTIN_LEVELS.get(self.evaluator_id)
        if (level is None and self.kind not in _LEVELS) or (level is not None and self.kind not in ("", level)):
            raise ValueError(f"kind must be {level or ' or '.join(_LEVELS)} for {self.evaluator_id}, not {self.kind!r}")
        object.__setattr__(self, "kind", level or self.kind)

    @property
    def name(self) -> str:
        """Name of the score column, such as "agentcore:Builtin.Helpfulness"."""
        return f"agentcore:{self.evaluator_id}"

    @property
    def level(self) -> str:
        """What is judged: one of `LEVELS`."""
        return "trajectory" if self._is_trajectory else _LEVELS[self.kind]

    @property
    def needs_tools(self) -> bool:
        """Whether judging needs the trajectory."""
        return self._is_trajectory or self.kind == "TOOL_CALL"

    @property
    def digest(self) -> str:
        """Hash of the evaluator, its threshold and where it runs."""
        local = self.clients is not None and bool(self.clients.connection.environment)
        spans = () if self._is_trajectory else (SPANS_VERSION,)  # trajectories are compared without the prompts
        return digest_of(
            "AgentCoreJudge", self.evaluator_id, self.kind, self.threshold, local, self.spans is not None, *spans
        )

    @property
    def _is_trajectory(self) -> bool:
        return self.evaluator_id.startswith("Builtin.Trajectory")

    def connected_to(self, clients: Clients) -> AgentCoreJudge:
        """Return this judge with a connection to AgentCore; itself when it has one."""
        return self if self.clients is not None else replace(self, clients=clients)

    def with_spans(self, source: SessionSpanReader) -> AgentCoreJudge:
        """Return this judge reading the agent's exported spans from `source`; itself when it has a source."""
        return self if self.spans is not None else replace(self, spans=source)

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """Return one score for each result of Evaluate.

        Raises:
            JudgeFailedError: The evaluation failed; its kind is "aws:<code>" for AWS's error codes.
        """
        if self._is_trajectory and case.expected_tools is None:
            return NotApplicable("the case expects no particular tool calls")
        if not answer.turns:
            return NotApplicable("there is no answer to judge")
        if self.kind == "TOOL_CALL" and answer.tools == ():
            return NotApplicable("the agent called no tool")
        if self.clients is None:
            raise JudgeFailedError("No connection to AWS", kind="no_model", try_="judge.connected_to(bench.clients)")
        exported = None if self.spans is None else await self.spans(case, answer)
        if not exported and answer.tools is None and self.needs_tools:
            raise JudgeFailedError(
                "The trajectory is unknown", kind="no_trajectory", on=case.id, try_="export the agent's traces"
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
        if failed := next((result for result in results if result.value is None), None):
            raise JudgeFailedError(
                f"AgentCore could not judge: {failed.error_message or 'it returned no value and no reason'}",
                kind=f"aws:{failed.error_code or 'NoValue'}",
                on=self.evaluator_id,
                tokens=sum((result.input_tokens or 0) + (result.output_tokens or 0) for result in results),
            )
        return [self._score(result, number, len(results), bool(exported)) for number, result in enumerate(results, 1)]

    def _references(
        self, case: EvalCase, answer: CaseAnswer, spans: Sequence[Mapping[str, Any]]
    ) -> tuple[Reference, ...]:
        """Return the case's expectations: tools and assertions of the session, an answer for each trace."""
        session_id = _session_in(spans) or session_of(case, answer)
        expected = case.expected_tools
        references: list[Reference] = []
        if expected is not None or case.assertions:
            names = None if expected is None else tuple(tool.name for tool in expected)
            references.append(Reference(session_id=session_id, assertions=case.assertions, tool_names=names))
        for at, turn in enumerate(case.turns[: len(answer.turns)]):
            if turn.expected_answer:
                trace_id = _trace_in(spans, trace_of(case, answer, at), at, len(answer.turns))
                references.append(
                    Reference(session_id=session_id, trace_id=trace_id, expected_response=turn.expected_answer)
                )
        return tuple(references)

    def _score(self, result: EvaluationResult, number: int, results: int, exported: bool) -> Score:
        value = result.value or 0.0
        least = 1.0 if self.threshold is None and self._is_trajectory else self.threshold
        passed = None if least is None else value <= least if self.evaluator_id in _LOWER_IS_BETTER else value >= least
        has_token_counts = result.input_tokens is not None and result.output_tokens is not None
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
            part=""
            if results == 1
            else result.dimension or f"{'call' if self.kind == 'TOOL_CALL' else 'turn'} {number}",
            details=details,
            labels=(SIMULATED_JUDGE,) if simulated else (),
            tokens=(result.input_tokens or 0) + (result.output_tokens or 0) if has_token_counts else None,
            cost=0.0 if simulated or (self._is_trajectory and not has_token_counts) else None,
        )


def _trace_in(spans: Sequence[Mapping[str, Any]], trace_id: str, turn: int, turns: int) -> str:
    """Return the trace id of a turn: the given one, or by order when the agent started its own traces."""
    trace_ids = list(dict.fromkeys(str(span["traceId"]) for span in sorted(spans, key=_start) if span.get("traceId")))
    return trace_ids[turn] if trace_id not in trace_ids and len(trace_ids) == turns else trace_id


def _start(span: Mapping[str, Any]) -> int:
    return int(span.get("startTimeUnixNano") or span.get("timeUnixNano") or 0)


def _session_in(spans: Sequence[Mapping[str, Any]]) -> str:
    """Return the session id found in the spans' attributes, or ""."""
    for span in spans:
        attributes: Any = span.get("attributes")
        if isinstance(attributes, Mapping) and attributes.get("session.id"):  # pyright: ignore[reportUnknownMemberType]
            return str(attributes["session.id"])  # pyright: ignore[reportUnknownArgumentType]
    return ""
