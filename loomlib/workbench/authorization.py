"""How one call was authorized: who called, with what, which claims decided, and as whom the agent acts."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from ..agents import AgentEntry, InvocationRecord
from ..aws.logs import filter_events
from ..errors import ResourceNotFoundError
from ..presentation.formats import timestamp
from ..presentation.html import card, table
from .context import Context
from .frames import rows_frame

if TYPE_CHECKING:
    import pandas as pd

_LEEWAY_MS: Final = 60_000
_COLUMNS: Final = ("claim", "allowed", "token has", "passed")
_METHODS: Final = {"jwt": "bearer token (JWT)", "sigv4": "signature (SigV4)"}
_DECISIONS: Final = {"allow": ("good", "allowed"), "deny": ("bad", "refused")}
_ON_AWS: Final = (
    "AWS records callers in CloudTrail (data events of runtimes), which Loom does not read; only the local AgentCore's "
    "decisions are shown"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimDecision:
    """One rule of the runtime's authorizer: the values that it allows, and those that the token had."""

    claim: str
    allowed: tuple[str, ...]
    given: tuple[str, ...]
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationView:
    """The authorization of one call; no part of a token is in it.

    Attributes:
        title: The agent and the invocation.
        labels: Provenance labels.
        state: "recorded" by the local AgentCore; "signed": a signed call of the owner, which leaves no record because
            there is nothing to decide; "unknown": there is no record, with the reason in `reason`.
        decision: "allow" or "deny"; empty when unknown.
        method: The credentials that the runtime wants: "jwt" or "sigv4".
        caller: The ARN that signed, or the issuer and the subject of the token.
        reason: Why the call was refused, or why nothing is known.
        user_id: The user that a signed call named; nothing proves it.
        issuer: The token's issuer.
        subject: Its subject.
        client_id: Its client.
        scopes: Its scopes.
        expires_at: When it expires.
        algorithm: How it is signed.
        key_id: The issuer's key that signed it.
        claims: The rules that decided.
        runs_as: The role as which the agent calls AWS.
        token_reaches_agent: Whether the runtime's allowlist passes the token on to the agent.
    """

    title: str
    labels: tuple[str, ...] = ()
    state: Literal["recorded", "signed", "unknown"]
    decision: str = ""
    method: str = ""
    caller: str = ""
    reason: str = ""
    user_id: str = ""
    issuer: str = ""
    subject: str = ""
    client_id: str = ""
    scopes: tuple[str, ...] = ()
    expires_at: datetime | None = None
    algorithm: str = ""
    key_id: str = ""
    claims: tuple[ClaimDecision, ...] = ()
    runs_as: str = ""
    token_reaches_agent: bool = False

    def facts(self) -> list[tuple[str, str]]:
        """Return what is known, each with its name."""
        key = " ".join(filter(None, (self.algorithm, f"key {self.key_id}" if self.key_id else "")))
        passed_on = "yes: requestHeaderAllowlist names Authorization" if self.token_reaches_agent else "no"
        known = (
            ("decision", self.decision),
            ("caller", self.caller),
            ("credentials", _METHODS.get(self.method, self.method)),
            ("reason", self.reason),
            ("on behalf of", f"{self.user_id} (named by the caller, not proven)" if self.user_id else ""),
            ("client", self.client_id),
            ("scopes", " ".join(self.scopes)),
            ("token signed with", key),
            ("token expires", "" if self.expires_at is None else timestamp(self.expires_at)),
            ("token reaches the agent", passed_on if self.issuer else ""),
            ("agent calls AWS as", self.runs_as),
        )
        return [(name, value) for name, value in known if value]

    def table(self) -> pd.DataFrame:
        """Return the rules of the authorizer, one row each; empty when the call was signed."""
        return rows_frame(self._rows(), _COLUMNS)

    def sentence(self) -> str:
        """Return the decision in one line."""
        if self.state == "unknown":
            return f"Not known: {self.reason}"
        if self.decision == "deny":
            return f"Refused: {self.reason}"
        count = len(self.claims)
        rules = f"; {count} rule{'s' * (count != 1)} passed" if count else ""
        return f"Allowed: {self.caller}, by {_METHODS.get(self.method, self.method)}{rules}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {"state": self.state, **dict(self.facts()), "claims": self._rows()}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "claim": item.claim,
                "allowed": ", ".join(item.allowed),
                "token has": ", ".join(item.given),
                "passed": "yes" if item.passed else "no",
            }
            for item in self.claims
        ]

    def __repr__(self) -> str:
        return f"<Authorization of {self.title}: {self.sentence()}>"

    def _repr_html_(self) -> str:
        rows = [list(row.values()) for row in self._rows()]
        return card(
            f"Authorization of {self.title}",
            state=_DECISIONS.get(self.decision, ("wait", "not known")),
            labels=self.labels,
            facts=[fact for fact in self.facts() if fact[0] != "decision"],
            body=table(_COLUMNS, rows, caption="Rules of the runtime's authorizer") if rows else "",
        )


