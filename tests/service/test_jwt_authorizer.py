from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError
from joserfc import jwk
from token_issuer import TokenIssuer, forged_token, send_json, unsigned_token
from waiting import PATIENCE_S, wait_until
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from loomlib import local

METADATA = "/invocations/.well-known/oauth-protected-resource"


@pytest.fixture(scope="module")
def issuer() -> Iterator[TokenIssuer]:
    """The issuer of most tests, whose key stays the same."""
    with contextlib.closing(TokenIssuer()) as issuer:
        yield issuer


@pytest.fixture
def own_issuer() -> Iterator[TokenIssuer]:
    """An issuer that a test may change."""
    with contextlib.closing(TokenIssuer()) as issuer:
        yield issuer


def authorizer(issuer: TokenIssuer | str, **rules: Any) -> dict[str, Any]:
    url = issuer if isinstance(issuer, str) else issuer.discovery_url
    return {"customJWTAuthorizer": {"discoveryUrl": url, **(rules or {"allowedClients": ["web"]})}}


@pytest.fixture(scope="module")
def protected(aws: Any, issuer: TokenIssuer) -> dict[str, Any]:
    """A runtime that only tokens of the client `web` may call."""
    return aws.deploy("protected", authorizerConfiguration=authorizer(issuer))


class Caller:
    """Calls one runtime over plain HTTP, always in the same session."""

    def __init__(self, aws: Any, runtime: dict[str, Any]) -> None:
        self._port, self.arn = aws.state.port, runtime["agentRuntimeArn"]
        self.session_id = str(uuid.uuid4())

    def __call__(
        self, token: str | None, path: str = "/invocations", *, method: str = "POST", **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        header_fields = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": self.session_id, **headers}
        if token is not None:
            header_fields["Authorization"] = f"Bearer {token}"
        try:
            body = b'{"prompt": "hi"}' if method == "POST" else None
            connection.request(method, f"/runtimes/{quote(self.arn, safe='')}{path}", body, header_fields)
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, json.loads(answer.read()), fields
        finally:
            connection.close()

    def refusal(self, token: str | None) -> tuple[int, str]:
        """The status of a refused call, and its message."""
        status, document, _ = self(token)
        return status, document["error"]["message"] if status == 401 else document["message"]


@pytest.fixture
def call(aws: Any, protected: dict[str, Any]) -> Caller:
    return Caller(aws, protected)


def test_a_token_of_the_issuer_is_accepted_and_stays_with_the_service(call: Caller, issuer: TokenIssuer) -> None:
    status, document, fields = call(issuer.token())
    assert (status, document["echo"]) == (200, {"prompt": "hi"})
    assert fields["x-amzn-bedrock-agentcore-runtime-session-id"] == call.session_id
    assert "authorization" not in {name.lower() for name in document["headers"]}


def test_the_configuration_is_shown_as_it_was_given(protected: dict[str, Any], issuer: TokenIssuer) -> None:
    assert protected["authorizerConfiguration"] == authorizer(issuer)


def test_a_call_without_a_token_is_led_to_the_issuer(call: Caller, issuer: TokenIssuer, aws: Any) -> None:
    status, document, fields = call(None)
    assert (status, fields["x-amzn-errortype"]) == (401, "UnauthorizedException")
    assert document == {"jsonrpc": "2.0", "error": {"code": -32001, "message": "Missing Authentication Token"}}
    resource = f"{aws.state.url}/runtimes/{quote(call.arn, safe='')}/invocations"
    metadata = f"{resource}/.well-known/oauth-protected-resource?qualifier=DEFAULT"
    assert fields["www-authenticate"] == f'Bearer resource_metadata="{metadata}"'
    status, document, _ = call(None, METADATA + "?qualifier=DEFAULT", method="GET")
    assert (status, document["authorization_servers"]) == (200, [issuer.name])
    assert document["resource"] == f"{resource}?qualifier=DEFAULT"


def test_a_signed_call_is_refused_by_a_runtime_with_an_authorizer(aws: Any, protected: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match="Authorization method mismatch") as caught:
        aws.invoke(protected["agentRuntimeArn"])
    assert caught.value.response["Error"]["Code"] == "AccessDeniedException"
    with pytest.raises(ClientError, match="Authorization method mismatch"):
        aws.data.stop_runtime_session(agentRuntimeArn=protected["agentRuntimeArn"], runtimeSessionId=str(uuid.uuid4()))


def test_a_token_is_refused_by_a_runtime_without_an_authorizer(
    aws: Any, echo: dict[str, Any], issuer: TokenIssuer
) -> None:
    call = Caller(aws, echo)
    status, message = call.refusal(issuer.token())
    assert (status, message.partition(".")[0]) == (403, "Authorization method mismatch")
    status, document, fields = call(None)
    assert (status, document["message"]) == (403, "Missing Authentication Token")
    assert "www-authenticate" not in fields
    assert call(None, METADATA, method="GET")[0] == 403


def test_a_caller_without_credentials_does_not_learn_which_runtimes_exist(aws: Any, echo: dict[str, Any]) -> None:
    missing = Caller(aws, {"agentRuntimeArn": echo["agentRuntimeArn"][:-4] + "0000"})
    assert missing(None)[:2] == Caller(aws, echo)(None)[:2]


def test_a_token_opens_no_other_operation(aws: Any, protected: dict[str, Any], issuer: TokenIssuer) -> None:
    runtime_id = protected["agentRuntimeId"]
    for method, path in (
        ("GET", f"/runtimes/{runtime_id}/"),
        ("POST", "/runtimes/"),
        ("DELETE", f"/runtimes/{runtime_id}/"),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, headers={"Authorization": f"Bearer {issuer.token()}"})
            assert connection.getresponse().status == 403, path
    assert aws.settled(runtime_id)["status"] == "READY"


@pytest.mark.parametrize(
    ("token", "status", "message"),
    [
        ("", 403, "OAuth authorization failed: Failed to parse token"),
        ("not.a.token", 403, "OAuth authorization failed: Failed to parse token"),
        ("e30.e30", 403, "OAuth authorization failed: Failed to parse token"),
        ("W10.W10.AAAA", 403, "OAuth authorization failed: Failed to parse token"),
        ("e30." + "A" * 30_000 + ".AAAA", 403, "OAuth authorization failed: Failed to parse token"),
    ],
)
def test_what_is_no_token_is_refused(call: Caller, token: str, status: int, message: str) -> None:
    assert call.refusal(token) == (status, message)


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"exp": 1_700_000_000}, "Token has expired"),
        ({"exp": None}, "The token has no expiration time: the claim 'exp' is missing"),
        ({"exp": "soon"}, "Claim 'exp' is not a time"),
        ({"exp": True}, "Claim 'exp' is not a time"),
        ({"nbf": 32_503_680_000}, "The token is not valid yet"),
        ({"iss": "https://elsewhere.example"}, "Claim 'iss' value mismatch with configuration."),
        ({"iss": None}, "Claim 'iss' value mismatch with configuration."),
        ({"client_id": "other"}, "Claim 'client_id' value mismatch with configuration."),
        ({"client_id": None}, "Claim 'client_id' value mismatch with configuration."),
        ({"client_id": ["other", "web"]}, "Claim 'client_id' value mismatch with configuration."),
    ],
)
def test_a_token_with_other_claims_is_refused(
    call: Caller, issuer: TokenIssuer, claims: dict[str, Any], message: str
) -> None:
    assert call.refusal(issuer.token(**claims)) == (401, message)


