"""The exceptions that Loom raises.

    LoomError
    ├── SettingsError                       a setting is missing or wrong
    │   └── UntrustedError                  a discovered folder or file that another user owns or can write to
    ├── PluginError                         a plugin could not be loaded or called
    ├── InvalidArnError                     (also ValueError) text that is not a runtime ARN
    ├── AgentNotFoundError                  (also LookupError) the catalog has no such agent
    ├── NotSupportedError                   part of the plan, not of this release
    ├── MissingExtraError                   an optional part of Loom is not installed
    ├── AwsError                            an AWS call failed
    │   ├── MissingCredentialsError         no usable credentials or region
    │   ├── AccessDeniedError               403
    │   ├── RequestRejectedError            400, or refused before it was sent (session id, payload size)
    │   ├── ResourceNotFoundError           404
    │   ├── ConflictError                   409
    │   ├── QuotaExceededError              402
    │   ├── AgentFailedError                424, the agent's own failure
    │   │   └── ResourceLimitError          the session reached a limit of memory, processes, disk or answer size
    │   ├── ThrottledError                  429
    │   ├── ServiceFailedError              5xx
    │   ├── TransportError                  no connection, a cut stream
    │   ├── RequestTimeoutError             no answer in time
    │   └── MalformedResponseError          an answer that is not in the documented form
    ├── ProtocolError                       a peer does not speak the protocol, refused, or ended
    │   ├── ToolNotFoundError               (also LookupError) the server has no such tool, resource or prompt
    │   ├── InvalidArgumentsError           (also ValueError) arguments that do not fit a schema; names the field
    │   └── PeerClosedError                 the server's process or connection ended
    ├── InvocationFailedError               an invocation ended in an error (raised by raise_for_status)
    ├── CodeFailedError                     code, a command or a file operation of a code interpreter failed
    ├── StoreError                          the database refused
    │   ├── StoreFullError                  no space left
    │   ├── StoreDamagedError               the file is damaged; opening it again recovers what is readable
    │   ├── StoreTooNewError                written by a later release
    │   └── CreditsUsedUpError              the tenant's credit does not cover another call
    ├── LocalServiceError                   the local AgentCore
    │   ├── LocalServiceNotRunningError
    │   └── LocalServiceNotStartedError
    ├── ClusterError                        a Dask cluster cannot be reached, or cannot do the work
    ├── DeployError                         a deployment cannot be planned, executed or undone
    ├── StudyError                          a study's plan is invalid
    │   └── StudyInterruptedError           stopped early; the measurements are stored
    ├── EvalError                           an invalid evaluation, or one whose stored form does not match
    │   └── EvalInterruptedError            stopped early; answers and scores are stored
    ├── InvalidSloError                     (also ValueError) text that is not a service level objective
    ├── InvalidEvalSetError                 (also ValueError) a file or text that is not an eval set, with every problem
    └── ReportError                         a report could not be created
        └── UnknownParameterError           a parameter that the notebook does not have

A message has three parts: what failed, on what, and what to try. A bad argument stays `ValueError` or `TypeError`.
"""

from __future__ import annotations

from .deprecation import renamed_names


class LoomError(Exception):
    """An expected failure, with a message of three parts.

    `what` failed, `on` which object, and what to `try_` next. All three are attributes and parts of the message.
    """

    def __init__(self, what: str, *, on: str = "", try_: str = "") -> None:
        self.what, self.on, self.try_ = what, on, try_
        message = f"{what} ({on})" if on else what
        super().__init__(f"{message}. Try: {try_}" if try_ else message)


class SettingsError(LoomError):
    """A setting is missing or has an impossible value."""


class UntrustedError(SettingsError):
    """A discovered folder or file that another user owns or can write to; `loom trust` accepts it."""


class PluginError(LoomError):
    """A plugin could not be loaded or called."""


class InvalidArnError(LoomError, ValueError):
    """Text that is not an AgentCore runtime ARN."""


class AgentNotFoundError(LoomError, LookupError):
    """The catalog has no agent of that name, id or ARN."""


class NotSupportedError(LoomError):
    """Something that is planned but not part of this release."""


class MissingExtraError(LoomError):
    """An optional part of Loom is not installed (its extra: `pip install 'loomlib[evals]'`)."""


class AwsError(LoomError):
    """An AWS call failed. `code` is AWS's error code, `status` the HTTP status (0 without a response)."""

    def __init__(
        self, what: str, *, on: str = "", try_: str = "", code: str = "", status: int = 0, request_id: str = ""
    ) -> None:
        super().__init__(what, on=on, try_=try_)
        self.code, self.status, self.request_id = code, status, request_id


class MissingCredentialsError(AwsError):
    """No usable credentials or no region."""


class AccessDeniedError(AwsError):
    """The credentials do not allow the call (403)."""


class RequestRejectedError(AwsError):
    """The request breaks a rule: refused by the service (400) or before it was sent."""


class ResourceNotFoundError(AwsError):
    """The resource does not exist (404)."""


class ConflictError(AwsError):
    """The resource is busy or exists already (409)."""


class QuotaExceededError(AwsError):
    """A service quota is used up (402)."""


class AgentFailedError(AwsError):
    """The agent itself failed: it ended, raised an exception, or sent an invalid response (RuntimeClientError, 424)."""


