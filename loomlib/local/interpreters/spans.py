"""The service's span of an invocation, as a child of the span that the caller names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..otlp.caller_spans import CallerSpans
from ..resources import Place


class InvocationSpans:
    """Writes one span for each invocation whose caller passes its trace context.

    Args:
        spans: Stores it.
    """

    def __init__(self, spans: CallerSpans) -> None:
        self._spans = spans

    def write(
        self, parameters: Mapping[str, Any], place: Place, arn: str, *, began_ns: int, result: Mapping[str, Any]
    ) -> None:
        """Write the span in the background, if the caller names a parent span.

        Args:
            parameters: The request's parameters, with `traceParent` or `traceId`.
            place: The caller's region and account.
            arn: The code interpreter.
            began_ns: When the request arrived, in nanoseconds since 1970.
            result: The answer.
        """
        code = result.get("structuredContent", {}).get("exitCode")
        attributes: dict[str, str | int] = {
            "tool.name": parameters["name"],
            "toolsession.id": parameters["sessionId"],
            **({"code_interpreter.exit_code": code} if isinstance(code, int) else {}),
        }
        failed = bool(result.get("isError"))
        self._spans.write(
            "InvokeCodeInterpreter",
            parameters,
            place,
            arn,
            began_ns=began_ns,
            attributes=attributes,
            is_error=failed,
        )
