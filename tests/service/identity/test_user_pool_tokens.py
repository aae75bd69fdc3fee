"""The token endpoint of a user pool's domain: for scripts, and for credential providers that name the pool."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from botocore.exceptions import ClientError
from identities import Identities

_numbers = itertools.count(1)


def claims_of(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class Pool:
    """A user pool with a domain, and a client that may have tokens for itself."""

    def __init__(self, aws: Any) -> None:
        self.aws, self.cognito, self.domain = aws, aws.client("cognito-idp"), f"shop-{next(_numbers)}"
        self.id = self.cognito.create_user_pool(PoolName=self.domain)["UserPool"]["Id"]
        self.cognito.create_user_pool_domain(UserPoolId=self.id, Domain=self.domain)
        scopes = [{"ScopeName": name, "ScopeDescription": name} for name in ("read", "write")]
        self.cognito.create_resource_server(UserPoolId=self.id, Identifier="shop", Name="Shop", Scopes=scopes)
        self.client_id, self.secret = self.client(AllowedOAuthScopes=["shop/read", "shop/write"])
        self.issuer = f"https://cognito-idp.{aws.state.region}.amazonaws.com/{self.id}"
        self.discovery_url = f"{self.issuer}/.well-known/openid-configuration"

    def client(self, **more: Any) -> tuple[str, str]:
        app_client = self.cognito.create_user_pool_client(
            UserPoolId=self.id,
            ClientName="machine",
            **{
                "GenerateSecret": True,
                "AllowedOAuthFlows": ["client_credentials"],
                "AllowedOAuthFlowsUserPoolClient": True,
                **more,
            },
        )["UserPoolClient"]
        return app_client["ClientId"], app_client.get("ClientSecret", "")

    def ask(self, *, auth: tuple[str, str] | None = None, domain: str = "", **form: str) -> httpx.Response:
        host = f"{domain or self.domain}.auth.{self.aws.state.region}.amazoncognito.com"
        return httpx.post(f"{self.aws.state.url}/oauth2/token", data=form, auth=auth, headers={"Host": host})

    def ask_for_itself(self, **more: str) -> httpx.Response:
        form = {"client_id": self.client_id, "client_secret": self.secret, **more}
        return self.ask(grant_type="client_credentials", **form)


@pytest.fixture
def pool(aws: Any) -> Iterator[Pool]:
    pool = Pool(aws)
    yield pool
    pool.cognito.delete_user_pool_domain(UserPoolId=pool.id, Domain=pool.domain)
    pool.cognito.delete_user_pool(UserPoolId=pool.id)


def test_a_client_gets_a_token_that_a_runtime_accepts(aws: Any, pool: Pool) -> None:
    answer = pool.ask_for_itself(scope="shop/read")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    document = answer.json()
    assert (document["token_type"], document["expires_in"]) == ("Bearer", 3_600)
    claims = claims_of(document["access_token"])
    assert (claims["iss"], claims["client_id"], claims["scope"]) == (pool.issuer, pool.client_id, "shop/read")
    assert claims["token_use"] == "access"
    authorizer = {
        "discoveryUrl": pool.discovery_url,
        "allowedClients": [pool.client_id],
        "allowedScopes": ["shop/read"],
    }
    runtime = aws.deploy(
        f"of_pool_{pool.id.rpartition('_')[2][:8]}",
        authorizerConfiguration={"customJWTAuthorizer": authorizer},
    )
    url = f"{aws.state.url}/runtimes/{quote(runtime['agentRuntimeArn'], safe='')}/invocations"
    statuses = [
        httpx.post(url, json={"prompt": "hi"}, headers={"Authorization": f"Bearer {token}"}, timeout=120).status_code
        for token in (document["access_token"], pool.ask_for_itself(scope="shop/write").json()["access_token"])
    ]
    assert statuses == [200, 401]


def test_basic_authentication_and_every_allowed_scope_are_the_defaults(pool: Pool) -> None:
    answer = pool.ask(auth=(pool.client_id, pool.secret), grant_type="client_credentials")
    claims = claims_of(answer.json()["access_token"])
    assert claims["scope"].split() == ["shop/read", "shop/write"]


def test_a_client_s_own_lifetime_of_tokens_holds(pool: Pool) -> None:
    client_id, secret = pool.client(
        AllowedOAuthScopes=["shop/read"], AccessTokenValidity=5, TokenValidityUnits={"AccessToken": "minutes"}
    )
    assert pool.ask_for_itself(client_id=client_id, client_secret=secret).json()["expires_in"] == 300


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({"client_secret": "wrong"}, "invalid_client"),
        ({"client_id": "nobody"}, "invalid_client"),
        ({"scope": "shop/delete"}, "invalid_scope"),
        ({"grant_type": "refresh_token", "refresh_token": "made-up"}, "invalid_grant"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"domain": "unknown"}, "invalid_request"),
    ],
)
def test_what_the_endpoint_refuses_has_oauth_s_error_code(pool: Pool, form: dict[str, str], code: str) -> None:
    defaults = {"grant_type": "client_credentials", "client_id": pool.client_id, "client_secret": pool.secret}
    answer = pool.ask(**{**defaults, **form})
    assert (answer.status_code, answer.json()) == (400, {"error": code})


def test_a_client_without_the_flow_is_refused(pool: Pool) -> None:
    client_id, secret = pool.client(AllowedOAuthFlows=["code"], AllowedOAuthScopes=["openid"])
    answer = pool.ask_for_itself(client_id=client_id, client_secret=secret)
    assert answer.json() == {"error": "unauthorized_client"}


def test_a_refresh_token_of_a_user_is_exchanged(pool: Pool) -> None:
    client_id, _ = pool.client(GenerateSecret=False, ExplicitAuthFlows=["ALLOW_USER_PASSWORD_AUTH"])
    pool.cognito.admin_create_user(UserPoolId=pool.id, Username="alice", MessageAction="SUPPRESS")
    pool.cognito.admin_set_user_password(UserPoolId=pool.id, Username="alice", Password="Passw0rd!", Permanent=True)
    signed_in = pool.cognito.initiate_auth(
        ClientId=client_id,
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": "alice", "PASSWORD": "Passw0rd!"},
    )["AuthenticationResult"]
    answer = pool.ask(grant_type="refresh_token", client_id=client_id, refresh_token=signed_in["RefreshToken"]).json()
    claims = claims_of(answer["access_token"])
    assert (claims["username"], claims["client_id"]) == ("alice", client_id)


def test_a_credential_provider_that_names_the_pool_gets_its_tokens_without_the_internet(
    aws: Any, pool: Pool, identities: Identities
) -> None:
    name = identities.name("cognito")
    aws.control.create_oauth2_credential_provider(
        name=name,
        credentialProviderVendor="CustomOauth2",
        oauth2ProviderConfigInput={
            "customOauth2ProviderConfig": {
                "oauthDiscovery": {"discoveryUrl": pool.discovery_url},
                "clientId": pool.client_id,
                "clientSecret": pool.secret,
            }
        },
    )
    token = identities.token(identities.workload())
    answer = identities.ask(token, name, scopes=["shop/read"])
    claims = claims_of(answer["accessToken"])
    assert (claims["iss"], claims["scope"]) == (pool.issuer, "shop/read")
    with pytest.raises(ClientError, match="invalid_scope"):
        identities.ask(token, name, scopes=["shop/delete"])
