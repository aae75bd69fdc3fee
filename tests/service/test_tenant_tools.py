"""Code interpreters, agents, guardrails and knowledge bases of several tenants: no tenant reaches another's."""

from __future__ import annotations

import itertools
import urllib.error
import urllib.request
import uuid
from typing import Any

import pytest
from bedrock_agents.agent_turns import INSTRUCTION, MODEL, ROLE, invoked, of_kind
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from tenant_roles import Tenant, refusal
from waiting import PATIENCE_S

INTERPRETER = "aws.codeinterpreter.v1"
NETWORK = {"networkMode": "SANDBOX"}
EMBEDDING = "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v2:0"
MISSING = "ResourceNotFoundException"
_numbers = itertools.count(1)


def start(caller: Any, interpreter: str = INTERPRETER, **more: Any) -> dict[str, str]:
    """Start a session of a code interpreter; return the members that name it."""
    session = caller.data.start_code_interpreter_session(codeInterpreterIdentifier=interpreter, **more)
    return {"codeInterpreterIdentifier": interpreter, "sessionId": session["sessionId"]}


def listed(caller: Any, interpreter: str = INTERPRETER) -> list[str]:
    sessions = caller.data.list_code_interpreter_sessions(codeInterpreterIdentifier=interpreter, maxResults=100)
    return [session["sessionId"] for session in sessions["items"]]


def use(caller: Any, session_ref: dict[str, str], tool: str, **arguments: Any) -> dict[str, Any]:
    answer = caller.data.invoke_code_interpreter(**session_ref, name=tool, arguments=arguments)
    return next(iter(answer["stream"]))["result"]


def test_files_and_variables_of_a_code_session_are_its_tenants(aws: Any, a: Tenant, b: Tenant, nobody: Tenant) -> None:
    session = start(a)
    use(a, session, "writeFiles", content=[{"path": "secret.txt", "text": "of a"}])
    for other in (b, nobody):
        assert session["sessionId"] not in listed(other)
        assert refusal(use, other, session, "readFiles", paths=["secret.txt"]) == MISSING
        assert refusal(use, other, session, "executeCode", code="1", language="python") == MISSING
        assert refusal(other.data.get_code_interpreter_session, **session) == MISSING
        assert refusal(other.data.stop_code_interpreter_session, **session) == MISSING
    for reader in (a, aws):
        assert session["sessionId"] in listed(reader)
        read = use(reader, session, "readFiles", paths=["secret.txt"])
        assert read["content"][0]["resource"]["text"] == "of a"
    a.data.stop_code_interpreter_session(**session)


def test_another_tenants_client_token_starts_a_session_of_ones_own(a: Tenant, b: Tenant) -> None:
    token = f"{uuid.uuid4()}"
    first, again, other = start(a, clientToken=token), start(a, clientToken=token), start(b, clientToken=token)
    assert first == again
    assert first != other
    for tenant, session in ((a, first), (b, other)):
        tenant.data.stop_code_interpreter_session(**session)


def test_a_tenants_own_code_interpreter_starts_no_session_of_another(aws: Any, a: Tenant, b: Tenant) -> None:
    response = a.control.create_code_interpreter(name=f"tool{next(_numbers)}", networkConfiguration=NETWORK)
    interpreter = response["codeInterpreterId"]
    assert refusal(start, b, interpreter) == MISSING
    assert refusal(listed, b, interpreter) == MISSING
    session = start(aws, interpreter)  # the owner acts for the tenant there
    assert listed(a, interpreter) == [session["sessionId"]]
    a.data.stop_code_interpreter_session(**session)
    a.control.delete_code_interpreter(codeInterpreterId=interpreter)


def test_browsers_and_profiles_of_a_tenant_are_not_another_tenants(a: Tenant, b: Tenant) -> None:
    browser = a.control.create_browser(name=f"web{next(_numbers)}", networkConfiguration={"networkMode": "PUBLIC"})
    profile = a.control.create_browser_profile(name=f"shop{next(_numbers)}")["profileId"]
    browser_ref = {"browserIdentifier": browser["browserId"]}
    assert refusal(b.data.start_browser_session, **browser_ref) == MISSING
    assert refusal(b.data.list_browser_sessions, **browser_ref) == MISSING
    assert a.data.list_browser_sessions(**browser_ref)["items"] == []
    assert refusal(b.control.get_browser_profile, profileId=profile) == MISSING
    a.control.delete_browser_profile(profileId=profile)
    a.control.delete_browser(browserId=browser["browserId"])