def test_a_token_that_expires_within_a_minute_is_refused(call: Caller, issuer: TokenIssuer) -> None:
    refused = call.refusal(issuer.token(exp=int(time.time()) + 58))
    assert refused == (401, "Ineffectual token, will expire within the next minute")


def test_an_unsigned_token_is_refused(call: Caller, issuer: TokenIssuer) -> None:
    claims = {"iss": issuer.name, "client_id": "web", "exp": time.time() + 3600}
    assert call.refusal(unsigned_token(claims)) == (401, "The token's algorithm is not allowed")


def test_a_token_whose_secret_is_the_public_key_is_refused(aws: Any, own_issuer: TokenIssuer) -> None:
    """The attack of key confusion: HS256 with what the issuer publishes as the secret."""
    private: Any = jwk.RSAKey.generate_key(2048, auto_kid=False)
    own_issuer.rotate("rsa", key=private)
    runtime = aws.deploy("confused", authorizerConfiguration=authorizer(own_issuer))
    confused = Caller(aws, runtime)
    assert confused(own_issuer.token())[0] == 200
    claims = {"iss": own_issuer.name, "sub": "alice", "client_id": "web", "exp": time.time() + 3600}
    for secret in (private.as_pem(private=False), json.dumps(own_issuer.jwks()["keys"][0]).encode()):
        forged = forged_token(claims, kid="rsa", secret=secret)
        assert confused.refusal(forged) == (401, "The token's algorithm is not allowed")


