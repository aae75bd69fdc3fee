"""Every answer of outbound identity has the form that botocore's service models promise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator
from identities import RETURN_URL, Identities

from loomlib import local

CONTROL, DATA = "bedrock-agentcore-control", "bedrock-agentcore"
# The model names the service `acps` in the providers' own answers, and `bedrock-agentcore` wherever their ARN is given
# back (tags, gateway targets, IAM policies). AWS answers with the latter.
OTHERWISE = {"ApiKeyCredentialProviderArnType", "CredentialProviderArnType"}


def patterns(shape: Any, value: Any) -> Iterator[str]:
    """Values that break a pattern or an enumeration, which botocore itself does not check."""
    if shape.type_name == "structure":
        for name in set(value) & set(shape.members):
            yield from patterns(shape.members[name], value[name])
        if unknown := set(value) - set(shape.members):
            yield f"{shape.name} has no {unknown}"
    elif shape.type_name == "list":
        for item in value:
            yield from patterns(shape.member, item)
    elif shape.type_name == "string" and shape.name not in OTHERWISE:
        rules = shape.metadata
        if rules.get("enum") and value not in rules["enum"]:
            yield f"{shape.name} is {value!r}"
        if rules.get("pattern") and not re.fullmatch(rules["pattern"], value):
            yield f"{shape.name} is {value!r}"


class Checked:
    """Calls whose answers are held against the model."""

    def __init__(self, aws: Any) -> None:
        self._aws, self._session = aws, botocore.session.get_session()
        self.called: set[str] = set()

    def __call__(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        self.called.add(operation)
        model = self._session.get_service_model(service).operation_model(operation)
        method = botocore.xform_name(operation)
        answer = getattr(self._aws.client(service), method)(**parameters)
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == model.http["responseCode"]
        members = {name: value for name, value in answer.items() if name != "ResponseMetadata"}
        report = ParamValidator().validate(members, model.output_shape)
        assert not report.has_errors(), report.generate_report()
        assert list(patterns(model.output_shape, members)) == []
        return members


def identity_operations() -> set[str]:
    names: set[str] = set()
    for service in (CONTROL, DATA):
        model = botocore.session.get_session().get_service_model(service)
        paths = {name: model.operation_model(name).http["requestUri"] for name in model.operation_names}
        names |= {name for name, path in paths.items() if path.startswith("/identities")}
    return {name for name in names if "Payment" not in name and "ConsentPortal" not in name}


def test_every_operation_answers_in_its_shape(aws: Any, identities: Identities) -> None:
    checked, name = Checked(aws), identities.name("shape")
    checked(CONTROL, "CreateWorkloadIdentity", name=name, allowedResourceOauth2ReturnUrls=[RETURN_URL])
    checked(CONTROL, "UpdateWorkloadIdentity", name=name, allowedResourceOauth2ReturnUrls=[RETURN_URL])
    checked(CONTROL, "GetWorkloadIdentity", name=name)
    checked(CONTROL, "ListWorkloadIdentities")
    checked(CONTROL, "CreateApiKeyCredentialProvider", name=name, apiKey="a")
    checked(CONTROL, "UpdateApiKeyCredentialProvider", name=name, apiKey="b")
    checked(CONTROL, "GetApiKeyCredentialProvider", name=name)
    checked(CONTROL, "ListApiKeyCredentialProviders")
    config = {
        "customOauth2ProviderConfig": {
            "oauthDiscovery": {"discoveryUrl": identities.issuer.discovery_url},
            "clientId": "loom-client",
            "clientSecret": "s3cr3t/+of the client",
            "onBehalfOfTokenExchangeConfig": {"grantType": "TOKEN_EXCHANGE"},
        }
    }
    provider = {"name": name, "credentialProviderVendor": "CustomOauth2", "oauth2ProviderConfigInput": config}
    checked(CONTROL, "CreateOauth2CredentialProvider", **provider)
    checked(CONTROL, "UpdateOauth2CredentialProvider", **provider)
    arn = checked(CONTROL, "GetOauth2CredentialProvider", name=name)["credentialProviderArn"]
    checked(CONTROL, "ListOauth2CredentialProviders")
    checked(CONTROL, "TagResource", resourceArn=arn, tags={"a": "b"})
    assert checked(CONTROL, "ListTagsForResource", resourceArn=arn)["tags"] == {"a": "b"}
    checked(CONTROL, "GetTokenVault")
    checked(CONTROL, "SetTokenVaultCMK", kmsConfiguration={"keyType": "ServiceManagedKey"})
    machine = checked(DATA, "GetWorkloadAccessToken", workloadName=name)["workloadAccessToken"]
    user = checked(DATA, "GetWorkloadAccessTokenForUserId", workloadName=name, userId="alice")["workloadAccessToken"]
    checked(DATA, "GetWorkloadAccessTokenForJWT", workloadName=name, userToken=local.issue_token(aws.state, "alice"))
    ask = {"resourceCredentialProviderName": name}
    checked(DATA, "GetResourceApiKey", workloadIdentityToken=machine, **ask)
    ask |= {"scopes": ["read"]}
    checked(DATA, "GetResourceOauth2Token", workloadIdentityToken=machine, oauth2Flow="M2M", **ask)
    ask |= {"oauth2Flow": "USER_FEDERATION", "resourceOauth2ReturnUrl": RETURN_URL}
    token_response = checked(DATA, "GetResourceOauth2Token", workloadIdentityToken=user, **ask)
    assert token_response["sessionStatus"] == "IN_PROGRESS"
    for kind in ("Oauth2CredentialProvider", "ApiKeyCredentialProvider", "WorkloadIdentity"):
        checked(CONTROL, f"Delete{kind}", name=name)
    assert identity_operations() - checked.called == {"CompleteResourceTokenAuth", "ResetTokenVaultKeyMaterial"}


@pytest.mark.parametrize(
    ("api", "operation", "parameters"),
    [
        (CONTROL, "CreateWorkloadIdentity", {"name": "a"}),
        (CONTROL, "GetWorkloadIdentity", {"name": "missing"}),
        (CONTROL, "GetOauth2CredentialProvider", {"name": "missing"}),
        (CONTROL, "DeleteApiKeyCredentialProvider", {"name": "missing"}),
        (DATA, "GetWorkloadAccessToken", {"workloadName": "missing"}),
        (DATA, "GetResourceApiKey", {"workloadIdentityToken": "a", "resourceCredentialProviderName": "b"}),
        (
            DATA,
            "CompleteResourceTokenAuth",
            {"userIdentifier": {"userId": "a"}, "sessionUri": "urn:ietf:params:oauth:request_uri:missing"},
        ),
    ],
)
def test_every_error_is_one_that_the_model_declares(
    aws: Any, api: str, operation: str, parameters: dict[str, Any]
) -> None:
    client = aws.client(api, parameter_validation=False)
    with pytest.raises(ClientError) as caught:
        getattr(client, botocore.xform_name(operation))(**parameters)
    declared = {shape.name: shape for shape in client.meta.service_model.operation_model(operation).error_shapes}
    response = caught.value.response
    shape = declared[response["Error"]["Code"]]
    assert response["ResponseMetadata"]["HTTPStatusCode"] == shape.metadata["error"]["httpStatusCode"]
