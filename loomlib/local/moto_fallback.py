"""The rest of AWS, answered by moto: S3, CloudWatch Logs, STS, Secrets Manager and everything else it implements."""

from __future__ import annotations

import importlib
import json
import logging
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from a2wsgi import WSGIMiddleware
from moto.core.responses import BaseResponse
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from .logs.store import Logs
from .wire import Message, Receive, RefusedError, Scope, Send, not_found, not_implemented

_log = logging.getLogger(__name__)
_THREADS = 8
_LOG_SCOPE = re.compile(r"(Credential=[^/,\s]+/\d+/)[^/,\s]+/logs/")

_INTERNAL = frozenset({"moto_api", "instance_metadata"})
"""moto's own pages, with which a caller could read and reset everything, and EC2's, which answers with keys."""

StartResponse = Callable[..., Any]
WsgiApplication = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class _AwsOnly(DomainDispatcherApplication):
    """moto's application without its own pages."""

    def get_backend_for_host(self, host: str | None) -> Any:
        """Return the name of the AWS service behind a host name.

        Raises:
            RefusedError: The path is one of moto's own pages, or moto does not have the service.
        """
        backend = super().get_backend_for_host(host)
        if backend in _INTERNAL:
            raise not_found("The local AgentCore has no such path")
        if host is not None and not backend:
            raise not_implemented(f"the service {host.partition('.')[0]}")
        return backend


class MotoFallback:
    """moto's application as an ASGI application.

    Log groups are the same in every region: agents of all regions write into one store.
    """

    def __init__(self, logs: Logs, *, region: str) -> None:
        self._logs, self._log_scope = logs, rf"\g<1>{region}/logs/"
        self._application: WsgiApplication = _AwsOnly(create_backend_app)
        self._middleware = WSGIMiddleware(self._answer, workers=_THREADS)  # pyright: ignore[reportArgumentType]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def receiving() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                # Without this an interrupted upload would be stored as if it were complete.
                raise ConnectionAbortedError("the client went away while sending")
            return message

        await self._middleware(scope, receiving, send)  # pyright: ignore[reportArgumentType]

    def close(self) -> None:
        """Stop the threads."""
        self._middleware.executor.shutdown(wait=False, cancel_futures=True)

    def _answer(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        # moto needs the raw path: a percent-encoded slash belongs to an S3 key.
        scope = environ["asgi.scope"]
        environ["RAW_URI"] = scope["raw_path"].decode("latin-1")
        environ["wsgi.input_terminated"] = True
        try:
            if scope["loom.service"] == "logs":
                self._logs.wait_restored()
                signed = environ.get("HTTP_AUTHORIZATION", "")
                environ["HTTP_AUTHORIZATION"] = _LOG_SCOPE.sub(self._log_scope, signed)
                # Sessions' lines arrive from another thread, and moto's dictionaries are not locked.
                with self._logs.backend_lock:
                    deletes = ".Delete" in environ.get("HTTP_X_AMZ_TARGET", "")
                    before = self._logs.places() if deletes else set[tuple[str, str]]()
                    answer = list(self._application(environ, start_response))
                    self._logs.forget(before - self._logs.places() if deletes else ())
                    return answer
            return self._application(environ, start_response)
        except RefusedError as refused:
            return _error(
                start_response, f"{refused.status} {HTTPStatus(refused.status).phrase}", refused.code, refused.message
            )
        except NotImplementedError as error:
            return _error(start_response, "501 Not Implemented", "NotImplementedException", str(error))
        except Exception as error:  # noqa: BLE001 - foreign code: moto would answer with an HTML page, which no SDK can parse
            _log.exception("moto failed on %s %s", environ["REQUEST_METHOD"], scope["loom.service"])
            return _error(start_response, "500 Internal Server Error", "InternalFailure", repr(error))


def moto_methods(service_name: str) -> frozenset[str]:
    """Return the names of the methods with which moto answers a service's operations.

    Args:
        service_name: The service as botocore names it.
    """
    module = importlib.import_module(f"moto.{service_name.replace('-', '')}.responses")
    classes = [item for item in vars(module).values() if isinstance(item, type) and issubclass(item, BaseResponse)]
    return frozenset(name for responses in classes for name in dir(responses))


def _error(start_response: StartResponse, status: str, code: str, message: str) -> Iterable[bytes]:
    body = json.dumps({"__type": code, "message": message or "The local AgentCore does not implement this yet"})
    headers = [("Content-Type", "application/json"), ("x-amzn-errortype", code)]
    start_response(status, [*headers, ("Content-Length", str(len(body.encode())))])
    return [body.encode()]
