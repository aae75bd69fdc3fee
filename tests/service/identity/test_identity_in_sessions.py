"""The SDK's decorators in a running session: the token that an invocation brings, and what its key may do."""

from __future__ import annotations

import json
import urllib.request
from typing import Any
from urllib.parse import quote

import pytest
from authorization_server import CLIENT_SECRET
from botocore.exceptions import ClientError
from identities import Identities
from joserfc import jwk, jwt

from loomlib import local

AGENT = """
import json
import os

import boto3
from bedrock_agentcore.identity.auth import requires_access_token, requires_api_key, requires_iam_access_token
from bedrock_agentcore.runtime import AgentCoreRuntimeClient, BedrockAgentCoreApp, BedrockAgentCoreContext
from botocore.config import Config
from botocore.exceptions import ClientError

app = BedrockAgentCoreApp()


@app.entrypoint
async def answer(payload, context):
    token = BedrockAgentCoreContext.get_workload_access_token()
    if "operation" in payload:
        service = boto3.client(payload["service"], config=Config(retries={"total_max_attempts": 1}))
        parameters = {name: token if value == "TOKEN" else value for name, value in payload["parameters"].items()}
        try:
            getattr(service, payload["operation"])(**parameters)
        except ClientError as error:
            return error.response["Error"]
        return {"Code": ""}
    if "call" in payload:
        client = AgentCoreRuntimeClient(os.environ["AWS_REGION"]).dp_client
        given = client.invoke_agent_runtime(agentRuntimeArn=payload["call"], payload=b'{"state": true}')
        return json.loads(given["response"].read())
    if "exchange" in payload:
        @requires_access_token(
            provider_name=payload["exchange"], scopes=["read"], auth_flow="ON_BEHALF_OF_TOKEN_EXCHANGE"
        )
        async def act(*, access_token):
            return access_token

        return {"token": await act()}
    if "state" in payload:
        if payload["state"] == "token":
            return {"token": token}
        return {"has_token": token is not None, "headers": sorted(context.request_headers or {})}

    if "audience" in payload:
        @requires_iam_access_token(audience=[payload["audience"]], tags=[{"Key": "team", "Value": "loom"}])
        def identify(*, access_token):
            return access_token

        return {"token": identify()}

    @requires_api_key(provider_name=payload["key"])
    def search(*, api_key):
        return api_key

    @requires_access_token(provider_name=payload["provider"], scopes=["read"], auth_flow="M2M")
    async def fetch(*, access_token):
        return access_token

    return {"key": search(), "token": await fetch()}


app.run()
"""


class Agent:
    """A deployed agent that is invoked for a user."""

    def __init__(self, aws: Any, runtime: dict[str, Any]) -> None:
        self.aws, self.arn, self.id = aws, runtime["agentRuntimeArn"], runtime["agentRuntimeId"]

    def send(self, payload: dict[str, Any], *, user: str = "alice") -> dict[str, Any]:
        more = {"runtimeUserId": user} if user else {}
        return json.loads(self.aws.invoke(self.arn, json.dumps(payload).encode(), **more)[1])

    def may(self, operation: str, service: str = "bedrock-agentcore", **parameters: Any) -> tuple[str, str]:
        error = self.send({"service": service, "operation": operation, "parameters": parameters})
        return error["Code"], error.get("Message", "")


@pytest.fixture(scope="module")
def agent(aws: Any) -> Agent:
    return Agent(aws, aws.deploy("decorated", AGENT))


def test_the_decorators_get_keys_and_tokens_unchanged(aws: Any, identities: Identities, agent: Agent) -> None:
    key = identities.name("search")
    aws.control.create_api_key_credential_provider(name=key, apiKey="the key")
    answer = agent.send({"key": key, "provider": identities.provider()})
    assert answer["key"] == "the key"
    assert answer["token"].startswith("client_credentials-")


def test_the_iam_decorator_gets_a_token_of_the_runtime_s_role(aws: Any, agent: Agent) -> None:
    with urllib.request.urlopen(f"{aws.state.url}/identity/sts/.well-known/jwks.json", timeout=30) as keys:
        key_set = jwk.KeySet.import_key_set(json.load(keys))
    token = jwt.decode(agent.send({"audience": "https://orders.example"})["token"], key_set, algorithms=["ES384"])
    claims = token.claims
    assert (claims["aud"], claims["sub"]) == ("https://orders.example", "arn:aws:iam::123456789012:role/loom")
    assert claims["exp"] - claims["iat"] == 300
    details = claims["https://sts.amazonaws.com/"]
    assert (details["aws_account"], details["request_tags"]) == ("123456789012", {"team": "loom"})
    info = aws.client("iam").get_outbound_web_identity_federation_info()
    assert (info["IssuerIdentifier"], info["JwtVendingEnabled"]) == (claims["iss"], True)


