"""Workload access tokens and OAuth2 tokens: machine to machine, exchange, and what is refused."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import requests
from authorization_server import CLIENT_SECRET
from botocore.exceptions import ClientError
from identities import Identities, code_of
from waiting import wait_until

from loomlib import local


def test_a_token_of_the_machine_is_asked_for_once(identities: Identities) -> None:
    workload, provider = identities.workload(), identities.provider()
    token = identities.token(workload)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: identities.ask(token, provider), range(6)))
    assert len({answer["accessToken"] for answer in answers}) == 1
    assert identities.ask(identities.token(workload, "alice"), provider) == answers[0]
    (request,) = identities.issuer.requests
    assert request == {"grant_type": "client_credentials", "scope": "read write", "authentication": "basic"}


def test_another_workload_scope_parameter_or_demand_asks_again(identities: Identities) -> None:
    token, provider = identities.token(identities.workload()), identities.provider()
    answers = [
        identities.ask(token, provider),
        identities.ask(token, provider, scopes=["read"]),
        identities.ask(token, provider, audiences=["orders", "stock"], resources=["https://orders.example"]),
        identities.ask(token, provider, forceAuthentication=True),
        identities.ask(identities.token(identities.workload()), provider),
        identities.ask(token, provider, customParameters={"audience_of": "orders"}),
        identities.ask(token, provider, customParameters={"audience_of": "payroll"}),
    ]
    assert len({answer["accessToken"] for answer in answers}) == 7
    third = identities.issuer.requests[2]
    assert (third["audience"], third["resource"]) == ("orders stock", "https://orders.example")


def test_custom_parameters_replace_nothing(identities: Identities) -> None:
    custom = {"tenant": "blue", "grant_type": "password", "scope": "admin"}
    identities.ask(identities.token(identities.workload()), identities.provider(), customParameters=custom)
    (request,) = identities.issuer.requests
    assert (request["tenant"], request["grant_type"], request["scope"]) == ("blue", "client_credentials", "read write")


def test_a_token_that_is_about_to_end_is_renewed(identities: Identities) -> None:
    token, provider = identities.token(identities.workload()), identities.provider()
    identities.issuer.lifetime_s = 30
    assert identities.ask(token, provider) != identities.ask(token, provider)


def test_a_user_s_token_is_exchanged(aws: Any, identities: Identities) -> None:
    provider = identities.provider(onBehalfOfTokenExchangeConfig={"grantType": "TOKEN_EXCHANGE"})
    workload, user_token = identities.workload(), local.issue_token(aws.state, "alice")
    token = aws.data.get_workload_access_token_for_jwt(workloadName=workload, userToken=user_token)[
        "workloadAccessToken"
    ]
    assert user_token not in token
    answer = identities.ask(token, provider, "ON_BEHALF_OF_TOKEN_EXCHANGE", audiences=["orders"])
    assert answer["accessToken"].startswith("urn:ietf:params:oauth:grant-type:token-exchange")
    (request,) = identities.issuer.requests
    assert (request["subject_token"], request["audience"]) == (user_token, "orders")
    assert request["subject_token_type"] == "urn:ietf:params:oauth:token-type:jwt"
    other = local.issue_token(aws.state, "bob")
    other = aws.data.get_workload_access_token_for_jwt(workloadName=workload, userToken=other)["workloadAccessToken"]
    assert identities.ask(other, provider, "ON_BEHALF_OF_TOKEN_EXCHANGE", audiences=["orders"]) != answer


def test_an_exchange_names_the_agent_as_actor(aws: Any, identities: Identities) -> None:
    exchange = {"actorTokenContent": "M2M", "actorTokenScopes": ["act"]}
    config = {"grantType": "TOKEN_EXCHANGE", "tokenExchangeGrantTypeConfig": exchange}
    provider = identities.provider(onBehalfOfTokenExchangeConfig=config)
    user = local.issue_token(aws.state, "alice")
    token = aws.data.get_workload_access_token_for_jwt(workloadName=identities.workload(), userToken=user)
    identities.ask(token["workloadAccessToken"], provider, "ON_BEHALF_OF_TOKEN_EXCHANGE")
    first, second = identities.issuer.requests
    assert (first["grant_type"], first["scope"]) == ("client_credentials", "act")
    assert second["actor_token"].startswith("client_credentials-")


def test_a_user_s_token_is_an_assertion_for_a_jwt_grant(aws: Any, identities: Identities) -> None:
    config = {
        "grantType": "JWT_AUTHORIZATION_GRANT",
        "onBehalfOfAuthenticationConfig": {"clientAuthenticationMethod": "NO_CLIENT"},
    }
    provider, user_token = (
        identities.provider(onBehalfOfTokenExchangeConfig=config),
        local.issue_token(aws.state, "alice"),
    )
    token = aws.data.get_workload_access_token_for_jwt(workloadName=identities.workload(), userToken=user_token)
    identities.ask(token["workloadAccessToken"], provider, "ON_BEHALF_OF_TOKEN_EXCHANGE")
    (request,) = identities.issuer.requests
    assert (request["assertion"], request["authentication"]) == (user_token, "none")


def test_a_runtime_s_own_identity_gives_its_token_to_nobody(aws: Any, echo: dict[str, Any]) -> None:
    name = echo["agentRuntimeId"]
    description = aws.control.get_workload_identity(name=name)
    assert description["workloadIdentityArn"] == echo["workloadIdentityDetails"]["workloadIdentityArn"]
    with pytest.raises(ClientError) as refused:
        aws.data.get_workload_access_token_for_user_id(workloadName=name, userId="alice")
    assert code_of(refused) == (
        "ValidationException",
        "WorkloadIdentity is linked to a service and cannot retrieve an access token by the caller",
    )
    with pytest.raises(aws.control.exceptions.ValidationException, match="linked to a service"):
        aws.control.delete_workload_identity(name=name)


def test_a_workload_identity_ends_with_its_runtime(aws: Any) -> None:
    runtime_id = aws.deploy("short_lived")["agentRuntimeId"]
    assert aws.control.get_workload_identity(name=runtime_id)["name"] == runtime_id
    aws.control.delete_agent_runtime(agentRuntimeId=runtime_id)
    with pytest.raises(aws.control.exceptions.ResourceNotFoundException):
        aws.control.get_workload_identity(name=runtime_id)


def test_what_is_no_token_of_this_service_is_refused(aws: Any, identities: Identities) -> None:
    provider = identities.provider()
    for token in (
        "nonsense",
        identities.token(identities.workload())[:-8] + "AAAAAAAA",
        local.issue_token(aws.state, "alice"),
    ):
        with pytest.raises(aws.data.exceptions.UnauthorizedException):
            identities.ask(token, provider)
    with pytest.raises(aws.data.exceptions.ResourceNotFoundException):
        identities.ask(identities.token(identities.workload()), "missing")
    with pytest.raises(aws.data.exceptions.ResourceNotFoundException):
        identities.token("missing-workload")


def test_a_token_of_a_deleted_workload_is_worth_nothing(aws: Any, identities: Identities) -> None:
    workload, provider = identities.workload(), identities.provider()
    token = identities.token(workload)
    aws.control.delete_workload_identity(name=workload)
    with pytest.raises(aws.data.exceptions.ResourceNotFoundException):
        identities.ask(token, provider)


def test_flows_for_a_user_need_a_user(aws: Any, identities: Identities) -> None:
    provider = identities.provider(onBehalfOfTokenExchangeConfig={"grantType": "TOKEN_EXCHANGE"})
    token = identities.token(identities.workload())
    for flow in ("USER_FEDERATION", "ON_BEHALF_OF_TOKEN_EXCHANGE"):
        with pytest.raises(aws.data.exceptions.ValidationException, match="for a user"):
            identities.ask(token, provider, flow)
    with pytest.raises(aws.data.exceptions.ValidationException, match="created for a JWT"):
        identities.ask(identities.token(identities.workload(), "alice"), provider, "ON_BEHALF_OF_TOKEN_EXCHANGE")


def test_a_server_s_refusal_says_its_code_and_no_secret(aws: Any, identities: Identities) -> None:
    identities.issuer.refusal = "invalid_scope"
    with pytest.raises(ClientError) as refused:
        identities.ask(identities.token(identities.workload()), identities.provider())
    code, message = code_of(refused)
    assert code == "ValidationException"
    assert "invalid_scope" in message
    assert CLIENT_SECRET not in message


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ((302, {"location": "http://127.0.0.1:9/"}, b""), "redirects of issuers are not followed"),
        ((200, {"content-type": "application/json"}, b"x" * 300_000), "returned more than"),
        ((200, {"content-type": "text/html"}, b"<html>"), "did not return JSON"),
        ((200, {"content-type": "application/json"}, b'{"token_type": "Bearer"}'), "without an access_token"),
    ],
)
def test_a_server_that_answers_something_else_is_refused(
    aws: Any, identities: Identities, raw: tuple[int, dict[str, str], bytes], fault: str
) -> None:
    identities.issuer.raw = raw
    with pytest.raises(aws.data.exceptions.ValidationException, match=fault):
        identities.ask(identities.token(identities.workload()), identities.provider())


def test_a_redirect_reaches_nobody(identities: Identities) -> None:
    paths: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        thread = threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            address = f"http://127.0.0.1:{other.server_port}/token"
            identities.issuer.raw = (307, {"location": address}, b"")
            with pytest.raises(ClientError, match="redirects of issuers are not followed"):
                identities.ask(identities.token(identities.workload()), identities.provider())
        finally:
            other.shutdown()
            thread.join()
    assert paths == []


@pytest.mark.parametrize("url", ["http://tokens.example/token", "http://169.254.169.254/token", "file:///etc/passwd"])
def test_plain_http_is_for_loopback_only(aws: Any, identities: Identities, url: str) -> None:
    metadata = {"issuer": url, "authorizationEndpoint": url, "tokenEndpoint": url}
    provider = identities.provider(oauthDiscovery={"authorizationServerMetadata": metadata})
    with pytest.raises(aws.data.exceptions.ValidationException):
        identities.ask(identities.token(identities.workload()), provider)


def test_a_gateway_without_an_authorizer_exchanges_no_token_of_its_callers(aws: Any, identities: Identities) -> None:
    provider = identities.provider(onBehalfOfTokenExchangeConfig={"grantType": "TOKEN_EXCHANGE"})
    arn = aws.control.get_oauth2_credential_provider(name=provider)["credentialProviderArn"]
    gateway = aws.control.create_gateway(
        name=identities.name("open"), roleArn="arn:aws:iam::123456789012:role/loom", authorizerType="NONE"
    )
    document = {
        "openapi": "3.0.1",
        "info": {"title": "Discovery", "version": "1"},
        "servers": [{"url": identities.issuer.url}],
        "paths": {"/.well-known/openid-configuration": {"get": {"operationId": "discover"}}},
    }
    oauth = {"providerArn": arn, "scopes": [], "grantType": "TOKEN_EXCHANGE"}
    target = aws.control.create_gateway_target(
        gatewayIdentifier=gateway["gatewayId"],
        name="issuer",
        targetConfiguration={"mcp": {"openApiSchema": {"inlinePayload": json.dumps(document)}}},
        credentialProviderConfigurations=[
            {"credentialProviderType": "OAUTH", "credentialProvider": {"oauthCredentialProvider": oauth}}
        ],
    )
    target_ids = {"gatewayIdentifier": gateway["gatewayId"], "targetId": target["targetId"]}
    wait_until(lambda: aws.control.get_gateway_target(**target_ids)["status"] == "READY", what="the target")
    forged = local.issue_token(aws.state, "alice").rpartition(".")[0] + ".forged"
    answer = requests.post(
        gateway["gatewayUrl"],
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "issuer___discover"}},
        headers={"Authorization": f"Bearer {forged}"},
        timeout=60,
    )
    assert answer.json()["result"]["isError"]
    assert identities.issuer.requests == []
