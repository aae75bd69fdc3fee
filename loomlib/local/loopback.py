"""Loom's own requests to a running service: the paths below `/_loom/`, and leases."""

from __future__ import annotations

import http.client
import json
import socket
from types import TracebackType

from ..errors import LocalServiceError, LocalServiceNotRunningError
from .state import ServiceState


def ask(state: ServiceState, method: str, path: str, *, body: bytes | None = None, timeout_s: float = 10.0) -> bytes:
    """Send one of Loom's own requests to a service and return the response body.

    Args:
        state: The service.
        method: The HTTP method.
        path: A path below `/_loom/`.
        body: The request's body.
        timeout_s: How long to wait.

    Raises:
        LocalServiceNotRunningError: It does not answer, or is about to stop.
        LocalServiceError: It returned an error.
    """
    connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=timeout_s)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {state.token}"})
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise LocalServiceNotRunningError(
            "The local AgentCore does not answer", on=state.url, try_="loom up"
        ) from error
    finally:
        connection.close()
    if answer.status == 503:
        raise LocalServiceNotRunningError("The local AgentCore is stopping", on=state.url, try_="loom up")
    if answer.status != 200:
        raise LocalServiceError(f"The local AgentCore returned HTTP {answer.status}{_reason(content)}", on=path)
    return content


def _reason(content: bytes) -> str:
    """Return the message of an error response, preceded by a colon; "" if it has none."""
    try:
        return ": " + str(json.loads(content)["message"])
    except (ValueError, KeyError, TypeError):
        return ""


class ServiceLease:
    """An open connection that keeps a non-persistent service running.

    The kernel closes it when its holder ends, whatever the reason, so there is no further protocol.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    @property
    def is_open(self) -> bool:
        """Whether this side has not closed the lease."""
        return self._connection.fileno() >= 0

    def close(self) -> None:
        """End the lease."""
        self._connection.close()

    def __enter__(self) -> ServiceLease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def hold(state: ServiceState) -> ServiceLease:
    """Take a lease on a running service, until it is closed or this process ends.

    Raises:
        LocalServiceNotRunningError: The service does not answer, or is about to stop.
        LocalServiceError: It refused the lease.
    """
    try:
        connection = socket.create_connection(("127.0.0.1", state.port), timeout=10.0)
    except OSError as error:
        raise LocalServiceNotRunningError(
            "The local AgentCore does not answer", on=state.url, try_="loom up"
        ) from error
    try:
        connection.sendall(
            f"GET /_loom/lease HTTP/1.1\r\nHost: 127.0.0.1:{state.port}\r\n"
            f"Authorization: Bearer {state.token}\r\n\r\n".encode()
        )
        try:
            head = connection.recv(1024)
        except ConnectionError:
            head = b""
        except TimeoutError as error:
            raise LocalServiceNotRunningError(
                "The local AgentCore does not answer", on=state.url, try_="loom down; loom up"
            ) from error
        if not head or head.startswith(b"HTTP/1.1 503"):
            raise LocalServiceNotRunningError("The local AgentCore is stopping", on=state.url, try_="loom up")
        if not head.startswith(b"HTTP/1.1 200"):
            raise LocalServiceError("The local AgentCore refused a lease", on=state.url, try_="loom down; loom up")
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return ServiceLease(connection)