def test_a_token_of_another_key_is_refused(call: Caller, issuer: TokenIssuer) -> None:
    with contextlib.closing(TokenIssuer()) as other:
        for kid, message in (("first", "signature is not valid"), ("second", "key is not one of its issuer's")):
            other.rotate(kid)
            status, reason = call.refusal(other.token(iss=issuer.name))
            assert (status, reason) == (401, f"The token's {message}")


def test_a_changed_token_is_refused(call: Caller, issuer: TokenIssuer) -> None:
    head, body, signature = issuer.token().split(".")
    other_body = issuer.token(sub="mallory").split(".")[1]
    assert call(f"{head}.{body}.{signature}")[0] == 200
    assert call.refusal(f"{head}.{other_body}.{signature}") == (401, "The token's signature is not valid")


def test_a_key_that_the_token_brings_along_is_not_used(call: Caller, issuer: TokenIssuer) -> None:
    with contextlib.closing(TokenIssuer()) as other:
        public = other.jwks()["keys"][0]
        forged = other.token(iss=issuer.name, header={"jwk": public, "kid": "first"})
        assert call.refusal(forged) == (401, "The token's signature is not valid")
        forged = other.token(iss=issuer.name, header={"jku": f"{other.name}/jwks", "kid": "first"})
        assert call.refusal(forged) == (401, "The token's signature is not valid")
        assert other.requests == []


def test_rotated_keys_are_read_when_a_token_names_one(aws: Any, own_issuer: TokenIssuer) -> None:
    call = Caller(aws, aws.deploy("rotating", authorizerConfiguration=authorizer(own_issuer)))
    former = own_issuer.token()
    assert call(former)[0] == 200
    own_issuer.rotate("second")
    current = own_issuer.token()
    wait_until(lambda: call(current)[0] == 200, what="the new key")
    assert call.refusal(former) == (401, "The token's key is not one of its issuer's")
    assert call(current)[0] == 200


def test_bad_tokens_do_not_make_the_service_ask_the_issuer_each_time(aws: Any, own_issuer: TokenIssuer) -> None:
    call = Caller(aws, aws.deploy("asked", authorizerConfiguration=authorizer(own_issuer)))
    assert call(own_issuer.token())[0] == 200
    start_s, before = time.monotonic(), len(own_issuer.requests)
    for number in range(20):
        assert call(own_issuer.token(header={"kid": f"unknown-{number}"}))[0] == 401
    readings = (len(own_issuer.requests) - before) / 2  # the metadata and the keys
    assert readings <= time.monotonic() - start_s + 1


