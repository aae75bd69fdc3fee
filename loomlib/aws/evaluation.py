"""AgentCore Evaluations: Evaluate with reference inputs, and the available evaluators."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loomlib.errors import RequestRejectedError
from loomlib.presentation.formats import number

from .connection import Clients
from .errors import translated
from .paging import iter_items

LARGEST_SESSION: Final = 20_000
"""Maximum number of spans and message records in one call (botocore's model of Evaluate: sessionSpans)."""
MOST_TARGETS: Final = 10
"""Trace or span ids of one call at most (traceIds, spanIds); more ids are sent in several calls."""
_LONGEST_TEXT: Final = 100_000
_MOST_ASSERTIONS: Final = 100
_MOST_TOOLS: Final = 1_000

BUILTIN_LEVELS: Final[Mapping[str, str]] = {
    "Builtin.GoalSuccessRate": "SESSION",
    "Builtin.TrajectoryExactOrderMatch": "SESSION",
    "Builtin.TrajectoryInOrderMatch": "SESSION",
    "Builtin.TrajectoryAnyOrderMatch": "SESSION",
    "Builtin.Helpfulness": "TRACE",
    "Builtin.Correctness": "TRACE",
    "Builtin.Faithfulness": "TRACE",
    "Builtin.Coherence": "TRACE",
    "Builtin.Conciseness": "TRACE",
    "Builtin.InstructionFollowing": "TRACE",
    "Builtin.ResponseRelevance": "TRACE",
    "Builtin.Refusal": "TRACE",
    "Builtin.Harmfulness": "TRACE",
    "Builtin.Stereotyping": "TRACE",
    "Builtin.ToolSelectionAccuracy": "TOOL_CALL",
    "Builtin.ToolParameterAccuracy": "TOOL_CALL",
}
"""AgentCore's own evaluators and what each judges. The level of a custom evaluator is read with GetEvaluator."""
EVALUATOR_ID: Final = re.compile(
    r"Builtin\.[a-zA-Z0-9._-]+|ThirdParty\.[a-zA-Z0-9_-]+\.[a-zA-Z0-9_-]+|[a-zA-Z][a-zA-Z0-9-_]{0,99}-[a-zA-Z0-9]{10}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The expectation for a session or one of its traces: an answer, assertions, names of tools in order.

    AgentCore does not accept expected tool arguments.
    """

    session_id: str
    trace_id: str | None = None
    expected_response: str | None = None
    assertions: tuple[str, ...] = ()
    tool_names: tuple[str, ...] | None = None

    def request(self) -> dict[str, Any]:
        """Return the reference in Evaluate's format; texts are truncated at AWS's limit of 100,000 characters."""
        where = {"sessionId": self.session_id, **({"traceId": self.trace_id} if self.trace_id else {})}
        payload: dict[str, Any] = {"context": {"spanContext": where}}
        if self.expected_response:
            payload["expectedResponse"] = {"text": self.expected_response[:_LONGEST_TEXT]}
        if self.assertions:
            texts = [text[:_LONGEST_TEXT] for text in self.assertions if text][:_MOST_ASSERTIONS]
            payload["assertions"] = [{"text": text} for text in texts]
        if self.tool_names is not None:
            payload["expectedTrajectory"] = {"toolNames": list(self.tool_names[:_MOST_TOOLS])}
        return payload


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """One result of Evaluate. A failed evaluation has no `value`; `error_code` and `error_message` give the reason.

    `ignored` names the fields of reference inputs that the evaluator did not use.
    """

    evaluator_id: str
    value: float | None
    label: str = ""
    explanation: str = ""
    dimension: str = ""
    session_id: str = ""
    trace_id: str = ""
    span_id: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    error_code: str = ""
    error_message: str = ""
    ignored: tuple[str, ...] = ()


def evaluate(
    clients: Clients,
    evaluator_id: str,
    spans: Sequence[Mapping[str, Any]],
    *,
    trace_ids: Sequence[str] = (),
    span_ids: Sequence[str] = (),
    references: Sequence[Reference] = (),
    region: str | None = None,
) -> tuple[EvaluationResult, ...]:
    """Evaluate a session's spans (in ADOT's form) with one evaluator: the whole session, or the given traces or spans.

    More than ten ids take several requests. A result with an error is returned, not raised. Needs
    `bedrock-agentcore:Evaluate`.

    Args:
        clients: The AWS clients of a connection.
        evaluator_id: An evaluator's id, such as `Builtin.Helpfulness`.
        spans: The spans and their messages, in ADOT's format.
        trace_ids: Traces to judge, for a TRACE-level evaluator.
        span_ids: Spans to judge, for a TOOL_CALL-level evaluator.
        references: What is expected, for evaluators that compare.
        region: The region, if it is not the connection's.

    Raises:
        RequestRejectedError: AWS would reject the request; nothing is sent.
        AwsError: The request failed.
    """
    _check(evaluator_id, spans, trace_ids, span_ids)
    kind, ids = ("traceIds", list(trace_ids)) if trace_ids else ("spanIds", list(span_ids))
    batches = [ids[at : at + MOST_TARGETS] for at in range(0, len(ids), MOST_TARGETS)] or [[]]
    results: list[EvaluationResult] = []
    for batch in batches:
        request: dict[str, Any] = {
            "evaluatorId": evaluator_id,
            "evaluationInput": {"sessionSpans": [dict(span) for span in spans]},
        }
        if batch:
            request["evaluationTarget"] = {kind: batch}
        if references:
            request["evaluationReferenceInputs"] = [reference.request() for reference in references]
        with translated("Evaluating a session", on=evaluator_id):
            answer: dict[str, Any] = clients.data(region).evaluate(**request)
        results += [_result(result) for result in answer.get("evaluationResults", ())]
    return tuple(results)


def evaluator_level(clients: Clients, evaluator_id: str, *, region: str | None = None) -> str:
    """Return an evaluator's level: SESSION, TRACE or TOOL_CALL (GetEvaluator, unless it is one of AWS's own).

    Args:
        clients: The AWS clients of a connection.
        evaluator_id: An evaluator's id.
        region: The region, if it is not the connection's.
    """
    if evaluator_id in BUILTIN_LEVELS:
        return BUILTIN_LEVELS[evaluator_id]
    with translated("Reading an evaluator", on=evaluator_id):
        return str(clients.control(region).get_evaluator(evaluatorId=evaluator_id)["level"])


def list_evaluators(clients: Clients, *, region: str | None = None) -> dict[str, str]:
    """Return the levels of the account's and AWS's evaluators, by id."""
    listing = clients.control(region).list_evaluators
    evaluators = iter_items(listing, "evaluators", {}, "Listing evaluators", "AgentCore Evaluations")
    return {str(evaluator["evaluatorId"]): str(evaluator.get("level", "")) for evaluator in evaluators}


def _check(evaluator_id: str, spans: Sequence[object], trace_ids: Sequence[str], span_ids: Sequence[str]) -> None:
    if not EVALUATOR_ID.fullmatch(evaluator_id):
        raise RequestRejectedError("This is not an evaluator id", on=evaluator_id, try_="Builtin.Helpfulness")
    if not 1 <= len(spans) <= LARGEST_SESSION:
        raise RequestRejectedError(
            f"A session to evaluate must have 1 to {number(LARGEST_SESSION)} spans, not {number(len(spans))}",
            on=evaluator_id,
            try_="export traces, or evaluate a shorter session",
        )
    if trace_ids and span_ids:
        raise RequestRejectedError(
            "Evaluate takes trace ids or span ids, not both", on=evaluator_id, try_="one of the two"
        )


def _result(answer: Mapping[str, Any]) -> EvaluationResult:
    where: Mapping[str, Any] = answer.get("context", {}).get("spanContext", {})
    usage: Mapping[str, Any] = answer.get("tokenUsage", {})
    value = answer.get("value")
    return EvaluationResult(
        evaluator_id=str(answer.get("evaluatorId", "")),
        value=None if value is None else float(value),
        label=str(answer.get("label", "")),
        explanation=str(answer.get("explanation", "")),
        dimension=str(answer.get("evaluationDimensionName", "")),
        session_id=str(where.get("sessionId", "")),
        trace_id=str(where.get("traceId", "")),
        span_id=str(where.get("spanId", "")),
        input_tokens=usage.get("inputTokens"),
        output_tokens=usage.get("outputTokens"),
        error_code=str(answer.get("errorCode", "")),
        error_message=str(answer.get("errorMessage", "")),
        ignored=tuple(str(name) for name in answer.get("ignoredReferenceInputFields", ())),
    )
