"""A user's consent: the way of the browser, the binding to the user, and the SDK's polling."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browser_steps import begun, consented, opened
from identities import RETURN_URL, Identities

SCRIPT = Path(__file__).parent / "scripts/sdk_consent.py"
FLOW = "USER_FEDERATION"


def test_a_user_gives_consent_once(aws: Any, identities: Identities) -> None:
    workload, provider = identities.workload(), identities.provider()
    token = identities.token(workload, "alice")
    first = begun(identities, token, provider, customState="mine", customParameters={"prompt": "login"})
    assert first["sessionStatus"] == "IN_PROGRESS"
    assert first["authorizationUrl"].startswith(f"{aws.state.url}/identities/oauth2/authorize?request_uri=urn")
    back = consented(first["authorizationUrl"])
    assert back == {"app": "1", "session_id": first["sessionUri"], "state": "mine"}
    polled = begun(identities, token, provider, sessionUri=first["sessionUri"])
    assert "accessToken" not in polled
    aws.data.complete_resource_token_auth(sessionUri=first["sessionUri"], userIdentifier={"userId": "alice"})
    granted = begun(identities, token, provider, sessionUri=first["sessionUri"])
    assert granted["accessToken"].startswith("authorization_code-")
    assert identities.ask(identities.token(workload, "alice"), provider, FLOW) == granted
    assert "sessionUri" in begun(identities, identities.token(workload, "bob"), provider)
    assert "sessionUri" in begun(identities, token, provider, forceAuthentication=True)
    assert identities.issuer.grants == ["authorization_code"]


def test_the_authorization_server_gets_what_was_asked_for(identities: Identities) -> None:
    provider = identities.provider()
    token = identities.token(identities.workload(), "alice")
    custom = {"prompt": "login", "client_id": "another"}
    first = begun(identities, token, provider, customParameters=custom)
    status, address, _ = opened(first["authorizationUrl"])
    assert status == 302
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert (query["response_type"], query["scope"], query["prompt"]) == ("code", "read write", "login")
    assert (query["client_id"], query["code_challenge_method"]) == ("loom-client", "S256")
    assert query["redirect_uri"].startswith(identities.aws.state.url)


def test_another_user_cannot_complete_it(aws: Any, identities: Identities) -> None:
    token, provider = identities.token(identities.workload(), "alice"), identities.provider()
    first = begun(identities, token, provider)
    consented(first["authorizationUrl"])
    with pytest.raises(aws.data.exceptions.AccessDeniedException):
        aws.data.complete_resource_token_auth(sessionUri=first["sessionUri"], userIdentifier={"userId": "bob"})
    bob = identities.token(identities.workload(), "bob")
    with pytest.raises(aws.data.exceptions.ValidationException, match="not a session of this user"):
        begun(identities, bob, provider, sessionUri=first["sessionUri"])
    aws.data.complete_resource_token_auth(sessionUri=first["sessionUri"], userIdentifier={"userId": "alice"})
    assert "accessToken" in begun(identities, token, provider)


def test_a_session_is_completed_after_the_consent_and_once(aws: Any, identities: Identities) -> None:
    token, provider = identities.token(identities.workload(), "alice"), identities.provider()
    first = begun(identities, token, provider)
    complete = {"sessionUri": first["sessionUri"], "userIdentifier": {"userId": "alice"}}
    with pytest.raises(aws.data.exceptions.ValidationException, match="not given consent yet"):
        aws.data.complete_resource_token_auth(**complete)
    consented(first["authorizationUrl"])
    aws.data.complete_resource_token_auth(**complete)
    with pytest.raises(aws.data.exceptions.ResourceNotFoundException):
        aws.data.complete_resource_token_auth(**complete)


def test_a_refused_consent_fails_the_session(aws: Any, identities: Identities) -> None:
    token, provider = identities.token(identities.workload(), "alice"), identities.provider()
    first = begun(identities, token, provider)
    _, address, _ = opened(first["authorizationUrl"])
    state = parse_qs(urlsplit(address).query)["state"][0]
    callback = aws.control.get_oauth2_credential_provider(name=provider)["callbackUrl"]
    status, back, _ = opened(f"{callback}?error=access_denied&state={state}")
    assert status == 302
    assert parse_qs(urlsplit(back).query)["error"] == ["access_denied"]
    polled = begun(identities, token, provider, sessionUri=first["sessionUri"])
    assert polled["sessionStatus"] == "FAILED"
    with pytest.raises(aws.data.exceptions.ValidationException, match="access_denied"):
        aws.data.complete_resource_token_auth(sessionUri=first["sessionUri"], userIdentifier={"userId": "alice"})


def test_a_user_goes_back_to_registered_addresses_only(aws: Any, identities: Identities) -> None:
    token, provider = identities.token(identities.workload(), "alice"), identities.provider()
    with pytest.raises(aws.data.exceptions.ValidationException, match="allowedResourceOauth2ReturnUrls"):
        begun(identities, token, provider, resourceOauth2ReturnUrl="https://elsewhere.example/")
    with pytest.raises(aws.data.exceptions.ValidationException, match="register and use at least one"):
        identities.ask(token, provider, FLOW)


def expired_token(aws: Any, identities: Identities) -> tuple[str, str]:
    """A user's workload access token, and a provider whose token for that user has to be refreshed."""
    token, provider = identities.token(identities.workload(), "alice"), identities.provider()
    identities.issuer.lifetime_s = 30
    first = begun(identities, token, provider)
    consented(first["authorizationUrl"])
    aws.data.complete_resource_token_auth(sessionUri=first["sessionUri"], userIdentifier={"userId": "alice"})
    return token, provider


