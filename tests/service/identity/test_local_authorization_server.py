"""The local issuer as the authorization server of a credential provider: every flow without an identity provider."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode

import pytest
from browser_steps import begun, consented, opened
from identities import RETURN_URL, Identities

from loomlib import local

CLIENT, SECRET = "local-client", "the local secret"


@pytest.fixture
def provider(aws: Any, identities: Identities) -> str:
    name = identities.name("local")
    aws.control.create_oauth2_credential_provider(
        name=name,
        credentialProviderVendor="CustomOauth2",
        oauth2ProviderConfigInput={
            "customOauth2ProviderConfig": {
                "oauthDiscovery": {"discoveryUrl": local.issuer_address(aws.state)},
                "clientId": CLIENT,
                "clientSecret": SECRET,
                "onBehalfOfTokenExchangeConfig": {"grantType": "TOKEN_EXCHANGE"},
            }
        },
    )
    return name


def claims(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def requested(aws: Any, **form: str) -> tuple[int, dict[str, Any]]:
    address = local.issuer_address(aws.state).partition("/.well-known")[0] + "/token"
    try:
        with urllib.request.urlopen(address, urlencode(form).encode(), timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def test_an_agent_gets_a_token_of_its_own(identities: Identities, provider: str) -> None:
    token = identities.ask(identities.token(identities.workload()), provider, audiences=["orders"])["accessToken"]
    token_claims = claims(token)
    assert (token_claims["sub"], token_claims["client_id"], token_claims["scope"], token_claims["aud"]) == (
        CLIENT,
        CLIENT,
        "read write",
        "orders",
    )


def test_a_user_s_token_is_exchanged_and_names_the_agent(aws: Any, identities: Identities, provider: str) -> None:
    user = local.issue_token(aws.state, "alice")
    workload = aws.data.get_workload_access_token_for_jwt(workloadName=identities.workload(), userToken=user)
    token = workload["workloadAccessToken"]
    token_claims = claims(identities.ask(token, provider, "ON_BEHALF_OF_TOKEN_EXCHANGE")["accessToken"])
    assert (token_claims["sub"], token_claims["act"]) == ("alice", {"sub": CLIENT})


def test_a_user_signs_in_and_agrees(aws: Any, identities: Identities, provider: str) -> None:
    token = identities.token(identities.workload(), "alice")
    first = begun(identities, token, provider)
    _, address, _ = opened(first["authorizationUrl"])
    status, _, page = opened(address + "&mark=%3Cscript%3E")
    assert status == 200
    assert "simulated" in page
    assert "<script>" not in page
    assert consented(address + "&login_hint=alice")["session_id"] == first["sessionUri"]
    aws.data.complete_resource_token_auth(sessionUri=first["sessionUri"], userIdentifier={"userId": "alice"})
    token_claims = claims(begun(identities, token, provider)["accessToken"])
    assert (token_claims["sub"], token_claims["scope"]) == ("alice", "read write")


def test_a_stranger_gets_nothing(aws: Any, provider: str) -> None:
    right = {"client_id": CLIENT, "client_secret": SECRET}
    assert requested(aws, grant_type="client_credentials", **right)[0] == 200
    wrong = requested(aws, grant_type="client_credentials", client_id=CLIENT, client_secret="guessed")
    assert wrong == (401, {"error": "invalid_client"})
    assert requested(aws, grant_type="client_credentials") == (401, {"error": "invalid_client"})
    assert requested(aws, grant_type="authorization_code", code="guessed", **right) == (400, {"error": "invalid_grant"})
    assert requested(aws, grant_type="refresh_token", refresh_token="guessed", **right)[0] == 400
    exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    forged = "e30.eyJzdWIiOiJhbGljZSJ9.c2ln"
    assert requested(aws, grant_type=exchange, subject_token=forged, **right) == (400, {"error": "invalid_grant"})
    assert requested(aws, grant_type="password", **right) == (400, {"error": "unsupported_grant_type"})
    address = local.issuer_address(aws.state).partition("/.well-known")[0] + "/authorize?"
    elsewhere = urlencode({"client_id": CLIENT, "redirect_uri": RETURN_URL, "login_hint": "alice"})
    assert opened(address + elsewhere)[0] == 400


def test_an_agent_gets_no_token_of_the_owner_s_client(aws: Any, identities: Identities) -> None:
    name = identities.name("owner")
    config = {
        "oauthDiscovery": {"discoveryUrl": local.issuer_address(aws.state)},
        "clientId": local.DEFAULT_CLIENT,
        "clientSecret": SECRET,
    }
    aws.control.create_oauth2_credential_provider(
        name=name,
        credentialProviderVendor="CustomOauth2",
        oauth2ProviderConfigInput={"customOauth2ProviderConfig": config},
    )
    token = identities.token(identities.workload())
    with pytest.raises(aws.data.exceptions.ValidationException, match="invalid_client"):
        identities.ask(token, name)
