"""Workload identities, credential providers and the token vault, through boto3's control plane."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from identities import Identities, code_of

from loomlib import local
from loomlib.local.identity.outbound.vendors import vendor_named

SECRET = "sk-live-a-key-that-nobody-may-see"


def test_a_workload_identity_is_created_read_changed_and_deleted(aws: Any, identities: Identities) -> None:
    name = identities.name("robot")
    created = aws.control.create_workload_identity(name=name, tags={"team": "loom"})
    arn = created["workloadIdentityArn"]
    assert arn.endswith(f":workload-identity-directory/default/workload-identity/{name}")
    assert created["allowedResourceOauth2ReturnUrls"] == []
    urls = ["https://example.com/back"]
    aws.control.update_workload_identity(name=name, allowedResourceOauth2ReturnUrls=urls)
    assert aws.control.get_workload_identity(name=name)["allowedResourceOauth2ReturnUrls"] == urls
    assert aws.control.list_tags_for_resource(resourceArn=arn)["tags"] == {"team": "loom"}
    with pytest.raises(ClientError) as conflict:
        aws.control.create_workload_identity(name=name)
    assert code_of(conflict) == ("ValidationException", f"WorkloadIdentity with name: {name} already exists")
    aws.control.delete_workload_identity(name=name)
    with pytest.raises(aws.control.exceptions.ResourceNotFoundException):
        aws.control.get_workload_identity(name=name)


def test_lists_come_in_pages(aws: Any, identities: Identities) -> None:
    names = {identities.workload() for _ in range(3)}
    pages = aws.control.get_paginator("list_workload_identities").paginate(PaginationConfig={"PageSize": 2})
    listed_names = [item["name"] for page in pages for item in page["workloadIdentities"]]
    assert names <= set(listed_names)
    assert len(listed_names) == len(set(listed_names))
    with pytest.raises(ClientError, match="maxResults"):
        aws.client("bedrock-agentcore-control", parameter_validation=False).list_workload_identities(maxResults=21)


def test_an_api_key_is_kept_in_secrets_manager_and_shown_nowhere_else(aws: Any, identities: Identities) -> None:
    name = identities.name("search")
    created = aws.control.create_api_key_credential_provider(name=name, apiKey=SECRET)
    description = aws.control.get_api_key_credential_provider(name=name)
    listed = aws.control.list_api_key_credential_providers()
    assert SECRET not in json.dumps([created, description, listed], default=str)
    assert created["credentialProviderArn"].endswith(f":token-vault/default/apikeycredentialprovider/{name}")
    secret = aws.client("secretsmanager").get_secret_value(SecretId=created["apiKeySecretArn"]["secretArn"])
    assert secret["Name"] == f"bedrock-agentcore-identity!default/apikey/{name}"
    assert json.loads(secret["SecretString"]) == {created["apiKeySecretJsonKey"]: SECRET}
    aws.control.update_api_key_credential_provider(name=name, apiKey="second")
    secret = aws.client("secretsmanager").get_secret_value(SecretId=created["apiKeySecretArn"]["secretArn"])
    assert json.loads(secret["SecretString"]) == {"api_key_value": "second"}
    aws.control.delete_api_key_credential_provider(name=name)
    with pytest.raises(aws.client("secretsmanager").exceptions.ResourceNotFoundException):
        aws.client("secretsmanager").get_secret_value(SecretId=created["apiKeySecretArn"]["secretArn"])


def test_a_provider_uses_a_secret_of_its_user(aws: Any, identities: Identities) -> None:
    name, secrets = identities.name("own"), aws.client("secretsmanager")
    secret = secrets.create_secret(Name=f"{name}/key", SecretString=json.dumps({"key": "first"}))
    reference = {"secretId": secret["ARN"], "jsonKey": "key"}
    created = aws.control.create_api_key_credential_provider(
        name=name, apiKeySecretSource="EXTERNAL", apiKeySecretConfig=reference
    )
    assert created["apiKeySecretArn"] == {"secretArn": secret["ARN"]}
    assert (created["apiKeySecretSource"], created["apiKeySecretJsonKey"]) == ("EXTERNAL", "key")
    token = identities.token(identities.workload())
    ask = {"workloadIdentityToken": token, "resourceCredentialProviderName": name}
    assert aws.data.get_resource_api_key(**ask)["apiKey"] == "first"
    secrets.put_secret_value(SecretId=secret["ARN"], SecretString=json.dumps({"key": "second"}))
    assert aws.data.get_resource_api_key(**ask)["apiKey"] == "second"
    aws.control.delete_api_key_credential_provider(name=name)
    assert secrets.get_secret_value(SecretId=secret["ARN"])["Name"] == f"{name}/key"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "apiKey is missing"),
        ({"apiKeySecretSource": "EXTERNAL"}, "apiKey is missing"),
        ({"apiKey": "a", "apiKeySecretSource": "EXTERNAL"}, "requires apiKeySecretConfig"),
        ({"apiKeySecretConfig": {"secretId": "nothing", "jsonKey": "a"}}, "can't find the specified secret"),
    ],
)
def test_a_key_and_its_source_must_fit(aws: Any, identities: Identities, given: dict[str, Any], fault: str) -> None:
    with pytest.raises(aws.control.exceptions.ValidationException, match=fault):
        aws.control.create_api_key_credential_provider(name=identities.name("unfit"), **given)


@pytest.mark.parametrize(
    ("vendor", "member", "more", "server"),
    [
        (
            "GoogleOauth2",
            "googleOauth2ProviderConfig",
            {},
            "https://accounts.google.com/.well-known/openid-configuration",
        ),
        ("GithubOauth2", "githubOauth2ProviderConfig", {}, "https://github.com/login/oauth/access_token"),
        (
            "MicrosoftOauth2",
            "microsoftOauth2ProviderConfig",
            {"tenantId": "contoso"},
            "https://login.microsoftonline.com/contoso/v2.0/.well-known/openid-configuration",
        ),
        ("SpotifyOauth2", "includedOauth2ProviderConfig", {}, "https://accounts.spotify.com/api/token"),
        (
            "OktaOauth2",
            "includedOauth2ProviderConfig",
            {
                "issuer": "https://a.okta.com",
                "authorizationEndpoint": "https://a.okta.com/authorize",
                "tokenEndpoint": "https://a.okta.com/token",
            },
            "https://a.okta.com/token",
        ),
    ],
)
def test_a_vendor_brings_its_authorization_server(
    aws: Any, identities: Identities, vendor: str, member: str, more: dict[str, str], server: str
) -> None:
    config = {member: {"clientId": "abc", "clientSecret": SECRET, **more}}
    created = aws.control.create_oauth2_credential_provider(
        name=identities.name("vendor"), credentialProviderVendor=vendor, oauth2ProviderConfigInput=config
    )
    config_output = created["oauth2ProviderConfigOutput"][member]
    assert config_output["clientId"] == "abc"
    assert SECRET not in json.dumps(created)
    discovery = config_output["oauthDiscovery"]
    assert server in (
        discovery.get("discoveryUrl"),
        discovery.get("authorizationServerMetadata", {}).get("tokenEndpoint"),
    )


def test_every_vendor_of_the_service_model_is_known(aws: Any) -> None:
    model = aws.control.meta.service_model
    vendors = model.shape_for("CredentialProviderVendorType").enum
    members = model.shape_for("Oauth2ProviderConfigInput").members
    assert {vendor_named(name).member for name in vendors} <= set(members)


@pytest.mark.parametrize(
    ("vendor", "config", "fault"),
    [
        ("GoogleOauth2", {"githubOauth2ProviderConfig": {"clientId": "a", "clientSecret": "b"}}, "googleOauth2Prov"),
        ("OktaOauth2", {"includedOauth2ProviderConfig": {"clientId": "a", "clientSecret": "b"}}, "tokenEndpoint"),
        ("GithubOauth2", {"githubOauth2ProviderConfig": {"clientId": "a"}}, "clientSecret is missing"),
    ],
)
def test_a_configuration_must_be_its_vendors(
    aws: Any, identities: Identities, vendor: str, config: dict[str, Any], fault: str
) -> None:
    with pytest.raises(aws.control.exceptions.ValidationException, match=fault):
        aws.control.create_oauth2_credential_provider(
            name=identities.name("unfit"), credentialProviderVendor=vendor, oauth2ProviderConfigInput=config
        )


def test_an_oauth2_provider_keeps_its_secret_and_its_callback_over_updates(aws: Any, identities: Identities) -> None:
    name = identities.provider()
    before = aws.control.get_oauth2_credential_provider(name=name)
    assert before["status"] == "READY"
    assert before["callbackUrl"].startswith(f"{aws.state.url}/identities/oauth2/callback/")
    config = {
        "customOauth2ProviderConfig": {
            "oauthDiscovery": {"discoveryUrl": identities.issuer.discovery_url},
            "clientId": "loom-client",
            "clientAuthenticationMethod": "CLIENT_SECRET_POST",
        }
    }
    aws.control.update_oauth2_credential_provider(
        name=name, credentialProviderVendor="CustomOauth2", oauth2ProviderConfigInput=config
    )
    after = aws.control.get_oauth2_credential_provider(name=name)
    assert (after["callbackUrl"], after["clientSecretArn"]) == (before["callbackUrl"], before["clientSecretArn"])
    identities.ask(identities.token(identities.workload()), name)
    assert identities.issuer.requests[-1]["authentication"] == "post"
    with pytest.raises(ClientError) as conflict:
        aws.control.create_oauth2_credential_provider(
            name=name, credentialProviderVendor="CustomOauth2", oauth2ProviderConfigInput=config
        )
    assert code_of(conflict) == ("ValidationException", f"Credential provider with name: {name} already exists")


def test_the_token_vault_records_a_customer_managed_key(aws: Any) -> None:
    assert aws.control.get_token_vault()["kmsConfiguration"] == {"keyType": "ServiceManagedKey"}
    kms = aws.client("kms")
    key = kms.create_key()["KeyMetadata"]
    chosen = {"keyType": "CustomerManagedKey", "kmsKeyArn": key["Arn"]}
    assert aws.control.set_token_vault_cmk(tokenVaultId="default", kmsConfiguration=chosen)["tokenVaultId"] == "default"
    assert aws.control.get_token_vault()["kmsConfiguration"] == chosen
    with pytest.raises(aws.control.exceptions.ValidationException, match="can be reset only if"):
        aws.control.reset_token_vault_key_material(tokenVaultId="default")
    aws.control.set_token_vault_cmk(kmsConfiguration={"keyType": "ServiceManagedKey"})
    missing = {"keyType": "CustomerManagedKey", "kmsKeyArn": key["Arn"][:-4] + "0000"}
    for unfit in (missing, {"keyType": "CustomerManagedKey"}):
        with pytest.raises(aws.control.exceptions.ValidationException):
            aws.control.set_token_vault_cmk(kmsConfiguration=unfit)
    with pytest.raises(aws.control.exceptions.ResourceNotFoundException):
        aws.control.get_token_vault(tokenVaultId="other")
    assert aws.control.get_token_vault()["kmsConfiguration"] == {"keyType": "ServiceManagedKey"}


def test_secrets_are_encrypted_in_the_home_and_survive_a_restart(
    start_service: Callable[..., Any], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = start_service(home)
    first.control.create_workload_identity(name="robot")
    created = first.control.create_api_key_credential_provider(name="search", apiKey=SECRET)
    assert (home / "identity.key").stat().st_mode & 0o777 == 0o600
    first.close()
    local.stop(home)
    for file in home.rglob("*"):
        if file.is_file() and not file.is_symlink():
            assert SECRET.encode() not in file.read_bytes(), file
    second = start_service(home)
    arn = created["apiKeySecretArn"]["secretArn"]
    assert SECRET in second.client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
    token = second.data.get_workload_access_token(workloadName="robot")["workloadAccessToken"]
    ask = {"workloadIdentityToken": token, "resourceCredentialProviderName": "search"}
    assert second.data.get_resource_api_key(**ask)["apiKey"] == SECRET
    assert second.control.get_api_key_credential_provider(name="search")["apiKeySecretArn"]["secretArn"] == arn


def test_a_lost_key_loses_the_secrets_and_nothing_else(start_service: Callable[..., Any], tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = start_service(home)
    first.control.create_api_key_credential_provider(name="search", apiKey=SECRET)
    first.client("secretsmanager").create_secret(Name="own", SecretString="mine")
    first.close()
    local.stop(home)
    (home / "identity.key").unlink()
    second = start_service(home)
    second.control.create_workload_identity(name="robot")
    token = second.data.get_workload_access_token(workloadName="robot")["workloadAccessToken"]
    ask = {"workloadIdentityToken": token, "resourceCredentialProviderName": "search"}
    with pytest.raises(ClientError, match="cannot be decrypted: update the provider"):
        second.data.get_resource_api_key(**ask)
    assert second.client("secretsmanager").list_secrets()["SecretList"] == []
    second.control.update_api_key_credential_provider(name="search", apiKey="second")
    assert second.data.get_resource_api_key(**ask)["apiKey"] == "second"
