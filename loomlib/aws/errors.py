"""Translation of AWS's errors into Loom's."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from loomlib.errors import (
    AccessDeniedError,
    AgentFailedError,
    AwsError,
    ConflictError,
    MalformedResponseError,
    MissingCredentialsError,
    QuotaExceededError,
    RequestRejectedError,
    RequestTimeoutError,
    ResourceLimitError,
    ResourceNotFoundError,
    ServiceFailedError,
    ThrottledError,
    TransportError,
)
from loomlib.recovery import DISK_IS_FULL

from .addresses import is_loopback
from .rules import rule_in

MESSAGE_LIMIT = 4000
"""Longest stored message from AWS, in characters: a 424 carries the agent's last log lines."""

LIMIT_REACHED = "Resource limit reached"
"""How the local AgentCore begins the message of a 424 for a session that reached a limit."""

_BY_STATUS: Mapping[int, type[AwsError]] = {
    401: AccessDeniedError,
    402: QuotaExceededError,
    403: AccessDeniedError,
    404: ResourceNotFoundError,
    409: ConflictError,
    424: AgentFailedError,
    429: ThrottledError,
}
_BY_CODE: Mapping[str, type[AwsError]] = {
    "AccessDeniedException": AccessDeniedError,
    "AccessDenied": AccessDeniedError,
    "UnrecognizedClientException": MissingCredentialsError,
    "InvalidClientTokenId": MissingCredentialsError,
    "ExpiredTokenException": MissingCredentialsError,
    "ExpiredToken": MissingCredentialsError,
    "ResourceNotFoundException": ResourceNotFoundError,
    "NoSuchBucket": ResourceNotFoundError,
    "ConflictException": ConflictError,
    "ResourceAlreadyExistsException": ConflictError,
    "ServiceQuotaExceededException": QuotaExceededError,
    "LimitExceededException": QuotaExceededError,
    "ThrottlingException": ThrottledError,
    "TooManyRequestsException": ThrottledError,
    "RuntimeClientError": AgentFailedError,
    "DependencyFailedException": AgentFailedError,
}
_ADVICE: Mapping[type[AwsError], str] = {
    MissingCredentialsError: "aws sso login, AWS_PROFILE, or loom.connect() for the local service",
    AccessDeniedError: "ask for the permission, or connect with another profile",
    RequestRejectedError: "correct the request as the message says",
    ResourceNotFoundError: "check the ARN, the region and the qualifier",
    ConflictError: "wait until the current change is complete, then call again",
    QuotaExceededError: "end sessions that are not needed, or ask AWS for a higher quota",
    AgentFailedError: "read the agent's log",
    ResourceLimitError: "reduce the agent's resource use, or raise the limits of the local AgentCore: loom up --limits",
    ThrottledError: "call less often",
    ServiceFailedError: "call again later",
    TransportError: "check the address and the network; `loom status` for the local service",
    RequestTimeoutError: "allow more time, or see in the agent's log what it is waiting for",
    MalformedResponseError: "check that the address is AWS's or the local service's",
}


_START_AGAIN = "start the local AgentCore again: `loom up`, or loom.connect() in a cell"


def bounded(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Return `text` with its middle left out when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} … {len(text) - 2 * half} characters left out … {text[-half:]}"


def error_class(status: int, code: str = "") -> type[AwsError]:
    """Return the error class for an HTTP status and AWS's error code, which is more specific."""
    code = code[:1].upper() + code[1:]  # names of exceptions in an event stream begin with a lower-case letter
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return ServiceFailedError
    return RequestRejectedError if status >= 300 else AwsError


def error_from_response(
    status: int, *, what: str, on: str, code: str = "", message: str = "", request_id: str = ""
) -> AwsError:
    """Build the error for an HTTP response, with AWS's message.

    Args:
        status: The HTTP status.
        what: The operation that failed.
        on: What it failed on.
        code: AWS's error code; the class of the error follows from it and from `status`.
        message: AWS's message; long messages are shortened in the middle.
        request_id: AWS's id of the request.
    """
    kind = error_class(status, code)
    text = bounded(message.strip()) or f"HTTP {status}"
    if kind is AgentFailedError and text.startswith(LIMIT_REACHED):
        kind = ResourceLimitError
    full = f"{what}: {code}: {text}" if code else f"{what}: {text}"
    advice = rule_in(text) if kind is RequestRejectedError else _authorization_advice(status, text)
    if text.startswith(DISK_IS_FULL):
        advice = "free space on the disk of the home folder, then call again"
    return kind(full, on=on, try_=advice or _ADVICE.get(kind, ""), code=code, status=status, request_id=request_id)


def _authorization_advice(status: int, text: str) -> str:
    """Return advice for a runtime that does not accept the caller's kind of credentials."""
    if status == 401 or "OAuth authorization failed" in text:
        return (
            "pass bearer= a token that the runtime's authorizer accepts; bench.identity.token(user=…) makes a local one"
        )
    if status == 403 and "Authorization method mismatch" in text:
        return "pass a token as bearer= if the runtime has an authorizer, and no token otherwise"
    return ""


