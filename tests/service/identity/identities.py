"""Steps that tests of outbound identity begin with."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from authorization_server import CLIENT_ID, CLIENT_SECRET, TokenIssuer
from botocore.exceptions import ClientError

_numbers = itertools.count(1)
RETURN_URL = "http://127.0.0.1:9/done?app=1"


class Identities:
    """Creates workloads and providers, and asks for tokens, with plain boto3."""

    def __init__(self, aws: Any, issuer: TokenIssuer) -> None:
        self.aws, self.issuer = aws, issuer

    @staticmethod
    def name(kind: str) -> str:
        return f"{kind}-{next(_numbers)}"

    def workload(self, *, urls: tuple[str, ...] = (RETURN_URL,)) -> str:
        name = self.name("workload")
        self.aws.control.create_workload_identity(name=name, allowedResourceOauth2ReturnUrls=list(urls))
        return name

    def token(self, workload: str, user_id: str = "") -> str:
        if user_id:
            response = self.aws.data.get_workload_access_token_for_user_id(workloadName=workload, userId=user_id)
        else:
            response = self.aws.data.get_workload_access_token(workloadName=workload)
        return response["workloadAccessToken"]

    def provider(self, **more: Any) -> str:
        name = self.name("provider")
        self.aws.control.create_oauth2_credential_provider(
            name=name,
            credentialProviderVendor="CustomOauth2",
            oauth2ProviderConfigInput={
                "customOauth2ProviderConfig": {
                    "oauthDiscovery": {"discoveryUrl": self.issuer.discovery_url},
                    "clientId": CLIENT_ID,
                    "clientSecret": CLIENT_SECRET,
                    **more,
                }
            },
        )
        return name

    def ask(self, token: str, provider: str, flow: str = "M2M", **more: Any) -> dict[str, Any]:
        answer = self.aws.data.get_resource_oauth2_token(
            workloadIdentityToken=token,
            resourceCredentialProviderName=provider,
            oauth2Flow=flow,
            **{"scopes": ["read", "write"], **more},
        )
        return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def code_of(caught: pytest.ExceptionInfo[ClientError]) -> tuple[str, str]:
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]
