"""How one call was authorized: the caller, its credentials, the deciding claims, and the identity of the agent."""

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
from ..wall_clock import OF_THIS_PROCESS
from .context import Context
from .frames import rows_frame

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup

_LEEWAY_MS: Final = 60_000
_COLUMNS: Final = ("claim", "allowed", "token has", "passed")
_OUTBOUND: Final = ("time", "operation", "provider", "details", "error")
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
class OutboundCredential:
    """Credentials that the agent fetched during the call, for its own outgoing call.

    Attributes:
        at: When they were fetched.
        operation: The operation, such as `GetResourceOauth2Token`.
        provider: The credential provider; empty for a workload access token.
        details: The flow, the scopes, the workload identity or the user that it named.
        error: The error code; empty if the credentials were obtained.
    """

    at: datetime
    operation: str
    provider: str = ""
    details: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationView:
    """The authorization of one call; no part of a token is in it.

    Attributes:
        title: The agent and the invocation.
        labels: Provenance labels.
        state: "recorded" by the local AgentCore; "signed": a call signed with the account's credentials, which leaves
            no record because there is nothing to decide; "unknown": there is no record, with the reason in `reason`.
        decision: "allow" or "deny"; empty when unknown.
        method: The credentials that the runtime requires: "jwt" or "sigv4".
        caller: The ARN that signed, or the issuer and the subject of the token.
        reason: Why the call was refused, or why nothing is known.
        user_id: The user that a signed call named, unverified.
        issuer: The token's issuer.
        subject: Its subject.
        client_id: Its client.
        scopes: Its scopes.
        expires_at: When it expires.
        algorithm: How it is signed.
        key_id: The issuer's key that signed it.
        claims: The rules that decided.
        runs_as: The role with which the agent calls AWS.
        token_reaches_agent: Whether the runtime's allowlist passes the token on to the agent.
        outbound: Credentials that the session fetched during the call, including those of concurrent calls.
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
    outbound: tuple[OutboundCredential, ...] = ()

    def facts(self) -> list[tuple[str, str]]:
        """Return the known facts as pairs of name and value."""
        key = " ".join(filter(None, (self.algorithm, f"key {self.key_id}" if self.key_id else "")))
        passed_on = "yes: requestHeaderAllowlist names Authorization" if self.token_reaches_agent else "no"
        facts = (
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
            ("agent fetched", ", ".join(dict.fromkeys(use.provider or use.operation for use in self.outbound))),
        )
        return [(name, value) for name, value in facts if value]

    def table(self) -> pd.DataFrame:
        """Return the rules of the authorizer, one row each; empty when the call was signed."""
        return rows_frame(self._rows(), _COLUMNS)

    def outbound_table(self) -> pd.DataFrame:
        """Return the credentials that the agent fetched, one row each."""
        return rows_frame(self._outbound_rows(), _OUTBOUND)

    def sentence(self) -> str:
        """Return the decision in one line."""
        if self.state == "unknown":
            return f"Unknown: {self.reason}"
        if self.decision == "deny":
            return f"Refused: {self.reason}"
        count = len(self.claims)
        rules = f"; {count} rule{'s' * (count != 1)} passed" if count else ""
        return f"Allowed: {self.caller}, by {_METHODS.get(self.method, self.method)}{rules}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        rows = {"claims": self._rows(), "outbound": self._outbound_rows()}
        return {"state": self.state, **dict(self.facts()), **rows}

    def _outbound_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "time": use.at,
                "operation": use.operation,
                "provider": use.provider,
                "details": use.details,
                "error": use.error,
            }
            for use in self.outbound
        ]

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
        body: Markup | str = ""
        for columns, rows, caption in (
            (_COLUMNS, self._rows(), "Rules of the runtime's authorizer"),
            (_OUTBOUND, self._outbound_rows(), "Credentials that the agent fetched"),
        ):
            if rows:
                body += table(columns, [list(row.values()) for row in rows], caption=caption)
        return card(
            f"Authorization of {self.title}",
            state=_DECISIONS.get(self.decision, ("wait", "unknown")),
            labels=self.labels,
            facts=[fact for fact in self.facts() if fact[0] != "decision"],
            body=body,
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
    is_recorded = entry.has_authorizer or record.failure == "rejected"
    decision = _find(context, entry, record, waits=is_recorded)
    about["outbound"] = _outbound(context, entry, record)
    if decision is not None:
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
    span_polling = context.environment.span_polling()
    # The log line of an older call is already visible, or was never written.
    done_s = max(record.client_done_time or 0.0, record.client_invoke_time or 0.0)
    while (decision := _read(context, entry, record)) is None and waits:
        if not 0 <= OF_THIS_PROCESS.age_s(done_s) < span_polling.wait_s:
            break
        time.sleep(span_polling.interval_s)
    return decision


def _read(context: Context, entry: AgentEntry, record: InvocationRecord) -> Mapping[str, Any] | None:
    sent_s = record.client_invoke_time
    start_ms = None if sent_s is None else int(sent_s * 1000) - _LEEWAY_MS
    lines = _lines(context, entry, record, term=str(record.request_id), start_ms=start_ms)
    return next((line for _, line in lines if line.get("requestId") == record.request_id), None)


def _outbound(context: Context, entry: AgentEntry, record: InvocationRecord) -> tuple[OutboundCredential, ...]:
    """Return the credentials that the session fetched between sending the request and the end of its answer."""
    sent_s, done_s = record.client_invoke_time, record.client_done_time
    if sent_s is None or done_s is None:
        return ()
    lines = _lines(
        context, entry, record, term=record.session_id, start_ms=int(sent_s * 1000), end_ms=int(done_s * 1000) + 1
    )
    return tuple(
        OutboundCredential(
            at=datetime.fromtimestamp(at_ms / 1000, UTC),
            operation=str(line.get("operation") or ""),
            provider=str(line.get("resourceCredentialProviderName") or ""),
            details=_details(line),
            error=str(line.get("error") or ""),
        )
        for at_ms, line in lines
        if "decision" not in line and line.get("sessionId") == record.session_id
    )


def _details(line: Mapping[str, Any]) -> str:
    scopes: Sequence[str] = line.get("scopes") or ()
    labels = (("oauth2Flow", "flow"), ("workloadName", "workload identity"), ("userId", "user"))
    parts = [f"{name} {line[member]}" for member, name in labels if line.get(member)]
    return ", ".join([*parts, *([f"scopes {' '.join(scopes)}"] if scopes else [])])


def _lines(
    context: Context,
    entry: AgentEntry,
    record: InvocationRecord,
    *,
    term: str,
    start_ms: int | None = None,
    end_ms: int | None = None,
) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the lines about an endpoint's calls that contain a term, with their times in Unix milliseconds."""
    group = f"/loom/authorization/{entry.runtime_id}-{record.qualifier}"
    try:
        events = filter_events(context.clients, group, region=entry.region, term=term, start_ms=start_ms, end_ms=end_ms)
    except ResourceNotFoundError:
        return []
    return [(event.timestamp_ms, cast("Mapping[str, Any]", json.loads(event.message))) for event in events]


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