@pytest.mark.parametrize(
    ("rules", "accepted", "refused"),
    [
        ({"allowedAudience": ["a", "b"]}, {"aud": "b"}, {"aud": "c"}),
        ({"allowedAudience": ["a", "b"]}, {"aud": ["x", "a"]}, {}),
        ({"allowedScopes": ["read", "write"]}, {"scope": "openid read"}, {"scope": "readonly"}),
        ({"allowedScopes": ["read"]}, {"scp": ["read"]}, {"scope": ""}),
        ({"allowedAudience": ["a"], "allowedClients": ["web"]}, {"aud": "a"}, {"aud": "a", "client_id": "other"}),
    ],
)
def test_each_kind_of_rule_must_hold(
    aws: Any, issuer: TokenIssuer, rules: dict[str, Any], accepted: dict[str, Any], refused: dict[str, Any]
) -> None:
    runtime = aws.deploy(f"ruled_{uuid.uuid4().hex[:8]}", authorizerConfiguration=authorizer(issuer, **rules))
    call = Caller(aws, runtime)
    assert call(issuer.token(**accepted))[0] == 200
    status, message = call.refusal(issuer.token(**refused))
    assert (status, message.endswith("value mismatch with configuration.")) == (401, True)


def rule(name: str, kind: str, operator: str, **value: Any) -> dict[str, Any]:
    return {
        "inboundTokenClaimName": name,
        "inboundTokenClaimValueType": kind,
        "authorizingClaimMatchValue": {"claimMatchOperator": operator, "claimMatchValue": value},
    }


TEAM = rule("team", "STRING", "EQUALS", matchValueString="red")
ROLES = rule("roles", "STRING_ARRAY", "CONTAINS", matchValueString="admin")
GROUPS = rule("cognito:groups", "STRING_ARRAY", "CONTAINS_ANY", matchValueStringList=["a", "b"])


def test_custom_claims_must_all_match(aws: Any, issuer: TokenIssuer) -> None:
    configuration = authorizer(issuer, customClaims=[TEAM, ROLES, GROUPS])
    call = Caller(aws, aws.deploy("custom_claims", authorizerConfiguration=configuration))
    good: dict[str, Any] = {"team": "red", "roles": ["user", "admin"], "cognito:groups": ["b"]}
    assert call(issuer.token(**good))[0] == 200
    wrong: dict[str, list[Any]] = {
        "team": ["blue", ["red"], None, 1],
        "roles": [["user"], "admin", ["administrator"], None],
        "cognito:groups": [[], ["c"], {"a": 1}],
    }
    for name, values in wrong.items():
        for value in values:
            assert call.refusal(issuer.token(**{**good, name: value})) == (
                401,
                f"Authorization denied for claim '{name}'.",
            )
    status, message = call.refusal(issuer.token())
    assert (status, message.count("Authorization denied")) == (401, 3)


@pytest.mark.parametrize(
    ("authorizer_document", "message"),
    [
        ({"discoveryUrl": "https://example.com/.well-known/openid-configuration"}, "at least one of allowedAudience"),
        (
            {"discoveryUrl": "http://example.com/.well-known/openid-configuration", "allowedClients": ["a"]},
            "must be https",
        ),
        (
            {"discoveryUrl": "https://10.0.0.7/.well-known/openid-configuration", "allowedClients": ["a"]},
            "not a public address",
        ),
        (
            {"discoveryUrl": "https://169.254.169.254/.well-known/openid-configuration", "allowedClients": ["a"]},
            "not a public address",
        ),
        (
            {"discoveryUrl": "https://u:p@example.com/.well-known/openid-configuration", "allowedClients": ["a"]},
            "must not contain a password",
        ),
        (
            {
                "discoveryUrl": "https://example.com/.well-known/openid-configuration",
                "customClaims": [rule("team", "STRING", "CONTAINS", matchValueString="red")],
            },
            "must be EQUALS for a STRING",
        ),
        (
            {
                "discoveryUrl": "https://example.com/.well-known/openid-configuration",
                "customClaims": [rule("roles", "STRING_ARRAY", "CONTAINS_ANY", matchValueString="red")],
            },
            "must have matchValueStringList",
        ),
        (
            {
                "discoveryUrl": "https://example.com/.well-known/openid-configuration",
                "allowedScopes": ["read"],
                "advertisedScopeMapping": {"write": "api/write"},
            },
            "names scopes that allowedScopes does not: write",
        ),
        (
            {
                "discoveryUrl": "https://example.com/.well-known/openid-configuration",
                "allowedClients": ["a"],
                "allowedWorkloadConfiguration": {"workloadIdentities": ["gateway"]},
            },
            "does not support allowedWorkloadConfiguration",
        ),
    ],
)
def test_an_authorizer_that_cannot_work_is_refused(aws: Any, authorizer_document: dict[str, Any], message: str) -> None:
    artifact = aws.upload({"agent.py": "print()"})
    with pytest.raises(ClientError, match=message) as caught:
        aws.create("refused", artifact, authorizerConfiguration={"customJWTAuthorizer": authorizer_document})
    assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_advertised_scopes_are_in_the_challenge_and_the_metadata(aws: Any, issuer: TokenIssuer) -> None:
    configuration = authorizer(issuer, allowedScopes=["read", "write"], advertisedScopeMapping={"read": "api/read"})
    call = Caller(aws, aws.deploy("advertised", authorizerConfiguration=configuration))
    assert call(None)[2]["www-authenticate"].endswith(', scope="api/read write"')
    assert call(None, METADATA, method="GET")[1]["scopes_supported"] == ["api/read", "write"]