class ResourceLimitError(AgentFailedError):
    """The session reached a limit of the local AgentCore, which the message names (RuntimeClientError, 424)."""


class ThrottledError(AwsError):
    """Too many requests (429)."""


class ServiceFailedError(AwsError):
    """The service failed (5xx)."""


class TransportError(AwsError):
    """The connection could not be established, or broke before the response was complete."""


class RequestTimeoutError(AwsError):
    """No response within the time limit."""


class MalformedResponseError(AwsError):
    """The response is not in the documented form."""


class ProtocolError(LoomError):
    """An MCP, A2A or WebSocket peer does not speak the protocol, or refused. `code` is the JSON-RPC error code."""

    def __init__(self, what: str, *, on: str = "", try_: str = "", code: int | None = None) -> None:
        super().__init__(what, on=on, try_=try_)
        self.code = code


class ToolNotFoundError(ProtocolError, LookupError):
    """The server has no such tool, resource or prompt."""


class InvalidArgumentsError(ProtocolError, ValueError):
    """Arguments that do not fit the schema; `field` is the path of the first field that does not."""

    def __init__(self, what: str, *, on: str = "", try_: str = "", field: str = "") -> None:
        super().__init__(what, on=on, try_=try_)
        self.field = field


class PeerClosedError(ProtocolError):
    """The server's process or connection ended."""


class InvocationFailedError(LoomError):
    """An invocation ended in an error; `failure` is its class (see `loomlib.agents.FAILURES`)."""

    def __init__(self, what: str, *, on: str = "", try_: str = "", failure: str = "") -> None:
        super().__init__(what, on=on, try_=try_)
        self.failure = failure


class CodeFailedError(LoomError):
    """Code, a command or a file operation of a code interpreter failed (raised by raise_for_status)."""


class StoreError(LoomError):
    """The database refused to read or write."""


class StoreFullError(StoreError):
    """The database cannot grow: the disk or the quota is full."""


class StoreDamagedError(StoreError):
    """The database's file is damaged. Opening it again sets it aside and recovers what is readable."""


class StoreTooNewError(StoreError):
    """The database was written by a later release of Loom."""


class CreditsUsedUpError(StoreError):
    """The credit of the store's tenant does not cover another call."""


class LocalServiceError(LoomError):
    """The local AgentCore failed."""


class LocalServiceNotRunningError(LocalServiceError):
    """No local AgentCore runs for this folder."""


class LocalServiceNotStartedError(LocalServiceError):
    """The local AgentCore could not be started."""


class ClusterError(LoomError):
    """A Dask cluster cannot be reached, or its workers cannot do the work."""


class DeployError(LoomError):
    """A deployment cannot be planned, executed or undone."""


class StudyError(LoomError):
    """A study's plan is invalid, or its stored form does not match."""


class StudyInterruptedError(StudyError):
    """A study was interrupted. Its measurements are stored; running it again resumes it."""


class EvalError(LoomError):
    """The arguments of an evaluation are invalid, or differ from those of the stored run."""


class EvalInterruptedError(EvalError):
    """An evaluation was interrupted. Its answers and scores are stored; running it again resumes it."""


class InvalidEvalSetError(LoomError, ValueError):
    """An eval set was not read: `problems` states line by line what is wrong and how to fix it."""

    def __init__(self, what: str, *, on: str = "", try_: str = "", problems: tuple[str, ...] = ()) -> None:
        super().__init__(what, on=on, try_=try_)
        self.problems = problems


class InvalidSloError(LoomError, ValueError):
    """Text that is not a service level objective; `position` is where in the text, from 0."""

    def __init__(self, what: str, *, on: str = "", try_: str = "", position: int = 0) -> None:
        super().__init__(what, on=on, try_=try_)
        self.position = position


class ReportError(LoomError):
    """A report could not be created."""


class UnknownParameterError(ReportError):
    """A parameter that the notebook does not have."""


_RENAMED = {
    "InvalidArn": "InvalidArnError",
    "AgentNotFound": "AgentNotFoundError",
    "NotYetSupported": "NotSupportedError",
    "ExtraMissing": "MissingExtraError",
    "CredentialsMissing": "MissingCredentialsError",
    "AccessDenied": "AccessDeniedError",
    "RequestRejected": "RequestRejectedError",
    "ResourceNotFound": "ResourceNotFoundError",
    "Conflict": "ConflictError",
    "QuotaExceeded": "QuotaExceededError",
    "AgentFailed": "AgentFailedError",
    "Throttled": "ThrottledError",
    "ServiceFailed": "ServiceFailedError",
    "TransportFailed": "TransportError",
    "TimedOut": "RequestTimeoutError",
    "MalformedResponse": "MalformedResponseError",
    "InvocationFailed": "InvocationFailedError",
    "StoreFull": "StoreFullError",
    "StoreTooNew": "StoreTooNewError",
    "LocalServiceNotRunning": "LocalServiceNotRunningError",
    "LocalServiceNotStarted": "LocalServiceNotStartedError",
    "StudyInterrupted": "StudyInterruptedError",
    "EvalInterrupted": "EvalInterruptedError",
    "EvalSetInvalid": "InvalidEvalSetError",
    "UnknownParameter": "UnknownParameterError",
}
__getattr__ = renamed_names(__name__, _RENAMED)