@pytest.mark.parametrize("is_nested", [False, True], ids=["plain", "in Slack's form"])
def test_an_expired_token_is_refreshed_without_the_user(aws: Any, identities: Identities, is_nested: bool) -> None:
    identities.issuer.nests_user_tokens = is_nested
    token, provider = expired_token(aws, identities)
    identities.issuer.lifetime_s = 3600
    refreshed = identities.ask(token, provider, FLOW)["accessToken"]
    assert refreshed.startswith("refresh_token-")
    assert identities.ask(token, provider, FLOW)["accessToken"] == refreshed


def test_a_refresh_that_is_refused_asks_the_user_again(aws: Any, identities: Identities) -> None:
    token, provider = expired_token(aws, identities)
    identities.issuer.refusal = "invalid_grant"
    assert "authorizationUrl" in begun(identities, token, provider)


def test_the_pages_open_in_a_browser_s_window_only(identities: Identities) -> None:
    token, provider = identities.token(identities.workload(), "alice"), identities.provider()
    url = begun(identities, token, provider)["authorizationUrl"]
    script = {"sec-fetch-mode": "cors", "sec-fetch-site": "cross-site"}
    assert opened(url, **script)[0] == 403
    assert opened(url, **{"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"})[0] == 403
    assert opened(url, host="rebound.example")[0] == 403
    link = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "sec-fetch-site": "cross-site"}
    assert opened(url, **link)[0] == 302
    assert opened(url.partition("?")[0] + "?request_uri=urn%3Aunknown")[0] == 404
    unknown = f"{identities.aws.state.url}/identities/oauth2/callback/unknown?code=a&state=b"
    assert opened(unknown)[0] == 400


def test_the_sdk_waits_for_the_user(aws: Any, identities: Identities) -> None:
    arguments = {"region": aws.state.region, "workload": identities.name("sdk"), "provider": identities.provider()}
    process = subprocess.run(
        [sys.executable, str(SCRIPT), json.dumps({**arguments, "return_url": RETURN_URL})],
        env={"PATH": os.environ["PATH"], **aws.state.environment()},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout.splitlines()[-1])
    assert results["user"].startswith("authorization_code-")
    assert results["machine"].startswith("client_credentials-")
    assert (results["key"], results["provider"]) == ("the key", arguments["provider"])


def test_a_server_that_cannot_be_reached_does_not_cost_the_user_s_consent(aws: Any, identities: Identities) -> None:
    token, provider = expired_token(aws, identities)
    identities.issuer.raw = (503, {"content-type": "application/json"}, b"{}")
    with pytest.raises(aws.data.exceptions.ValidationException, match="did not issue a token: it answered 503"):
        identities.ask(token, provider, FLOW)
    identities.issuer.raw = None
    assert identities.ask(token, provider, FLOW)["accessToken"].startswith("refresh_token-")
