"""Operations for which AWS demands no signature reach the service; every other one without a signature is refused."""

from __future__ import annotations

import base64
import json
import urllib.request
from typing import Any

import boto3
import botocore.session
import pytest
from aws_requests import minimal_parameters
from botocore import UNSIGNED, xform_name
from botocore.config import Config
from botocore.exceptions import ClientError

_SERVICES = ("cognito-idp", "cognito-identity", "sts", "sso", "sso-oidc")
_MISSING = {"MissingAuthenticationTokenException", "MissingAuthenticationToken"}


def unsigned(aws: Any, service: str, **more: Any) -> Any:
    """A client without keys."""
    config = Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1}, inject_host_prefix=False)
    return boto3.client(
        service, endpoint_url=aws.state.url, **({"region_name": aws.state.region} | more), config=config
    )


def code_of(client: Any, operation: str) -> str:
    model = client.meta.service_model.operation_model(operation)
    try:
        getattr(client, xform_name(operation))(**minimal_parameters(model))
    except ClientError as refused:
        return refused.response["Error"]["Code"]
    return ""


@pytest.fixture
def user_pool(aws: Any) -> tuple[str, str]:
    """A user pool and a client of it, in another region than the service's."""
    client = boto3.client(
        "cognito-idp",
        endpoint_url=aws.state.url,
        region_name="eu-central-1",
        aws_access_key_id=aws.state.access_key,
        aws_secret_access_key=aws.state.secret_key,
    )
    pool = client.create_user_pool(PoolName="people", Policies={"PasswordPolicy": {"MinimumLength": 8}})["UserPool"]
    flows = ["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"]
    app_client = client.create_user_pool_client(UserPoolId=pool["Id"], ClientName="app", ExplicitAuthFlows=flows)
    client.admin_create_user(UserPoolId=pool["Id"], Username="alice", MessageAction="SUPPRESS")
    client.admin_set_user_password(UserPoolId=pool["Id"], Username="alice", Password="Secret-123", Permanent=True)
    return pool["Id"], app_client["UserPoolClient"]["ClientId"]


def test_a_user_signs_in_to_a_pool_of_any_region_without_keys(aws: Any, user_pool: tuple[str, str]) -> None:
    client = unsigned(aws, "cognito-idp")
    parameters = {"USERNAME": "alice", "PASSWORD": "Secret-123"}
    answer = client.initiate_auth(ClientId=user_pool[1], AuthFlow="USER_PASSWORD_AUTH", AuthParameters=parameters)
    token = answer["AuthenticationResult"]["AccessToken"]
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert claims["iss"] == f"https://cognito-idp.eu-central-1.amazonaws.com/{user_pool[0]}"
    assert client.get_user(AccessToken=token)["Username"] == "alice"
    client.sign_up(ClientId=user_pool[1], Username="bob", Password="Secret-456")


def test_the_keys_and_the_configuration_of_a_pool_are_public(aws: Any, user_pool: tuple[str, str]) -> None:
    place = f"{aws.state.url}/{user_pool[0]}/.well-known"
    with urllib.request.urlopen(f"{place}/openid-configuration", timeout=60) as answer:
        document = json.load(answer)
    assert document["issuer"] == f"https://cognito-idp.eu-central-1.amazonaws.com/{user_pool[0]}"
    assert document["jwks_uri"] == f"{place}/jwks.json"
    with urllib.request.urlopen(document["jwks_uri"], timeout=60) as answer:
        assert {key["kty"] for key in json.load(answer)["keys"]} == {"RSA"}


def test_a_web_identity_takes_a_role_in_the_account_that_the_role_names(aws: Any) -> None:
    answer = unsigned(aws, "sts").assume_role_with_web_identity(
        RoleArn="arn:aws:iam::111122223333:role/web", RoleSessionName="me", WebIdentityToken="token.token.token"
    )
    assert answer["AssumedRoleUser"]["Arn"] == "arn:aws:sts::111122223333:assumed-role/web/me"


def test_keys_of_an_unproven_web_identity_open_nothing(aws: Any) -> None:
    credentials = unsigned(aws, "sts").assume_role_with_web_identity(
        RoleArn="arn:aws:iam::123456789012:role/web", RoleSessionName="me", WebIdentityToken="token.token.token"
    )["Credentials"]
    client = boto3.client(
        "bedrock-agentcore-control",
        endpoint_url=aws.state.url,
        region_name=aws.state.region,
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
    )
    with pytest.raises(ClientError, match="security token"):
        client.list_agent_runtimes()


@pytest.mark.parametrize("name_of_service", _SERVICES)
def test_exactly_the_operations_that_need_no_signature_pass_without_one(aws: Any, name_of_service: str) -> None:
    client = unsigned(aws, name_of_service)
    model = botocore.session.get_session().get_service_model(name_of_service)
    wrong: list[str] = []
    for name in model.operation_names:
        shape = model.operation_model(name)
        is_open = shape.auth_type == "none" or shape.auth == ["smithy.api#noAuth"]
        if is_open == (code_of(client, name) in _MISSING):
            wrong.append(name)
    assert wrong == []


@pytest.mark.parametrize(
    ("other", "operation"),
    [
        ("iam", "ListRoles"),
        ("ec2", "DescribeInstances"),
        ("sns", "ListTopics"),
        ("logs", "DescribeLogGroups"),
        ("dynamodb", "ListTables"),
        ("bedrock-agentcore-control", "ListAgentRuntimes"),
        ("bedrock-runtime", "Converse"),
        ("ssm", "DescribeParameters"),
        ("lambda", "ListFunctions"),
    ],
)
def test_no_other_service_answers_without_a_signature(aws: Any, other: str, operation: str) -> None:
    assert code_of(unsigned(aws, other), operation) in _MISSING | {"AccessDenied"}