def test_a_new_version_brings_its_own_authorizer(aws: Any, issuer: TokenIssuer) -> None:
    created = aws.deploy("switching", authorizerConfiguration=authorizer(issuer))
    call = Caller(aws, created)
    assert call(issuer.token())[0] == 200
    change = {
        "agentRuntimeId": created["agentRuntimeId"],
        "agentRuntimeArtifact": created["agentRuntimeArtifact"],
        "roleArn": created["roleArn"],
        "networkConfiguration": created["networkConfiguration"],
    }
    aws.control.update_agent_runtime(**change)
    assert "authorizerConfiguration" not in aws.settled(created["agentRuntimeId"])
    assert call.refusal(issuer.token())[0] == 403
    assert aws.invoke(created["agentRuntimeArn"])[0]["statusCode"] == 200
    aws.control.update_agent_runtime(**change, authorizerConfiguration=authorizer(issuer, allowedClients=["phone"]))
    aws.settled(created["agentRuntimeId"])
    assert call(issuer.token())[0] == 401
    assert call(issuer.token(client_id="phone"))[0] == 200


def test_a_session_is_stopped_with_a_token(call: Caller, issuer: TokenIssuer) -> None:
    assert call(issuer.token())[0] == 200
    assert call(None, "/stopruntimesession")[0] == 401
    assert call(issuer.token(client_id="other"), "/stopruntimesession")[0] == 401
    assert call(issuer.token(), "/stopruntimesession")[:2] == (200, {})
    assert call(issuer.token(), "/stopruntimesession")[0] == 404


