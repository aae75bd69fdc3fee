"""The rest of AWS, answered by moto: S3, CloudWatch Logs, STS, Secrets Manager and everything else it implements."""

from __future__ import annotations

import importlib
import io
import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from a2wsgi import WSGIMiddleware
from moto.core.common_models import BaseModel
from moto.core.responses import BaseResponse

from .access.assumed_roles import AssumedRoles
from .access.bodies import Body
from .error_forms import content_type_of, error_form, has_form, operation_of, protocol_of, protocols_of
from .logs.store import Logs
from .moto_buckets import correct_buckets
from .wire import AsgiMessage, AsgiScope, Receive, RefusedError, Send, not_implemented

_log = logging.getLogger(__name__)
_THREADS = 8
_UNSIGNED = "AWS4-HMAC-SHA256 Credential=UNSIGNED/20000101/{region}/{service}/aws4_request, SignedHeaders=host"

_KEYS_MISSING_IN_S3 = frozenset(
    {"abac", "analytics", "annotation", "intelligent-tiering", "metadataAnnotationTable", "metadataConfiguration"}
    | {"metadataInventoryTable", "metadataJournalTable", "metadataTable", "metrics", "renameObject", "requestPayment"}
    | {"session", "torrent"}
)
_OPERATIONS_MISSING_IN_S3 = frozenset({"DELETE inventory", "GET retention"})
"""Query keys that moto's S3 ignores: for it, DeleteBucketMetricsConfiguration would delete the bucket."""

# moto keeps a list of all instances of its models for its own dashboard, so deleted log lines would never be freed.
BaseModel.__new__ = lambda cls, *_, **__: super(BaseModel, cls).__new__(cls)

_DESCRIBED = "loom.described"
_moto_setup, _moto_action = BaseResponse.setup_class, BaseResponse._get_action  # pyright: ignore[reportPrivateUsage]


def _setup(responses: BaseResponse, request: Any, *args: Any, **kwargs: Any) -> None:
    """Set up moto's responses for a request; a JSON request's parameters are the members of its body only.

    moto reads parameters first from the URL, from the body as if it were a form, and from the headers.
    """
    _moto_setup(responses, request, *args, **kwargs)
    described: _Described | None = request.environ.get(_DESCRIBED)
    if described is not None and described.protocol == "json":
        responses.querystring = responses.data = {}


def _checked_operation(responses: BaseResponse) -> str:
    """Return the operation that the caller's permissions were checked for; empty if these responses lack its protocol.

    moto takes an `Action` in the URL, the body or the headers, and then the header `x-amz-target`, for any service.
    """
    request = responses.normalized_request
    described: _Described | None = request.environ.get(_DESCRIBED)
    if described is None:
        return _moto_action(responses)
    protocols = protocols_of(responses.boto3_service_name)
    if described.protocol in ("json", "query", "ec2"):
        return described.operation.partition(":")[2] if described.protocol in protocols else ""
    if protocols.isdisjoint(("rest-json", "rest-xml")):
        return ""
    return responses._get_action_from_method_and_request_uri(request)  # pyright: ignore[reportPrivateUsage]


BaseResponse.setup_class = _setup  # pyright: ignore[reportAttributeAccessIssue]
BaseResponse._get_action = _checked_operation  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]

