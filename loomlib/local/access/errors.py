"""Errors of authentication and authorization with the messages and codes of the service that was called."""

from __future__ import annotations

from ..wire import RefusedError

_CODES = {
    # what: (JSON services, S3, query services)
    "missing": ("MissingAuthenticationTokenException", "AccessDenied", "MissingAuthenticationToken"),
    "incomplete": ("IncompleteSignatureException", "AuthorizationHeaderMalformed", "IncompleteSignature"),
    "unknown": ("UnrecognizedClientException", "InvalidAccessKeyId", "InvalidClientTokenId"),
    "expired": ("ExpiredTokenException", "ExpiredToken", "ExpiredToken"),
    "mismatch": ("InvalidSignatureException", "SignatureDoesNotMatch", "SignatureDoesNotMatch"),
    "skewed": ("InvalidSignatureException", "RequestTimeTooSkewed", "SignatureDoesNotMatch"),
    "stale": ("InvalidSignatureException", "AccessDenied", "SignatureDoesNotMatch"),
    "digest": ("InvalidSignatureException", "XAmzContentSHA256Mismatch", "SignatureDoesNotMatch"),
    "mechanism": ("IncompleteSignatureException", "InvalidRequest", "IncompleteSignature"),
    "denied": ("AccessDeniedException", "AccessDenied", "AccessDenied"),
    "timeout": ("RequestTimeoutException", "RequestTimeout", "RequestTimeout"),
}
_BAD_REQUESTS = frozenset({("incomplete", "s3"), ("expired", "s3"), ("digest", "s3"), ("mechanism", "s3")})
_QUERY_SERVICES = frozenset(
    {"sts", "iam", "ec2", "sns", "rds", "cloudformation", "autoscaling", "elasticloadbalancing", "redshift"}
    | {"elasticache", "elasticbeanstalk", "ses", "sdb", "neptune"}
)

MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)
UNKNOWN_KEY = (
    "The security token included in the request is invalid. The local AgentCore's keys are in `bench.environment()` "
    "and `loom up --export`"
)


class AccessRefusedError(RefusedError):
    """A request refused before it reaches a service; `service` is the one that the request was signed for."""

    def __init__(self, code: str, status: int, message: str, service: str) -> None:
        super().__init__(code, status, message)
        self.service = service


def refusal(what: str, service: str, message: str) -> AccessRefusedError:
    """Return the error of a service.

    Args:
        what: The kind of error; a key of the table of codes.
        service: The service that the request is signed for.
        message: A sentence.
    """
    column = 1 if service == "s3" else 2 if service in _QUERY_SERVICES else 0
    status = 400 if what == "timeout" or (what, service) in _BAD_REQUESTS else 403
    return AccessRefusedError(_CODES[what][column], status, message, service)
