"""The error of an evaluator that cannot judge: it becomes a `CaseFailure`, never a score."""

from __future__ import annotations

from loomlib.errors import AwsError, LoomError, RequestTimeoutError, TransportError

from .answers import CaseFailure


class JudgeFailedError(LoomError):
    """An evaluator could not judge.

    `kind` is the reason, stored as `CaseFailure.kind`: "malformed", "no_trajectory", "no_model", "not_recorded",
    "timeout", "transport", "too_large" or "aws:<error code>". `tokens` and `cost` (US dollars) are those of the replies
    that gave no score; 0 where they are unknown.
    """

    def __init__(
        self,
        what: str,
        *,
        kind: str,
        on: str = "",
        try_: str = "",
        attempts: int = 1,
        tokens: int = 0,
        cost: float = 0.0,
    ) -> None:
        super().__init__(what, on=on, try_=try_)
        self.kind, self.attempts, self.tokens, self.cost = kind, attempts, tokens, cost

    @classmethod
    def of_aws(cls, error: AwsError, *, attempts: int = 1) -> JudgeFailedError:
        """Return the same failure as AWS reported it, with its error code in `kind`."""
        kind = (
            f"aws:{error.code}"
            if error.code
            else "timeout"
            if isinstance(error, RequestTimeoutError)
            else "transport"
            if isinstance(error, TransportError)
            else "aws"
        )
        return cls(error.what, kind=kind, on=error.on, try_=error.try_, attempts=attempts)

    def as_failure(self, evaluator: str) -> CaseFailure:
        """Return the failure as the value that a run stores for the case."""
        return CaseFailure(
            stage="judge", kind=self.kind, message=str(self), evaluator=evaluator, attempts=self.attempts
        )
