"""Sessions of callers of several tenants: the verified token says whose a session is, and nothing else does."""

from __future__ import annotations

import contextlib
import http.client
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_agents import PLAIN_APP
from token_issuer import TokenIssuer
from waiting import wait_until

from loomlib.local.contract import CallIdentity, RuntimeVersion
from loomlib.local.guard import Caller
from loomlib.local.identity.inbound import TENANT_CLAIMS, SessionTenants
from loomlib.local.wire import RefusedError

AGENT = (
    PLAIN_APP
    + """
app = PlainApp()
seen = []

@app.entrypoint
def answer(payload):
    seen.append(payload["text"])
    return {"seen": seen}

app.run()
"""
)


@pytest.fixture(scope="module")
def issuer() -> Iterator[TokenIssuer]:
    with contextlib.closing(TokenIssuer()) as issuer:
        yield issuer


@pytest.fixture(scope="module")
def remembering(aws: Any, issuer: TokenIssuer) -> dict[str, Any]:
    """A runtime of which each session remembers what it was sent, and which tenants share."""
    rules = {"customJWTAuthorizer": {"discoveryUrl": issuer.discovery_url, "allowedClients": ["web"]}}
    return aws.deploy("shared", AGENT, authorizerConfiguration=rules)


def call(
    aws: Any, runtime: dict[str, Any], token: str, session_id: str, text: str, path: str = "/invocations", **more: str
) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
    fields = {
        "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": session_id,
        "Authorization": f"Bearer {token}",
        **more,
    }
    try:
        body = json.dumps({"text": text, "tenant": "a", "tenant_id": "a"}) if path == "/invocations" else "{}"
        connection.request("POST", f"/runtimes/{quote(runtime['agentRuntimeArn'], safe='')}{path}", body, fields)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_session_is_entered_by_its_own_tenant_only(
    aws: Any, remembering: dict[str, Any], issuer: TokenIssuer
) -> None:
    session = str(uuid.uuid4())
    mine, others = issuer.token(tenant_id="a", sub="ann"), issuer.token(tenant_id="b", sub="bob")
    assert call(aws, remembering, mine, session, "my secret") == (200, {"seen": ["my secret"]})
    refusal = (403, {"__type": "AccessDeniedException", "message": "The session belongs to another tenant"})
    assert call(aws, remembering, others, session, "what did ann say?") == refusal
    identity_headers = {"X-Amzn-Bedrock-AgentCore-Runtime-User-Id": "ann", "X-Tenant": "a"}
    assert call(aws, remembering, others, session, "as ann", **identity_headers) == refusal
    assert call(aws, remembering, issuer.token(), session, "without a tenant") == refusal
    assert call(aws, remembering, others, session, "", "/stopruntimesession") == refusal
    colleague = issuer.token(tenant_id="a", sub="carl")
    assert call(aws, remembering, colleague, session, "hello") == (200, {"seen": ["my secret", "hello"]})


def test_the_decision_names_the_tenant(aws: Any, remembering: dict[str, Any], issuer: TokenIssuer) -> None:
    session = str(uuid.uuid4())
    assert call(aws, remembering, issuer.token(**{"custom:tenant": "c"}), session, "hi")[0] == 200
    group = f"/loom/authorization/{remembering['agentRuntimeId']}-DEFAULT"
    logs = aws.client("logs")

    def tenants() -> list[str]:
        with contextlib.suppress(logs.exceptions.ResourceNotFoundException):
            events = logs.filter_log_events(logGroupName=group)["events"]
            decisions = [json.loads(event["message"]) for event in events]
            return [row["tenant"] for row in decisions if row["sessionId"] == session]
        return []

    assert wait_until(tenants, what="the decision") == ["c"]


def version(name: str) -> RuntimeVersion:
    arn = f"arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/{name}"
    fields = {name: None for name in RuntimeVersion.__dataclass_fields__} | {"arn": arn, "runtime_id": name}
    return RuntimeVersion(**fields)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(["", "a", "b"]), st.booleans()), max_size=12))
def test_the_first_tenant_of_a_session_keeps_it_over_restarts(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, bool]]
) -> None:
    home: Path = tmp_path_factory.mktemp("tenants")
    sessions, expected = SessionTenants(home), dict[str, str]()
    for session, tenant, restarts in steps:
        if restarts:
            sessions = SessionTenants(home)
        identity = CallIdentity(kind="jwt", caller="", tenant=tenant)
        owner = expected.setdefault(session, tenant) or tenant
        expected[session] = owner
        caller = Caller(service="bedrock-agentcore", key=None)
        if owner == tenant:
            assert sessions.enter(caller, version("r"), session, identity) == tenant
        else:
            with pytest.raises(RefusedError, match="another tenant"):
                sessions.enter(caller, version("r"), session, identity)


def test_the_claims_of_a_tenant_are_those_of_the_documentation() -> None:
    assert TENANT_CLAIMS == ("tenant_id", "custom:tenant", "tenant")


def test_an_incomplete_last_line_does_not_cost_the_next_session_its_tenant(tmp_path: Path) -> None:
    (tmp_path / "session-tenants.jsonl").write_text('{"session": "abc", "ten')
    caller = Caller(service="bedrock-agentcore", key=None)
    acme, evil = (CallIdentity(kind="jwt", caller="", tenant=tenant) for tenant in ("acme", "evil"))
    assert SessionTenants(tmp_path).enter(caller, version("r"), "s", acme) == "acme"
    with pytest.raises(RefusedError, match="another tenant"):
        SessionTenants(tmp_path).enter(caller, version("r"), "s", evil)