def test_two_authorization_headers_are_refused(aws: Any, call: Caller, issuer: TokenIssuer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
    with contextlib.closing(connection):
        connection.putrequest("POST", f"/runtimes/{quote(call.arn, safe='')}/invocations")
        for token in (issuer.token(), issuer.token(sub="bob")):
            connection.putheader("Authorization", f"Bearer {token}")
        connection.putheader("Content-Length", "2")
        connection.endheaders(b"{}")
        assert connection.getresponse().status == 403


def test_a_bearer_call_cannot_say_who_the_user_is(call: Caller, issuer: TokenIssuer, aws: Any) -> None:
    headers = {"X-Amzn-Bedrock-AgentCore-Runtime-User-Id": "mallory"}
    status, document, _ = call(issuer.token(), **headers)
    assert status == 200
    assert "mallory" not in json.dumps(document)


def test_the_token_reaches_the_agent_only_if_the_allowlist_names_it(aws: Any, issuer: TokenIssuer) -> None:
    runtime = aws.deploy(
        "sees_token",
        authorizerConfiguration=authorizer(issuer),
        requestHeaderConfiguration={"requestHeaderAllowlist": ["Authorization"]},
    )
    token = issuer.token()
    status, document, _ = Caller(aws, runtime)(token)
    assert (status, document["headers"]["Authorization"]) == (200, f"Bearer {token}")


def test_an_issuer_that_redirects_is_refused(aws: Any, own_issuer: TokenIssuer) -> None:
    """A redirect could lead from a public address to one of the local network."""
    internal: list[str] = []

    def redirect(handler: BaseHTTPRequestHandler) -> bool:
        if handler.path == f"{own_issuer.path}/internal":
            internal.append(handler.path)
            return False
        handler.send_response(302)
        handler.send_header("Location", f"{own_issuer.name}/internal")
        handler.end_headers()
        return True

    own_issuer.answer = redirect
    call = Caller(aws, aws.deploy("redirected", authorizerConfiguration=authorizer(own_issuer)))
    status, message = call.refusal(own_issuer.token())
    assert status == 403
    assert "redirects of issuers are not followed" in message
    assert internal == []


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("https://192.168.1.1/jwks", "not a public address"),
        ("https://example.com/jwks", "only one of it and the issuer is on loopback"),
        ("file:///etc/passwd", "must be an http or https URL"),
    ],
)
def test_keys_elsewhere_are_not_read(aws: Any, own_issuer: TokenIssuer, address: str, message: str) -> None:
    own_issuer.jwks_uri = address
    name = f"elsewhere_{uuid.uuid4().hex[:8]}"
    call = Caller(aws, aws.deploy(name, authorizerConfiguration=authorizer(own_issuer)))
    status, reason = call.refusal(own_issuer.token())
    assert (status, message in reason) == (403, True), reason


def test_an_issuer_that_answers_too_much_is_refused(aws: Any, own_issuer: TokenIssuer) -> None:
    def much(handler: BaseHTTPRequestHandler) -> bool:
        with contextlib.suppress(OSError):
            send_json(handler, {"issuer": "x" * 2_000_000})
        return True

    own_issuer.answer = much
    call = Caller(aws, aws.deploy("much", authorizerConfiguration=authorizer(own_issuer)))
    status, message = call.refusal(own_issuer.token())
    assert (status, "more than 256,000 bytes" in message) == (403, True)


def test_a_slow_issuer_delays_only_calls_that_need_it(
    aws: Any, own_issuer: TokenIssuer, call: Caller, issuer: TokenIssuer
) -> None:
    released = threading.Event()

    def wait(_: BaseHTTPRequestHandler) -> bool:
        released.wait(60)
        return False

    slow = Caller(aws, aws.deploy("slow_issuer", authorizerConfiguration=authorizer(own_issuer)))
    own_issuer.answer = wait
    answers: list[tuple[int, str]] = []
    token = own_issuer.token()
    waiting = [threading.Thread(target=lambda: answers.append(slow.refusal(token))) for _ in range(3)]
    try:
        for thread in waiting:
            thread.start()
        wait_until(lambda: own_issuer.requests, what="the issuer to be asked")
        assert call(issuer.token())[0] == 200
        assert answers == []
        for thread in waiting:
            thread.join()
    finally:
        released.set()
    assert [status for status, _ in answers] == [403, 403, 403]
    assert {"did not answer within 5 s" in message for _, message in answers} == {True}
    assert len(own_issuer.requests) == 1
    own_issuer.answer = None
    wait_until(lambda: slow(token)[0] == 200, what="the issuer to be asked again")


def test_an_issuer_that_cannot_be_reached_is_named(aws: Any, own_issuer: TokenIssuer) -> None:
    call = Caller(aws, aws.deploy("unreachable", authorizerConfiguration=authorizer(own_issuer)))
    token = own_issuer.token()
    own_issuer.answer = lambda handler: bool(handler.send_error(500)) or True
    status, message = call.refusal(token)
    assert (status, "answered 500" in message) == (403, True)


