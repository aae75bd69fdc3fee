"""Errors of model requests, with the codes and statuses that botocore's bedrock-runtime model declares."""

from __future__ import annotations

STATUSES = {
    "ValidationException": 400,
    "AccessDeniedException": 403,
    "ResourceNotFoundException": 404,
    "ModelTimeoutException": 408,
    "ModelErrorException": 424,
    "ModelStreamErrorException": 424,
    "ThrottlingException": 429,
    "InternalServerException": 500,
    "ServiceUnavailableException": 503,
}


class ModelRefusedError(Exception):
    """A model request that fails with an error of AWS: its `code`, HTTP `status` and `message`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.status, self.message = code, STATUSES[code], message


def invalid(message: str) -> ModelRefusedError:
    """Return a ValidationException (400) with this message."""
    return ModelRefusedError("ValidationException", message)