def test_a_web_identity_token_has_bounds(aws: Any) -> None:
    sts = aws.client("sts", parameter_validation=False)
    ask = {"Audience": ["a"], "SigningAlgorithm": "RS256"}
    assert sts.get_web_identity_token(**ask, DurationSeconds=60)["WebIdentityToken"].count(".") == 2
    for wrong in ({"DurationSeconds": 59}, {"SigningAlgorithm": "HS256"}, {"Audience": []}):
        with pytest.raises(ClientError, match="ValidationError"):
            sts.get_web_identity_token(**{**ask, **wrong})
    assert sts.get_caller_identity()["Account"] == "123456789012"


def test_an_agent_acts_for_the_user_of_the_bearer_token(aws: Any, identities: Identities) -> None:
    rules = {"discoveryUrl": local.issuer_address(aws.state), "allowedClients": [local.DEFAULT_CLIENT]}
    runtime = aws.deploy("bearer", AGENT, authorizerConfiguration={"customJWTAuthorizer": rules})
    provider = identities.provider(onBehalfOfTokenExchangeConfig={"grantType": "TOKEN_EXCHANGE"})
    token = local.issue_token(aws.state, "alice")
    request = urllib.request.Request(
        f"{aws.state.url}/runtimes/{quote(runtime['agentRuntimeArn'], safe='')}/invocations",
        data=json.dumps({"exchange": provider}).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["token"].startswith("urn:ietf:params:oauth:grant-type:token-exchange")
    (exchange,) = identities.issuer.requests
    assert exchange["subject_token"] == token


def test_an_invocation_without_a_user_brings_no_token(agent: Agent) -> None:
    assert agent.send({"state": True}, user="")["has_token"] is False
    assert agent.send({"state": True})["has_token"] is True


def test_a_caller_cannot_bring_a_workload_access_token(aws: Any, agent: Agent, identities: Identities) -> None:
    forged = identities.token(identities.workload(), "mallory")
    client = aws.client("bedrock-agentcore", user_agent_extra="forged")

    def add(request: Any, **_: Any) -> None:
        request.headers["WorkloadAccessToken"] = forged

    client.meta.events.register("before-sign.bedrock-agentcore.InvokeAgentRuntime", add)
    answer = client.invoke_agent_runtime(agentRuntimeArn=agent.arn, payload=b'{"state": true}')
    with answer["response"] as body:
        assert json.loads(body.read())["has_token"] is False


def test_a_session_uses_its_own_workload_identity_only(aws: Any, identities: Identities, agent: Agent) -> None:
    key, other = identities.name("search"), identities.workload()
    aws.control.create_api_key_credential_provider(name=key, apiKey="the key")
    ask = {"resourceCredentialProviderName": key}
    assert agent.may("get_resource_api_key", workloadIdentityToken="TOKEN", **ask)[0] == ""
    code, message = agent.may("get_resource_api_key", workloadIdentityToken=identities.token(other, "alice"), **ask)
    assert code == "AccessDeniedException"
    assert "bedrock-agentcore:GetResourceApiKey" in message
    code, message = agent.may("get_workload_access_token", workloadName=agent.id)
    assert (code, "linked to a service" in message) == ("ValidationException", True)
    assert (
        agent.may("get_workload_access_token_for_user_id", workloadName=other, userId="a")[0] == "AccessDeniedException"
    )
    secret = aws.control.get_api_key_credential_provider(name=key)["apiKeySecretArn"]["secretArn"]
    assert agent.may("get_secret_value", "secretsmanager", SecretId=secret)[0] == "AccessDeniedException"
    control = "bedrock-agentcore-control"
    assert agent.may("create_workload_identity", control, name="mine")[0] == "AccessDeniedException"
    assert agent.may("get_api_key_credential_provider", control, name=key)[0] == "AccessDeniedException"


def test_a_called_agent_acts_for_the_same_user(aws: Any, agent: Agent) -> None:
    caller = Agent(aws, aws.deploy("calling", AGENT, environmentVariables={"AGENT": agent.id}))
    assert caller.send({"call": agent.arn})["has_token"] is True
    assert caller.send({"call": agent.arn}, user="")["has_token"] is False


def test_neither_keys_nor_tokens_are_in_the_logs(aws: Any, identities: Identities, agent: Agent) -> None:
    key, secret = identities.name("search"), "sk-never-in-a-log"
    aws.control.create_api_key_credential_provider(name=key, apiKey=secret)
    answer = agent.send({"key": key, "provider": identities.provider()})
    workload_token = agent.send({"state": "token"})["token"]
    with pytest.raises(ClientError):
        aws.control.create_api_key_credential_provider(name=key, apiKey=secret)
    content = (aws.state.home / "service.log").read_bytes()
    for file in aws.state.home.glob("*.db*"):
        content += file.read_bytes()
    for text in (secret, answer["token"], workload_token, CLIENT_SECRET):
        assert text.encode() not in content
