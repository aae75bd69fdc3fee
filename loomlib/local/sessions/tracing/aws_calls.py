"""Client spans of boto3's calls, with the names that OpenTelemetry's botocore instrumentation gives them on AWS.

A call to AgentCore Memory is `Bedrock AgentCore.CreateEvent`; a call to a Bedrock model is `chat {model}`, which
duplicates the framework's enclosing `chat` span (readers drop the duplicate), or is the only one without a framework.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast
from weakref import WeakSet

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from .aws_artifacts import SpanArtifacts

SCOPE_NAME = "loom.local.aws_calls"

_THEIRS = "opentelemetry.instrumentation.botocore"
_SUPPRESSED = (
    "suppress_instrumentation",
    str(getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")),
)
_MODEL_CALLS = frozenset({"Converse", "ConverseStream", "InvokeModel", "InvokeModelWithResponseStream"})
_CODE_CALL = "InvokeCodeInterpreter"
_BROWSER_CALL, _BROWSER_END = "InvokeBrowser", "StopBrowserSession"
_STREAMS = ("stream", "body")  # where ConverseStream and InvokeModelWithResponseStream have theirs
_USAGE = {
    "inputTokens": "gen_ai.usage.input_tokens",
    "outputTokens": "gen_ai.usage.output_tokens",
    "cacheReadInputTokens": "gen_ai.usage.cache_read.input_tokens",
    "cacheWriteInputTokens": "gen_ai.usage.cache_creation.input_tokens",
}

_CODE = {"name": "tool.name", "codeInterpreterIdentifier": "code_interpreter.id", "sessionId": "toolsession.id"}

AwsCall = Callable[[Any, str, Mapping[str, Any]], Any]


class AwsCalls:
    """Wraps boto3's calls in spans."""

    def __init__(self) -> None:
        self._tracer: trace.Tracer | None = None
        self._heard: WeakSet[Any] = WeakSet()

    def make(self, call: AwsCall, client: Any, operation: str, parameters: Mapping[str, Any]) -> Any:
        """Make an AWS call within a span, and return its response.

        Args:
            call: The method through which a client makes all its calls.
            client: The client.
            operation: The operation's name.
            parameters: The operation's parameters.
        """
        if any(map(context.get_value, _SUPPRESSED)) or _is_theirs(trace.get_current_span()):
            return call(client, operation, parameters)
        if self._tracer is None:
            self._tracer = trace.get_tracer(SCOPE_NAME)
        name, attributes = _described(client, operation, parameters)
        span = self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes)
        if not span.is_recording():
            span.end()
            return call(client, operation, parameters)
        artifacts = SpanArtifacts(span)
        if operation == _BROWSER_END:
            _note_last_page(artifacts, call, client, parameters)
        if client not in self._heard:
            self._heard.add(client)
            client.meta.events.register("needs-retry", _note_failed_attempt, unique_id=SCOPE_NAME)
        try:
            with trace.use_span(span, end_on_exit=False, record_exception=False, set_status_on_exception=False):
                answer = call(client, operation, parameters)
        except BaseException as failure:
            _note_answer(span, getattr(failure, "response", None))
            _fail(span, failure)
            span.end()
            raise
        _note_answer(span, answer)
        if operation == _CODE_CALL:
            artifacts.note_written(parameters)
        elif operation == _BROWSER_CALL:
            screenshot = _members(_members(_members(answer).get("result")).get("screenshot"))
            artifacts.picture("screenshot", "image/png", screenshot.get("data"))
        if operation in _MODEL_CALLS or operation == _CODE_CALL:
            _note_result(span, answer)
            for member in _STREAMS:
                if hasattr(answer.get(member), "_parse_event"):  # an EventStream
                    answer[member] = WatchedStream(answer[member], span, artifacts)
                    return answer
        span.end()
        return answer


class WatchedStream:
    """botocore's event stream; its end ends the span."""

    def __init__(self, stream: Any, span: Span, artifacts: SpanArtifacts) -> None:
        self._stream, self._span, self._artifacts = stream, span, artifacts

    def __iter__(self) -> Iterator[Any]:
        try:
            for event in self._stream:
                _note_event(self._span, event)
                self._artifacts.note_answer(_members(_members(event).get("result")).get("content"))
                yield event
        except GeneratorExit:
            raise
        except BaseException as failure:
            _fail(self._span, failure)
            raise
        finally:
            self._span.end()

    def close(self) -> None:
        """Close the stream and end the span."""
        self._span.end()
        self._stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __del__(self) -> None:
        if self._span.is_recording():
            self._span.end()