def read_authorization(context: Context, entry: AgentEntry, record: InvocationRecord) -> AuthorizationView:
    """Return how a call was authorized, from what the local AgentCore recorded; waits until its log lines are visible.

    Args:
        context: The workbench's resources.
        entry: The agent.
        record: The stored invocation.
    """
    about: dict[str, Any] = {"title": f"{entry.name}, invocation {record.id}", "labels": record.labels}
    if context.where != "local":
        return AuthorizationView(**about, state="unknown", reason=_ON_AWS)
    if record.request_id is None:
        return AuthorizationView(**about, state="unknown", reason="the call had no response, so it has no request id")
    configuration: Mapping[str, Any] = entry.raw_metadata.get("authorizerConfiguration") or {}
    is_recorded = "customJWTAuthorizer" in configuration or record.failure == "rejected"
    if decision := _find(context, entry, record, waits=is_recorded):
        return _view(decision, about)
    if is_recorded:
        return AuthorizationView(**about, state="unknown", reason="the local AgentCore has no record of the call")
    return AuthorizationView(
        **about,
        state="signed",
        decision="allow",
        method="sigv4",
        caller=f"arn:aws:iam::{entry.arn.account_id}:root",
        runs_as=str(entry.raw_metadata.get("roleArn") or ""),
    )


def _find(context: Context, entry: AgentEntry, record: InvocationRecord, *, waits: bool) -> Mapping[str, Any] | None:
    patience = context.environment.patience()
    # A line of a call that was made longer ago is visible already, or was never written.
    deadline = max(record.client_done_time or 0.0, record.client_invoke_time or 0.0) + patience.wait_s
    while (decision := _read(context, entry, record)) is None and waits and time.time() < deadline:
        time.sleep(patience.interval_s)
    return decision


def _read(context: Context, entry: AgentEntry, record: InvocationRecord) -> Mapping[str, Any] | None:
    group = f"/loom/authorization/{entry.runtime_id}-{record.qualifier}"
    sent = record.client_invoke_time
    start_ms = None if sent is None else int(sent * 1000) - _LEEWAY_MS
    try:
        events = filter_events(context.clients, group, region=entry.region, term=record.request_id, start_ms=start_ms)
    except ResourceNotFoundError:
        return None
    documents = (cast("Mapping[str, Any]", json.loads(event.message)) for event in events)
    return next((document for document in documents if document.get("requestId") == record.request_id), None)


def _view(decision: Mapping[str, Any], about: Mapping[str, Any]) -> AuthorizationView:
    expires: float | None = decision.get("expiresAt")
    claims: Sequence[Mapping[str, Any]] = decision.get("claims") or ()
    scopes: Sequence[str] = decision.get("scopes") or ()
    texts: dict[str, Any] = {
        name: str(decision.get(member) or "")
        for name, member in (
            ("decision", "decision"),
            ("method", "method"),
            ("caller", "caller"),
            ("reason", "reason"),
            ("user_id", "userId"),
            ("issuer", "issuer"),
            ("subject", "subject"),
            ("client_id", "clientId"),
            ("algorithm", "algorithm"),
            ("key_id", "keyId"),
            ("runs_as", "runsAs"),
        )
    }
    return AuthorizationView(
        **about,
        **texts,
        state="recorded",
        scopes=tuple(scopes),
        expires_at=None if expires is None else datetime.fromtimestamp(expires, UTC),
        claims=tuple(
            ClaimDecision(
                claim=str(item["claim"]),
                allowed=tuple(item["expected"]),
                given=tuple(item["given"]),
                passed=bool(item["passed"]),
            )
            for item in claims
        ),
        token_reaches_agent=bool(decision.get("tokenReachesAgent")),
    )