def test_tokens_of_the_local_cognito_are_accepted(aws: Any) -> None:
    """The steps of AWS's own guide, with its address of the user pool."""
    cognito = aws.client("cognito-idp")
    pool_id = cognito.create_user_pool(PoolName="users")["UserPool"]["Id"]
    flows = ["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"]
    app_client = cognito.create_user_pool_client(UserPoolId=pool_id, ClientName="web", ExplicitAuthFlows=flows)
    client_id = app_client["UserPoolClient"]["ClientId"]
    cognito.admin_create_user(UserPoolId=pool_id, Username="alice", MessageAction="SUPPRESS")
    cognito.admin_set_user_password(UserPoolId=pool_id, Username="alice", Password="Passw0rd!", Permanent=True)
    tokens = cognito.initiate_auth(
        ClientId=client_id,
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": "alice", "PASSWORD": "Passw0rd!"},
    )["AuthenticationResult"]
    url = f"https://cognito-idp.{aws.state.region}.amazonaws.com/{pool_id}/.well-known/openid-configuration"
    runtime = aws.deploy("of_cognito", authorizerConfiguration=authorizer(url, allowedClients=[client_id]))
    call = Caller(aws, runtime)
    assert call(tokens["AccessToken"])[0] == 200
    assert call.refusal(tokens["IdToken"]) == (401, "Claim 'client_id' value mismatch with configuration.")
    cognito.delete_user_pool(UserPoolId=pool_id)
    elsewhere = aws.deploy(
        "of_no_pool", authorizerConfiguration=authorizer(url.replace(pool_id, "us-east-1_none"), allowedClients=["a"])
    )
    assert Caller(aws, elsewhere).refusal(tokens["AccessToken"])[0] == 403


def decisions(aws: Any, runtime: dict[str, Any], request_id: str) -> list[dict[str, Any]]:
    """The recorded decisions about a request."""
    group = f"/loom/authorization/{runtime['agentRuntimeId']}-DEFAULT"
    logs = aws.client("logs")
    try:
        events = logs.filter_log_events(logGroupName=group, filterPattern=f'"{request_id}"')["events"]
    except logs.exceptions.ResourceNotFoundException:
        return []
    return [json.loads(event["message"]) for event in events]


def test_each_decision_is_recorded_without_the_token(
    aws: Any, protected: dict[str, Any], call: Caller, issuer: TokenIssuer
) -> None:
    token, other = issuer.token(), issuer.token(client_id="other")
    request_ids = [call(credential)[2]["x-amzn-requestid"] for credential in (token, other, None)]
    allowed, denied, anonymous = (
        wait_until(lambda name=name: decisions(aws, protected, name), what="the decision")[0] for name in request_ids
    )
    assert (allowed["decision"], allowed["method"], allowed["subject"]) == ("allow", "jwt", "alice")
    assert allowed["claims"] == [{"claim": "client_id", "expected": ["web"], "given": ["web"], "passed": True}]
    assert (allowed["runsAs"], allowed["tokenReachesAgent"]) == ("arn:aws:iam::123456789012:role/loom", False)
    assert (denied["decision"], denied["status"]) == ("deny", 401)
    assert denied["claims"][0]["given"] == ["other"]
    assert (anonymous["decision"], anonymous["reason"]) == ("deny", "Missing Authentication Token")
    group = f"/loom/authorization/{protected['agentRuntimeId']}-DEFAULT"
    recorded = json.dumps(aws.client("logs").filter_log_events(logGroupName=group)["events"])
    for bearer_token in (token, other):
        assert not any(part in recorded for part in bearer_token.split("."))


def test_a_signed_call_for_a_user_is_recorded(aws: Any, echo: dict[str, Any]) -> None:
    answer, _ = aws.invoke(echo["agentRuntimeArn"], runtimeUserId="alice")
    request_id = answer["ResponseMetadata"]["RequestId"]
    decision = wait_until(lambda: decisions(aws, echo, request_id), what="the decision")[0]
    assert (decision["method"], decision["userId"]) == ("sigv4", "alice")
    assert decision["caller"] == "arn:aws:iam::123456789012:root"


SOCKET_AGENT = """
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.websocket
async def talk(websocket, context):
    await websocket.accept()
    await websocket.send_json({"headers": dict(websocket.headers), "offered": websocket.scope["subprotocols"]})
    await websocket.close()

if __name__ == "__main__":
    app.run()
"""