StartResponse = Callable[..., Any]
WsgiApplication = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class MotoFallback:
    """moto's application as an ASGI application.

    Args:
        logs: The store of log groups.
        assumed_roles: Receives the keys that moto's STS issues.

    Attributes:
        serve_stacks: Answers CloudFormation requests, given the calling role and moto's handler.
    """

    def __init__(self, logs: Logs, assumed_roles: AssumedRoles) -> None:
        self._logs, self._assumed_roles = logs, assumed_roles
        self.serve_stacks: Callable[[object, Callable[[], Any]], Any] | None = None
        self._loading = threading.Lock()
        self._loaded: WsgiApplication | None = None
        self._middleware = WSGIMiddleware(self._answer, workers=_THREADS)  # pyright: ignore[reportArgumentType]

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def receiving() -> AsgiMessage:
            message = await receive()
            if message["type"] == "http.disconnect":
                # Without this an interrupted upload would be stored as if it were complete.
                raise ConnectionAbortedError("the client disconnected while sending")
            return message

        await self._middleware(scope, receiving, send)  # pyright: ignore[reportArgumentType]

    def close(self) -> None:
        """Stop the threads."""
        self._middleware.executor.shutdown(wait=False, cancel_futures=True)

    def _answer(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        # moto needs the raw path: a percent-encoded slash belongs to an S3 key.
        scope = environ["asgi.scope"]
        environ["RAW_URI"] = scope["raw_path"].decode("latin-1")
        environ["wsgi.input"] = scope["loom.body"].opened()
        environ["wsgi.input_terminated"] = True
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = scope["loom.place"].account_id  # replaces the value that the client sent
        if region := scope.get("loom.unsigned_region"):
            # moto reads service and region from the credential scope; without one it takes us-east-1.
            environ["HTTP_AUTHORIZATION"] = _UNSIGNED.format(region=region, service=scope["loom.service"])
        request = environ[_DESCRIBED] = _Described(environ)
        if request.is_missing_in_s3():
            return request.not_implemented(start_response)
        try:
            status, headers, body = self._moto_response(environ, request)
        except RefusedError as refused:
            status = f"{refused.status} {HTTPStatus(refused.status).phrase}"
            return request.refuse(start_response, status, refused.code, refused.message)
        except NotImplementedError:
            return request.not_implemented(start_response)
        except Exception as error:  # noqa: BLE001 - foreign code: moto would answer with an HTML page, which no SDK can parse
            _log.exception("moto failed on %s", request.operation)
            return request.not_implemented(start_response, f" for these parameters: moto raised {error!r}")
        if not request.is_page(status, headers):
            start_response(status, request.labelled(status, headers))
            return body
        if close := getattr(body, "close", None):
            close()
        if scope["loom.service"] == "s3" and status.startswith("404"):
            return request.refuse(start_response, status, "NoSuchBucket", "The specified bucket does not exist")
        return request.not_implemented(start_response)

    @property
    def _application(self) -> WsgiApplication:
        with self._loading:  # requests come from several threads
            if self._loaded is None:
                from .moto_application import AwsApplication  # takes 60 ms to load, so only when needed

                self._loaded = AwsApplication()
            return self._loaded

    def _moto_response(
        self, environ: dict[str, Any], request: _Described
    ) -> tuple[str, list[tuple[str, str]], Iterable[bytes]]:
        """Return moto's status, headers and body."""
        response_head: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
            response_head[:] = [status, headers]
            return _write

        scope = environ["asgi.scope"]
        if scope["loom.service"] == "cloudformation" and self.serve_stacks is not None:
            body = self.serve_stacks(scope["loom.principal"], lambda: list(self._application(environ, start)))
            return response_head[0], response_head[1], body
        if scope["loom.service"] == "s3":
            correct_buckets()
        if scope["loom.service"] != "logs":
            body = self._application(environ, start)
            if scope["loom.service"] == "sts" and "loom.unsigned_region" not in scope:
                body = list(body)
                form = parse_qs(request.form)
                if request.operation == "sts:AssumeRole" and "RoleArn" in form:
                    self._assumed_roles.accept(form["RoleArn"][0], b"".join(body), scope["loom.principal"])
            return response_head[0], response_head[1], body
        self._logs.wait_restored()
        # Sessions' lines arrive from another thread, and moto's dictionaries are not locked.
        with self._logs.backend_lock:
            deletes = ".Delete" in environ.get("HTTP_X_AMZ_TARGET", "")
            before = self._logs.places() if deletes else set[tuple[str, str]]()
            body = list(self._application(environ, start))
            self._logs.forget(before - self._logs.places() if deletes else ())
        if environ.get("HTTP_X_AMZ_TARGET", "").endswith(".PutLogEvents") and response_head[0].startswith("200"):
            content: Body = environ["asgi.scope"]["loom.body"]
            parameters = json.loads(content.opened().read())
            group = self._logs.keys.of(scope["loom.place"], str(parameters["logGroupName"]))
            self._logs.count_put(group, str(parameters["logStreamName"]), content.size)
        return response_head[0], response_head[1], body


def _write(_: bytes) -> object:
    raise RuntimeError("moto writes no body through start_response")


class _Described:
    """A WSGI request's operation, and errors in its protocol's form."""

    def __init__(self, environ: dict[str, Any]) -> None:
        self._service: str = environ["asgi.scope"]["loom.service"]
        self._environ = environ
        self._headers = {
            name.removeprefix("HTTP_").lower().replace("_", "-"): str(value)
            for name, value in environ.items()
            if name.startswith("HTTP_") or name == "CONTENT_TYPE"
        }
        self.protocol = protocol_of(self._service, self._headers, environ["QUERY_STRING"])
        self.form = ""
        if self.protocol in ("query", "ec2") and has_form(self._headers):
            raw = environ["wsgi.input"].read()
            environ["wsgi.input"], environ["CONTENT_LENGTH"] = io.BytesIO(raw), str(len(raw))
            self.form = raw.decode("utf-8", "replace")

    @property
    def operation(self) -> str:
        """The operation as IAM writes it, such as `iam:CreateRole`."""
        return operation_of(
            self._service,
            self.protocol,
            method=self._environ["REQUEST_METHOD"],
            raw_path=self._environ["RAW_URI"],
            query=self._environ["QUERY_STRING"],
            headers=self._headers,
            form=self.form,
        )

    def is_missing_in_s3(self) -> bool:
        """Return whether moto's S3 would mistake this operation for another one."""
        query: str = self._environ["QUERY_STRING"]
        if self._service != "s3" or not query:
            return False
        keys = {part.partition("=")[0] for part in query.split("&")}
        method: str = self._environ["REQUEST_METHOD"]
        if keys & _KEYS_MISSING_IN_S3 or {f"{method} {key}" for key in keys} & _OPERATIONS_MISSING_IN_S3:
            return True
        return method == "PUT" and "encryption" in keys and self.operation == "s3:UpdateObjectEncryption"

    def is_page(self, status: str, headers: Iterable[tuple[str, str]]) -> bool:
        """Return whether a response is a web page or empty where AWS would return an error."""
        if self._environ["REQUEST_METHOD"] == "HEAD" or not status.startswith(("404", "405", "500")):
            return False
        header_values = {name.lower(): value for name, value in headers}
        return (
            header_values.get("content-type", "").startswith("text/html") or header_values.get("content-length") == "0"
        )

    def labelled(self, status: str, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return a response's headers with its protocol's content type, where moto leaves the web framework's default.

        Objects of S3 and answers of functions keep theirs: they may be web pages.
        """
        reads = self._environ["REQUEST_METHOD"] in ("GET", "HEAD") and status.startswith("2")
        if self._service == "execute-api" or (self._service == "s3" and reads):
            return headers
        content_type = content_type_of(self.protocol)
        return [
            (name, content_type if name.lower() == "content-type" and value.startswith("text/html") else value)
            for name, value in headers
        ]

    def not_implemented(self, start_response: StartResponse, why: str = "") -> Iterable[bytes]:
        """Answer 501, which botocore never retries."""
        refused = not_implemented(self.operation + why)
        return self.refuse(start_response, "501 Not Implemented", refused.code, refused.message)

    def refuse(self, start_response: StartResponse, status: str, code: str, message: str) -> Iterable[bytes]:
        """Answer with an error."""
        headers, body = error_form(self.protocol, code, message, str(uuid.uuid4()))
        start_response(status, [*headers, ("content-length", str(len(body)))])
        return [body]


def moto_methods(service_name: str) -> frozenset[str]:
    """Return the names of the methods with which moto answers a service's operations; none for a service that it lacks.

    Args:
        service_name: The service as botocore names it.
    """
    try:
        module = importlib.import_module(f"moto.{service_name.replace('-', '')}.responses")
    except ModuleNotFoundError:
        return frozenset()
    classes = [item for item in vars(module).values() if isinstance(item, type) and issubclass(item, BaseResponse)]
    return frozenset(name for responses in classes for name in dir(responses))
