"""Credential providers through the workbench: a table, new providers, and whether a user has given consent."""

from __future__ import annotations

import getpass
import itertools

import pytest

import loomlib as loom
from loomlib.errors import RequestRejectedError, ResourceNotFoundError

DISCOVERY = "http://127.0.0.1:9/.well-known/openid-configuration"
RETURN_URL = "http://127.0.0.1:9/done"
_numbers = itertools.count(1)


def name(kind: str) -> str:
    return f"{kind}-{next(_numbers)}"


def test_providers_are_created_listed_and_deleted(bench: loom.Workbench) -> None:
    key, client = name("search"), name("orders")
    created = bench.identity.create_api_key_provider(key, "sk-the-key")
    assert (created.kind, created.vendor, created.callback_url) == ("api_key", "", "")
    custom = bench.identity.create_oauth2_provider(
        client, client_id="agent", client_secret="the-secret", discovery_url=DISCOVERY
    )
    assert "/identities/oauth2/callback/" in custom.callback_url
    table = bench.identity.providers().set_index("name")
    assert table.loc[[key, client], "kind"].tolist() == ["api_key", "oauth2"]
    assert table.loc[client, "vendor"] == "CustomOauth2"
    for text in (repr(created), repr(custom), bench.identity.providers().to_html()):
        assert "sk-the-key" not in text
        assert "the-secret" not in text
    bench.identity.delete_provider(key)
    bench.identity.delete_provider(client)
    assert not {key, client} & set(bench.identity.providers()["name"])
    with pytest.raises(ResourceNotFoundError, match="no such credential provider"):
        bench.identity.delete_provider(key)


def test_a_vendor_needs_no_address(bench: loom.Workbench) -> None:
    mail = bench.identity.create_oauth2_provider(
        name("mail"), vendor="GoogleOauth2", client_id="agent", client_secret="the-secret"
    )
    assert mail.vendor == "GoogleOauth2"
    with pytest.raises(RequestRejectedError, match="already exists"):
        bench.identity.create_oauth2_provider(
            mail.name, vendor="GoogleOauth2", client_id="agent", client_secret="the-secret"
        )


def test_a_secret_that_is_not_given_is_asked_for(bench: loom.Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[str] = []
    monkeypatch.setattr(getpass, "getpass", lambda prompt: prompts.append(prompt) or "typed")
    key = bench.identity.create_api_key_provider(name("asked"))
    assert prompts == [f"API key of {key.name}: "]


def test_a_user_without_consent_is_shown_where_to_give_it(bench: loom.Workbench) -> None:
    clients, workload = bench.context.clients, name("robot")
    clients.control().create_workload_identity(name=workload, allowedResourceOauth2ReturnUrls=[RETURN_URL])
    provider = bench.identity.create_oauth2_provider(
        name("calendar"), client_id="agent", client_secret="the-secret", discovery_url=DISCOVERY
    )
    arguments = {"user": "alice", "workload": workload, "scopes": ["read"]}
    status = bench.identity.token_status(provider.name, **arguments, return_url=RETURN_URL)
    assert not status.granted
    assert "/identities/oauth2/authorize" in status.authorization_url
    assert "urn:" not in repr(status)
    with pytest.raises(RequestRejectedError, match="allowedResourceOauth2ReturnUrls"):
        bench.identity.token_status(provider.name, **arguments, return_url="https://elsewhere.example/")
    with pytest.raises(ResourceNotFoundError):
        bench.identity.token_status("missing", **arguments, return_url=RETURN_URL)