def _described(client: Any, operation: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, str | int | float]]:
    service: str = client.meta.service_model.service_id
    attributes: dict[str, str | int | float] = {
        "rpc.system": "aws-api",
        "rpc.service": str(service),
        "rpc.method": operation,
        "aws.region": client.meta.region_name or "",
    }
    if operation == _CODE_CALL:
        for member, attribute in _CODE.items():
            if isinstance(parameters.get(member), str):
                attributes[attribute] = parameters[member]
    model = parameters.get("modelId")
    if operation not in _MODEL_CALLS or not isinstance(model, str):
        return f"{service}.{operation}", attributes
    doing = "embeddings" if "embed" in model else "chat"
    attributes |= {"gen_ai.system": "aws.bedrock", "gen_ai.operation.name": doing, "gen_ai.request.model": model}
    settings = _members(parameters.get("inferenceConfig"))
    for setting, attribute in (("maxTokens", "max_tokens"), ("temperature", "temperature"), ("topP", "top_p")):
        if isinstance(settings.get(setting), int | float):
            attributes[f"gen_ai.request.{attribute}"] = settings[setting]
    return f"{doing} {model}", attributes


def _note_last_page(artifacts: SpanArtifacts, call: AwsCall, client: Any, parameters: Mapping[str, Any]) -> None:
    """Record the browser's last page before its session is stopped, if the browser still answers."""
    session_parameters = {name: parameters.get(name) for name in ("browserIdentifier", "sessionId")}
    try:
        answer = call(client, _BROWSER_CALL, {**session_parameters, "action": {"screenshot": {}}})
    except Exception:  # noqa: BLE001 (the session may have ended, or its caller may not look)
        return
    screenshot = _members(_members(_members(answer).get("result")).get("screenshot"))
    artifacts.picture("last page of the browser session", "image/png", screenshot.get("data"))


def _note_answer(span: Span, answer: Any) -> None:
    facts = _members(_members(answer).get("ResponseMetadata"))
    for name, member in (
        ("aws.request_id", "RequestId"),
        ("retry_attempts", "RetryAttempts"),
        ("http.status_code", "HTTPStatusCode"),
    ):
        if isinstance(facts.get(member), str | int):
            span.set_attribute(name, facts[member])


def _note_result(span: Span, answer: Mapping[str, Any]) -> None:
    """Record a model call's stop reason and tokens."""
    if isinstance(answer.get("stopReason"), str):
        span.set_attribute("gen_ai.response.finish_reasons", [answer["stopReason"]])
    usage = _members(answer.get("usage"))
    for member, attribute in _USAGE.items():
        if isinstance(usage.get(member), int):
            span.set_attribute(attribute, usage[member])


def _note_event(span: Span, event: Any) -> None:
    members = _members(event)
    if "result" in members:
        _note_code(span, _members(members["result"]))
    if "messageStop" in members or "metadata" in members:
        _note_result(span, _members(members.get("messageStop") or members.get("metadata")))


def _note_code(span: Span, result: Mapping[str, Any]) -> None:
    """Record the exit code and the error status of a code interpreter call, not its output."""
    code = _members(result.get("structuredContent")).get("exitCode")
    if isinstance(code, int):
        span.set_attribute("code_interpreter.exit_code", code)
    if result.get("isError") is True:
        span.set_status(Status(StatusCode.ERROR, "The code interpreter answered an error"))


def _note_failed_attempt(
    attempts: int = 0, response: Any = None, caught_exception: BaseException | None = None, **_: Any
) -> None:
    """Record a failed attempt.

    Botocore calls this after every attempt of every call, before it decides whether to retry.
    """
    facts: dict[str, str | int] = {"aws.attempt": attempts}
    if caught_exception is not None:
        facts |= {"exception.type": type(caught_exception).__name__, "exception.message": str(caught_exception)}
    elif response is not None and response[0].status_code >= 300:
        error = _members(response[1].get("Error"))
        facts |= {"exception.type": str(error.get("Code", "")), "exception.message": str(error.get("Message", ""))}
        facts["http.status_code"] = response[0].status_code
    else:
        return
    span = trace.get_current_span()
    if _scope_of(span) == SCOPE_NAME:  # not another's, where the call is traced otherwise
        span.add_event("exception", facts)


def _fail(span: Span, failure: BaseException) -> None:
    if isinstance(failure, Exception):
        span.record_exception(failure)
    span.set_attribute("error.type", type(failure).__qualname__)
    span.set_status(Status(StatusCode.ERROR, f"{type(failure).__name__}: {failure}"))


def _is_theirs(span: Span) -> bool:
    """Return whether OpenTelemetry's botocore instrumentation already has a span for the call."""
    return _scope_of(span).startswith(_THEIRS)


def _scope_of(span: Span) -> str:
    return str(getattr(getattr(span, "instrumentation_scope", None), "name", ""))


def _members(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