def test_a_session_and_a_memory_of_a_shared_agent_are_their_tenants(aws: Any, a: Tenant, b: Tenant) -> None:
    agents = aws.client("bedrock-agent")
    agent = agents.create_agent(
        agentName=f"shared{next(_numbers)}",
        foundationModel=MODEL,
        agentResourceRoleArn=ROLE,
        instruction=INSTRUCTION,
        memoryConfiguration={"enabledMemoryTypes": ["SESSION_SUMMARY"], "storageDays": 10},
    )["agent"]["agentId"]
    agents.prepare_agent(agentId=agent)
    session = uuid.uuid4().hex
    invoked(a, agent, "My name is Ann.", sessionId=session, memoryId="me")
    prompt = of_kind(invoked(b, agent, "What is my name?", sessionId=session), "modelInvocationInput")[0]["text"]
    assert "Ann" not in prompt
    prompt = of_kind(invoked(a, agent, "What is my name?", sessionId=session), "modelInvocationInput")[0]["text"]
    assert "Ann" in prompt
    invoked(b, agent, sessionId=session, endSession=True)
    invoked(a, agent, sessionId=session, endSession=True)

    def remembered(caller: Any) -> list[str]:
        arguments = {"agentId": agent, "agentAliasId": "TSTALIASID", "memoryId": "me", "memoryType": "SESSION_SUMMARY"}
        contents = caller.client("bedrock-agent-runtime").get_agent_memory(**arguments)["memoryContents"]
        return [content["sessionSummary"]["sessionId"] for content in contents]

    assert (remembered(a), remembered(b), remembered(aws)) == ([session], [], [session])
    for other in (b, aws):  # the owner reads all, but its own conversations get none of a tenant's
        prompt = of_kind(invoked(other, agent, "What is my name?", memoryId="me"), "modelInvocationInput")[0]["text"]
        assert "Ann" not in prompt
    agents.delete_agent(agentId=agent, skipResourceInUseCheck=True)


def test_an_agent_and_a_knowledge_base_of_a_tenant_are_not_found_by_another(a: Tenant, b: Tenant) -> None:
    agents, others = a.client("bedrock-agent"), b.client("bedrock-agent")
    agent = agents.create_agent(
        agentName=f"own{next(_numbers)}", foundationModel=MODEL, agentResourceRoleArn=ROLE, instruction=INSTRUCTION
    )["agent"]["agentId"]
    agents.prepare_agent(agentId=agent)
    assert refusal(invoked, b, agent, "Hello") == MISSING
    assert refusal(others.prepare_agent, agentId=agent) == MISSING
    assert refusal(others.list_agent_versions, agentId=agent) == MISSING
    assert invoked(a, agent, "Hello")["text"]
    vectors = {"embeddingModelArn": EMBEDDING}
    base = agents.create_knowledge_base(
        name=f"base{next(_numbers)}",
        roleArn=ROLE,
        knowledgeBaseConfiguration={"type": "VECTOR", "vectorKnowledgeBaseConfiguration": vectors},
    )["knowledgeBase"]["knowledgeBaseId"]
    query = {"knowledgeBaseId": base, "retrievalQuery": {"text": "secret"}}
    assert refusal(b.client("bedrock-agent-runtime").retrieve, **query) == MISSING
    assert a.client("bedrock-agent-runtime").retrieve(**query)["retrievalResults"] == []
    agents.delete_knowledge_base(knowledgeBaseId=base)
    agents.delete_agent(agentId=agent, skipResourceInUseCheck=True)


def test_a_guardrail_of_a_tenant_guards_no_other(a: Tenant, b: Tenant) -> None:
    guardrail = a.client("bedrock").create_guardrail(
        name=f"guard{next(_numbers)}",
        blockedInputMessaging="no",
        blockedOutputsMessaging="no",
        wordPolicyConfig={"wordsConfig": [{"text": "project nightjar"}]},
    )
    key = guardrail["guardrailId"]
    assert refusal(b.client("bedrock").get_guardrail, guardrailIdentifier=key) == MISSING
    assert key not in [item["id"] for item in b.client("bedrock").list_guardrails()["guardrails"]]
    assert key in [item["id"] for item in a.client("bedrock").list_guardrails()["guardrails"]]
    question = {
        "modelId": MODEL,
        "messages": [{"role": "user", "content": [{"text": "project nightjar"}]}],
        "guardrailConfig": {"guardrailIdentifier": key, "guardrailVersion": "DRAFT"},
    }
    assert refusal(b.client("bedrock-runtime").converse, **question) == MISSING
    answer = a.client("bedrock-runtime").converse(**question)
    assert answer["stopReason"] == "guardrail_intervened"
    a.client("bedrock").delete_guardrail(guardrailIdentifier=key)


def test_a_gateway_of_a_tenant_answers_no_signed_caller_of_another(aws: Any, a: Tenant, b: Tenant) -> None:
    gateway = a.control.create_gateway(
        name=f"gate{next(_numbers)}", protocolType="MCP", authorizerType="AWS_IAM", roleArn=a.arn
    )

    def status(key: Credentials) -> int:
        body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
        request = AWSRequest("POST", gateway["gatewayUrl"], data=body, headers={"Content-Type": "application/json"})
        SigV4Auth(key, "bedrock-agentcore", aws.state.region).add_auth(request)
        prepared = urllib.request.Request(gateway["gatewayUrl"], body, dict(request.headers))
        try:
            with urllib.request.urlopen(prepared, timeout=PATIENCE_S) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    owner = Credentials(aws.state.access_key, aws.state.secret_key)
    assert (status(a.credentials), status(owner), status(b.credentials)) == (200, 200, 404)
    a.control.delete_gateway(gatewayIdentifier=gateway["gatewayId"])


def test_a_tenants_gateway_gets_no_delivery_of_logs_from_another(a: Tenant, b: Tenant) -> None:
    arn = a.control.create_memory(name=f"logged{next(_numbers)}", eventExpiryDuration=30)["memory"]["arn"]
    source = {"name": f"source{next(_numbers)}", "resourceArn": arn, "logType": "APPLICATION_LOGS"}
    with pytest.raises(ClientError):
        b.client("logs").put_delivery_source(**source)
    assert a.client("logs").put_delivery_source(**source)
