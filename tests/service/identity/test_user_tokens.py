"""Users' JWTs that GetWorkloadAccessTokenForJWT takes: signed by an issuer that is known here, and unexpired."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from identities import RETURN_URL, Identities, code_of
from token_issuer import TokenIssuer, forged_token, unsigned_token

from loomlib import local

Exchange = Callable[[str], str]


@pytest.fixture
def exchange(aws: Any, identities: Identities) -> Exchange:
    """Ask for a workload access token for a user's JWT."""
    workload = identities.workload()

    def ask(user_token: str) -> str:
        answer = aws.data.get_workload_access_token_for_jwt(workloadName=workload, userToken=user_token)
        return answer["workloadAccessToken"]

    return ask


@pytest.fixture
def outside() -> Iterator[TokenIssuer]:
    """An issuer that the service does not know unless a test configures it."""
    with contextlib.closing(TokenIssuer()) as issuer:
        yield issuer


def refusal(exchange: Exchange, token: str) -> tuple[str, str]:
    with pytest.raises(ClientError) as refused:
        exchange(token)
    return code_of(refused)


def test_a_token_with_another_signature_is_refused(aws: Any, exchange: Exchange) -> None:
    token = local.issue_token(aws.state, "alice")
    assert exchange(token)
    head, _, signature = token.split(".")
    other = local.issue_token(aws.state, "mallory").split(".")[1]
    code, message = refusal(exchange, f"{head}.{other}.{signature}")
    assert (code, "signature is not valid" in message) == ("UnauthorizedException", True)


def test_a_token_that_anybody_can_make_is_refused(aws: Any, exchange: Exchange) -> None:
    issuer = local.issuer_address(aws.state).partition("/.well-known")[0]
    claims = {"iss": issuer, "sub": "alice", "exp": time.time() + 600}
    forged = forged_token(claims, kid="a", secret=b"guessed")
    assert refusal(exchange, forged)[0] == "UnauthorizedException"
    # A token without a signature does not reach the service: AWS's model asks for three parts.
    assert refusal(exchange, unsigned_token(claims) + "e30")[0] == "UnauthorizedException"


def test_a_token_without_issuer_or_subject_is_no_user_s(exchange: Exchange, outside: TokenIssuer) -> None:
    for token in ("a.b.c", outside.token(sub=None), outside.token(iss=None), outside.token(sub=7)):
        code, message = refusal(exchange, token)
        assert (code, "iss and sub" in message) == ("ValidationException", True)


def test_an_expired_token_is_refused(
    aws: Any, exchange: Exchange, identities: Identities, outside: TokenIssuer
) -> None:
    identities.provider(oauthDiscovery={"discoveryUrl": outside.discovery_url})
    code, message = refusal(exchange, outside.token(exp=int(time.time()) - 1))
    assert (code, "expired" in message) == ("UnauthorizedException", True)


def test_an_issuer_is_known_once_it_is_configured(aws: Any, exchange: Exchange, outside: TokenIssuer) -> None:
    code, message = refusal(exchange, outside.token())
    assert code == "UnauthorizedException"
    assert "discoveryUrl" in message
    assert outside.requests == []  # a token does not make the service contact anybody
    authorizer = {"discoveryUrl": outside.discovery_url, "allowedClients": ["web"]}
    aws.deploy("of_outside", authorizerConfiguration={"customJWTAuthorizer": authorizer})
    assert exchange(outside.token())


def test_the_issuer_of_a_credential_provider_is_known(exchange: Exchange, identities: Identities) -> None:
    with contextlib.closing(TokenIssuer()) as issuer:
        identities.provider(oauthDiscovery={"discoveryUrl": issuer.discovery_url})
        assert exchange(issuer.token())
        with contextlib.closing(TokenIssuer()) as other:
            assert refusal(exchange, other.token(iss=issuer.name))[0] == "UnauthorizedException"


def test_a_token_of_the_local_cognito_is_taken_while_its_pool_exists(aws: Any, exchange: Exchange) -> None:
    cognito = aws.client("cognito-idp")
    pool_id = cognito.create_user_pool(PoolName="people")["UserPool"]["Id"]
    app_client = cognito.create_user_pool_client(
        UserPoolId=pool_id, ClientName="web", ExplicitAuthFlows=["ALLOW_USER_PASSWORD_AUTH"]
    )
    cognito.admin_create_user(UserPoolId=pool_id, Username="alice", MessageAction="SUPPRESS")
    cognito.admin_set_user_password(UserPoolId=pool_id, Username="alice", Password="Passw0rd!", Permanent=True)
    answer = cognito.initiate_auth(
        ClientId=app_client["UserPoolClient"]["ClientId"],
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": "alice", "PASSWORD": "Passw0rd!"},
    )
    token = answer["AuthenticationResult"]["AccessToken"]
    assert exchange(token)
    cognito.delete_user_pool(UserPoolId=pool_id)
    assert refusal(exchange, token)[0] == "UnauthorizedException"


def test_consent_is_confirmed_by_a_verified_token_only(aws: Any, identities: Identities, exchange: Exchange) -> None:
    token, user = exchange(local.issue_token(aws.state, "alice")), local.issue_token(aws.state, "alice")
    ask = {"resourceOauth2ReturnUrl": RETURN_URL}
    begun = identities.ask(token, identities.provider(), "USER_FEDERATION", **ask)
    head, body, signature = user.split(".")
    forged = f"{head}.{body}.{signature[:-8]}{'A' * 8}"
    with pytest.raises(aws.data.exceptions.UnauthorizedException, match="signature is not valid"):
        aws.data.complete_resource_token_auth(sessionUri=begun["sessionUri"], userIdentifier={"userToken": forged})
    with pytest.raises(aws.data.exceptions.ValidationException, match="not given consent yet"):
        aws.data.complete_resource_token_auth(sessionUri=begun["sessionUri"], userIdentifier={"userToken": user})