def failure(kind: type[AwsError], what: str, *, on: str = "", try_: str = "", code: str = "") -> AwsError:
    """Build an error of `kind`, with the advice for its kind unless `try_` is given.

    Args:
        kind: The class of the error.
        what: What failed.
        on: What it failed on.
        try_: The advice, in place of the advice for the class.
        code: The error code, for programs.
    """
    return kind(bounded(what), on=on, try_=try_ or _ADVICE.get(kind, ""), code=code)


def unreachable(what: str, address: str, *, on: str = "") -> AwsError:
    """Build the error for an address that does not accept connections; on loopback, for a stopped local AgentCore.

    Args:
        what: What failed.
        address: The address that does not accept connections; it determines the advice.
        on: What it failed on.
    """
    return failure(TransportError, what, on=on, try_=_START_AGAIN if is_loopback(address) else "")


@contextmanager
def translated(what: str, *, on: str) -> Generator[None]:
    """Translate exceptions of botocore and urllib3 in the block into Loom's errors.

    Args:
        what: The operation, with which the error's message begins.
        on: The resource that it concerns.
    """
    from boto3.exceptions import Boto3Error
    from botocore import exceptions as vendor
    from botocore.eventstream import ParserError
    from botocore.parsers import ResponseParserError
    from urllib3 import exceptions as wire

    try:
        yield
    except vendor.ClientError as error:
        raise _from_client_error(error, what, on) from error
    except (vendor.NoCredentialsError, vendor.PartialCredentialsError, vendor.NoRegionError) as error:
        raise failure(MissingCredentialsError, f"{what}: {error}", on=on) from error
    except (vendor.ProfileNotFound, vendor.TokenRetrievalError, vendor.CredentialRetrievalError) as error:
        raise failure(MissingCredentialsError, f"{what}: {error}", on=on) from error
    except vendor.ParamValidationError as error:
        reason = "; ".join(str(error).splitlines()[1:]) or str(error)
        raise failure(RequestRejectedError, f"{what}: {reason}", on=on, try_=rule_in(reason)) from error
    except vendor.ReadTimeoutError as error:
        raise failure(RequestTimeoutError, f"{what}: no answer from {_address(error)} in time", on=on) from error
    except vendor.ConnectTimeoutError as error:
        raise failure(RequestTimeoutError, f"{what}: no connection to {_address(error)} in time", on=on) from error
    except vendor.EndpointConnectionError as error:
        raise unreachable(f"{what}: nothing answers at {_address(error)}", _address(error), on=on) from error
    except vendor.ConnectionClosedError as error:
        reason = f"{_address(error)} closed the connection without an answer"
        raise failure(TransportError, f"{what}: {reason}", on=on) from error
    except (vendor.HTTPClientError, vendor.ConnectionError) as error:
        raise failure(TransportError, f"{what}: {error}", on=on) from error
    # botocore reads the events of a stream from urllib3 and does not translate its exceptions.
    except wire.ReadTimeoutError as error:
        raise failure(RequestTimeoutError, f"{what}: no further part of the answer in time", on=on) from error
    except wire.HTTPError as error:
        raise failure(TransportError, f"{what}: the answer ended before it was complete", on=on) from error
    except (ResponseParserError, ParserError) as error:
        raise failure(MalformedResponseError, f"{what}: {error}", on=on) from error
    except (ValueError, TypeError, AttributeError, LookupError, RuntimeError, OverflowError) as error:
        if not _is_of_parser(error):
            raise
        reason = "the answer is not in the documented form"
        raise failure(MalformedResponseError, f"{what}: {reason}: {error}", on=on) from error
    except (vendor.BotoCoreError, Boto3Error) as error:
        raise failure(AwsError, f"{what}: {error}", on=on) from error


def _is_of_parser(error: BaseException) -> bool:
    """Return whether a general exception was raised by botocore's response parser."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__") == "botocore.parsers" for frame, _ in frames)


def _address(error: Any) -> str:
    """Return the scheme and host that a request went to, without the path, which may contain names."""
    url = urlsplit(str(error.kwargs.get("endpoint_url", "")))
    return f"{url.scheme}://{url.netloc}"


def _from_client_error(error: Any, what: str, on: str) -> AwsError:
    answer: dict[str, Any] = error.response
    details: dict[str, Any] = answer.get("Error", {})
    about: dict[str, Any] = answer.get("ResponseMetadata", {})
    return error_from_response(
        int(about.get("HTTPStatusCode", 0)),
        what=what,
        on=on,
        code=str(details.get("Code", "")),
        message=str(details.get("Message", "")),
        request_id=str(about.get("RequestId", "")),
    )