def test_a_websocket_is_opened_with_a_token_in_a_header_or_a_subprotocol(aws: Any, issuer: TokenIssuer) -> None:
    runtime = aws.deploy("sockets_with_tokens", SOCKET_AGENT, authorizerConfiguration=authorizer(issuer))
    address = f"ws://127.0.0.1:{aws.state.port}/runtimes/{quote(runtime['agentRuntimeArn'], safe='')}/ws"
    session = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": str(uuid.uuid4())}
    token = issuer.token()
    headers = {**session, "Authorization": f"Bearer {token}"}
    with connect(address, additional_headers=headers, open_timeout=PATIENCE_S) as socket:
        echo = json.loads(socket.recv())
    assert "authorization" not in echo["headers"]
    # A browser's WebSocket cannot send Authorization: AgentCore takes the token as a subprotocol.
    name = "base64UrlBearerAuthorization"
    offered: list[Any] = [f"{name}.{urlsafe_b64encode(token.encode()).rstrip(b'=').decode()}", name]
    with connect(address, additional_headers=session, subprotocols=offered, open_timeout=PATIENCE_S) as socket:
        echo = json.loads(socket.recv())
        assert socket.subprotocol == name
    assert name not in json.dumps(echo)
    for headers, status in (({}, 401), ({"Authorization": "Bearer x"}, 403), (_bearer(issuer, "other"), 401)):
        with pytest.raises(InvalidStatus) as refused:
            connect(address, additional_headers={**session, **headers}, open_timeout=PATIENCE_S)
        assert refused.value.response.status_code == status
        assert ("www-authenticate" in refused.value.response.headers) == (status == 401)


def _bearer(issuer: TokenIssuer, client_id: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {issuer.token(client_id=client_id)}"}


def test_the_local_issuer_keeps_its_keys_over_a_restart(start_service: Any) -> None:
    first = start_service()
    configuration = authorizer(local.issuer_address(first.state), allowedClients=[local.DEFAULT_CLIENT])
    call = Caller(first, first.deploy("outlives", authorizerConfiguration=configuration))
    token = local.issue_token(first.state, "alice")
    assert call(token)[0] == 200
    local.stop(first.state.home)
    second = start_service()
    assert second.state.port == first.state.port
    assert call(token)[0] == 200
    assert call(local.issue_token(second.state, "bob"))[0] == 200


def test_the_issuers_documents_are_public_and_nothing_else_is(aws: Any) -> None:
    for path, status in (
        ("/identity/issuer/.well-known/openid-configuration", 200),
        ("/identity/issuer/.well-known/oauth-authorization-server", 200),
        ("/identity/issuer/.well-known/jwks.json", 200),
        ("/identity/issuer/", 404),
        ("/identity/issuer-keys.json", 404),
        ("/identity/issuer/../issuer-keys.json", 404),
        ("/_loom/identity", 403),
        ("/_loom/identity/tokens", 403),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read().decode()
            assert (answer.status, path) == (status, path)
            assert '"d"' not in content  # the private member of a key


def test_a_session_cannot_ask_for_a_users_token(aws: Any) -> None:
    code = """
import json, os, urllib.request
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload, context):
    key = next(v for n, v in os.environ.items() if n == "OTEL_EXPORTER_OTLP_HEADERS")
    token = key.partition("Bearer")[2].replace("%20", "").strip().split(",")[0]
    request = urllib.request.Request(
        os.environ["AWS_ENDPOINT_URL"] + "/_loom/identity/tokens", b'{"user": "alice"}',
        {"Authorization": "Bearer " + token},
    )
    try:
        return urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as error:
        return {"status": error.code, "said": error.read().decode()}

app.run()
"""
    runtime = aws.deploy("greedy", code)
    answer = json.loads(aws.invoke(runtime["agentRuntimeArn"])[1])
    assert answer["status"] == 403
    assert "not authorized to perform: loom:POST/_loom/identity/tokens" in answer["said"]
