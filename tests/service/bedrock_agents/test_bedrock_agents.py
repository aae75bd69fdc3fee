"""Bedrock Agents: created, prepared, versioned and invoked with plain boto3."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from agent_turns import INSTRUCTION, MODEL, ROLE, WEATHER, invoked, of_kind, steps
from botocore.exceptions import ClientError, EventStreamError

from tests.service.conftest import Aws

ORDERS = """
openapi: 3.0.0
info: {title: Orders, version: "1"}
paths:
  /orders/{orderId}/notes:
    post:
      operationId: addNote
      description: Adds a note to an order
      parameters:
        - {name: orderId, in: path, required: true, schema: {type: integer}, description: Number of the order}
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Note"}
      responses: {"200": {description: The note}}
components:
  schemas:
    Note:
      type: object
      properties: {note: {type: string, description: The note}, urgent: {type: boolean}}
      required: [note]
"""


@pytest.fixture(scope="module")
def weather(create: Callable[..., str], function: str) -> str:
    return create(
        {"actionGroupName": "weather", "actionGroupExecutor": {"lambda": function}, "functionSchema": WEATHER}
    )


def test_an_agent_moves_through_its_statuses(aws: Aws, create: Callable[..., str]) -> None:
    agents = aws.client("bedrock-agent")
    agent = create(prepare=False, description="d", tags={"team": "shop"})
    read = agents.get_agent(agentId=agent)["agent"]
    assert (read["agentStatus"], read["agentVersion"], read["idleSessionTTLInSeconds"]) == (
        "NOT_PREPARED",
        "DRAFT",
        600,
    )
    prompts = read["promptOverrideConfiguration"]["promptConfigurations"]
    enabled = [item for item in prompts if item["promptState"] == "ENABLED"]
    assert [item["promptType"] for item in enabled] == ["ORCHESTRATION"]
    assert "$instruction$" in enabled[0]["basePromptTemplate"]
    assert read["agentArn"] == f"arn:aws:bedrock:us-east-1:123456789012:agent/{agent}"
    assert agents.list_tags_for_resource(resourceArn=read["agentArn"])["tags"] == {"team": "shop"}
    assert agents.prepare_agent(agentId=agent)["agentStatus"] == "PREPARING"
    assert agents.get_agent(agentId=agent)["agent"]["agentStatus"] == "PREPARED"
    name = f"renamed-{agent}"
    settings = {"agentResourceRoleArn": ROLE, "foundationModel": MODEL, "instruction": INSTRUCTION}
    updated = agents.update_agent(agentId=agent, agentName=name, **settings)["agent"]
    assert updated["agentStatus"] == "UPDATING"
    read = agents.get_agent(agentId=agent)["agent"]
    assert (read["agentName"], read["agentStatus"], read.get("description")) == (name, "NOT_PREPARED", None)
    summary = next(item for item in agents.list_agents()["agentSummaries"] if item["agentId"] == agent)
    assert (summary["agentName"], summary["latestAgentVersion"]) == (name, "DRAFT")


def test_what_an_agent_lacks_or_cannot_do_here_is_refused_by_name(aws: Aws, create: Callable[..., str]) -> None:
    agents = aws.client("bedrock-agent")
    bare = agents.create_agent(agentName=f"bare-{uuid.uuid4().hex[:8]}")["agent"]["agentId"]
    with pytest.raises(ClientError, match="cannot be prepared: foundationModel is missing"):
        agents.prepare_agent(agentId=bare)
    with pytest.raises(ClientError, match="is NOT_PREPARED; call PrepareAgent"):
        invoked(aws, bare, "hello")
    with pytest.raises(ClientError, match=r"ConflictException.*is NOT_PREPARED; call PrepareAgent"):
        agents.create_agent_alias(agentId=bare, agentAliasName="live")
    agents.delete_agent(agentId=bare)
    with pytest.raises(ClientError, match=f"Agent not found: {bare}"):
        agents.get_agent(agentId=bare)
    parser = {"parserMode": "OVERRIDDEN", "promptCreationMode": "DEFAULT", "promptState": "ENABLED"}
    lambda_arn = "arn:aws:lambda:us-east-1:123456789012:function:parser"
    orchestration = {"promptType": "ORCHESTRATION", **parser}
    parsed = {"promptConfigurations": [orchestration], "overrideLambda": lambda_arn}
    unparsed = {"promptConfigurations": [{"promptType": "PRE_PROCESSING", **parser}]}
    empty = {"promptConfigurations": [{"promptType": "PRE_PROCESSING", "promptCreationMode": "OVERRIDDEN"}]}
    for more, error_pattern in (
        ({"promptOverrideConfiguration": parsed}, r"NotImplementedException.*Lambda function parses \(ORCHESTRATION"),
        ({"promptOverrideConfiguration": unparsed}, "overrideLambda is missing"),
        ({"promptOverrideConfiguration": empty}, "PRE_PROCESSING has no basePromptTemplate"),
        ({"agentCollaboration": "SUPERVISOR"}, "a SUPERVISOR without collaborators"),
    ):
        with pytest.raises(ClientError, match=error_pattern):
            agents.prepare_agent(agentId=create(prepare=False, **more))
    computer = {
        "actionGroupName": "computer",
        "parentActionGroupSignature": "ANTHROPIC.Computer",
        "parentActionGroupSignatureParams": {"type": "computer_20241022"},
    }
    with pytest.raises(ClientError, match=r"NotImplementedException.*signature ANTHROPIC\.Computer"):
        create(computer)
    custom = create(orchestrationType="CUSTOM_ORCHESTRATION")
    with pytest.raises(ClientError, match=r"NotImplementedException.*custom orchestration"):
        invoked(aws, custom, "hello")
    agent = create()
    with pytest.raises(ClientError, match="has no memory"):
        invoked(aws, agent, "hello", memoryId="someone")
    with pytest.raises(ClientError, match=r"NotImplementedException.*InvokeInlineAgent"):  # its path is PrepareAgent's
        aws.client("bedrock-agent-runtime").invoke_inline_agent(
            sessionId=agent, foundationModel=MODEL, instruction=INSTRUCTION, inputText="hello"
        )


def test_an_agent_asks_its_user(aws: Aws, create: Callable[..., str]) -> None:
    agent = create({"actionGroupName": "ask", "parentActionGroupSignature": "AMAZON.UserInput"})
    result = invoked(aws, agent, 'Use user__askuser with the question "What is your name?"')
    assert result["text"] == "What is your name?"
    assert of_kind(result, "observation")[-1]["type"] == "ASK_USER"
    again = invoked(aws, agent, "Ann", sessionId=result["session"])
    messages = json.loads(of_kind(again, "modelInvocationInput")[0]["text"])["messages"]
    assert [message["content"][0]["text"] for message in messages[1:]] == ["What is your name?", "Ann"]


def test_an_overridden_prompt_is_used(aws: Aws, create: Callable[..., str]) -> None:
    template = {"system": "$instruction$ Be brief. $prompt_session_attributes$ $tools$", "messages": []}
    prompt = {
        "promptType": "ORCHESTRATION",
        "promptCreationMode": "OVERRIDDEN",
        "basePromptTemplate": json.dumps(template),
        "inferenceConfiguration": {"temperature": 0.5, "maximumLength": 1000},
    }
    agent = create(promptOverrideConfiguration={"promptConfigurations": [prompt]})
    state = {"promptSessionAttributes": {"today": "Monday"}}
    model_input = of_kind(invoked(aws, agent, "Hello", sessionState=state), "modelInvocationInput")[0]
    assert json.loads(model_input["text"])["system"] == f"{INSTRUCTION} Be brief. today: Monday"
    assert model_input["inferenceConfiguration"] == {"temperature": 0.5, "maximumLength": 1000}


def test_parts_belong_to_a_version(aws: Aws, create: Callable[..., str], function: str) -> None:
    agents = aws.client("bedrock-agent")
    group = {"actionGroupName": "weather", "actionGroupExecutor": {"lambda": function}, "functionSchema": WEATHER}
    agent = create(group)
    draft = {"agentId": agent, "agentVersion": "DRAFT"}
    with pytest.raises(ClientError, match="already has weather"):
        agents.create_agent_action_group(**draft, **group)
    alias = agents.create_agent_alias(agentId=agent, agentAliasName="live")["agentAlias"]
    assert (alias["agentAliasStatus"], alias["routingConfiguration"]) == ("CREATING", [{"agentVersion": "1"}])
    summaries = agents.list_agent_action_groups(**draft)["actionGroupSummaries"]
    group_ids = {**draft, "actionGroupId": summaries[0]["actionGroupId"]}
    agents.update_agent_action_group(**group_ids, **group, description="changed")
    assert agents.get_agent_action_group(**group_ids)["agentActionGroup"]["description"] == "changed"
    assert agents.get_agent(agentId=agent)["agent"]["agentStatus"] == "NOT_PREPARED"
    published_group = agents.get_agent_action_group(**{**group_ids, "agentVersion": "1"})["agentActionGroup"]
    assert (published_group["agentVersion"], published_group.get("description"), published_group["functionSchema"]) == (
        "1",
        None,
        WEATHER,
    )
    with pytest.raises(ClientError, match="is ENABLED; disable it first"):
        agents.delete_agent_action_group(**group_ids)
    agents.update_agent_action_group(**group_ids, **group, actionGroupState="DISABLED")
    agents.delete_agent_action_group(**group_ids)
    assert agents.list_agent_action_groups(**draft)["actionGroupSummaries"] == []
    assert len(agents.list_agent_action_groups(**{**draft, "agentVersion": "1"})["actionGroupSummaries"]) == 1


def test_aliases_route_to_versions(aws: Aws, create: Callable[..., str]) -> None:
    agents = aws.client("bedrock-agent")
    agent = create()
    live = agents.create_agent_alias(agentId=agent, agentAliasName="live")["agentAlias"]["agentAliasId"]
    agents.create_agent_alias(agentId=agent, agentAliasName="next")
    alias_ids = {"agentId": agent, "agentAliasId": live}
    with pytest.raises(ClientError, match="The aliases live route to version 1"):
        agents.delete_agent_version(agentId=agent, agentVersion="1")
    agents.update_agent_alias(**alias_ids, agentAliasName="live", routingConfiguration=[{"agentVersion": "2"}])
    read = agents.get_agent_alias(**alias_ids)["agentAlias"]
    assert (read["agentAliasStatus"], read["routingConfiguration"]) == ("PREPARED", [{"agentVersion": "2"}])
    history = read["agentAliasHistoryEvents"]
    assert [event["routingConfiguration"][0]["agentVersion"] for event in history] == ["1", "2"]
    versions = agents.list_agent_versions(agentId=agent)["agentVersionSummaries"]
    assert [item["agentVersion"] for item in versions] == ["2", "1", "DRAFT"]
    agents.delete_agent_version(agentId=agent, agentVersion="1")
    version = agents.get_agent_version(agentId=agent, agentVersion="2")["agentVersion"]
    assert (version["version"], version["agentStatus"], version["instruction"]) == ("2", "PREPARED", INSTRUCTION)
    with pytest.raises(ClientError, match="Agent version not found"):
        agents.create_agent_alias(agentId=agent, agentAliasName="x", routingConfiguration=[{"agentVersion": "1"}])
    with pytest.raises(ClientError, match="TSTALIASID always routes"):
        agents.delete_agent_alias(agentId=agent, agentAliasId="TSTALIASID")
    agents.update_agent_alias(**alias_ids, agentAliasName="live", aliasInvocationState="REJECT_INVOCATIONS")
    with pytest.raises(ClientError, match="rejects invocations"):
        invoked(aws, agent, "hello", alias=live)
    with pytest.raises(ClientError, match="has the aliases live, next"):
        agents.delete_agent(agentId=agent)
    agents.delete_agent_alias(**alias_ids)
    ids = [item["agentAliasName"] for item in agents.list_agent_aliases(agentId=agent)["agentAliasSummaries"]]
    assert ids == ["AgentTestAlias", "next"]


def test_a_function_is_called_with_the_documented_event(aws: Aws, weather: str) -> None:
    state = {"sessionAttributes": {"customer": "c-7"}, "promptSessionAttributes": {"today": "Monday"}}
    result = invoked(aws, weather, "What is the weather in Paris?", sessionState=state)
    assert "21 degrees" in result["text"]
    assert steps(result) == [
        "modelInvocationInput", "modelInvocationOutput", "invocationInput", "observation",
        "modelInvocationInput", "modelInvocationOutput", "observation",
    ]  # fmt: skip
    assert "today: Monday" in of_kind(result, "modelInvocationInput")[0]["text"]
    assert of_kind(result, "modelInvocationOutput")[0]["metadata"]["usage"]["inputTokens"] > 0
    call = of_kind(result, "invocationInput")[0]["actionGroupInvocationInput"]
    parameters = [{"name": "city", "type": "string", "value": "Paris"}]
    assert (call["function"], call["executionType"], call["parameters"]) == ("get_weather", "LAMBDA", parameters)
    assert of_kind(result, "observation")[-1]["finalResponse"]["text"] == result["text"]
    event = result["trace"][0]
    assert (event["agentId"], event["agentVersion"], event["sessionId"]) == (weather, "DRAFT", result["session"])
    again = invoked(aws, weather, "What is the weather in Rome?", sessionId=result["session"])
    messages = json.loads(of_kind(again, "modelInvocationInput")[0]["text"])["messages"]
    assert messages[0]["content"][0]["text"] == "What is the weather in Paris?"
    assert "Rome" in again["text"]


def test_the_lambda_event_has_every_member(aws: Aws, create: Callable[..., str], function: str) -> None:
    bucket = f"schemas-{uuid.uuid4().hex[:8]}"
    aws.client("s3").create_bucket(Bucket=bucket)
    aws.client("s3").put_object(Bucket=bucket, Key="orders.yaml", Body=ORDERS.encode())
    place = {"s3": {"s3BucketName": bucket, "s3ObjectKey": "orders.yaml"}}
    orders = {"actionGroupName": "orders", "actionGroupExecutor": {"lambda": function}, "apiSchema": place}
    agent = create(orders)
    text = 'Add the note "call back" to order 1234'
    state = {"sessionAttributes": {"customer": "c-7"}, "promptSessionAttributes": {"today": "Monday"}}
    result = invoked(aws, agent, text, sessionState=state)
    call = of_kind(result, "invocationInput")[0]["actionGroupInvocationInput"]
    assert (call["apiPath"], call["verb"]) == ("/orders/{orderId}/notes", "post")
    assert call["parameters"] == [{"name": "orderId", "type": "integer", "value": "1234"}]
    event = json.loads(of_kind(result, "observation")[0]["actionGroupInvocationOutput"]["text"])["event"]
    assert event == {
        "messageVersion": "1.0",
        "agent": {"id": agent, "alias": "TSTALIASID", "version": "DRAFT", "name": event["agent"]["name"]},
        "inputText": text,
        "sessionId": result["session"],
        "actionGroup": "orders",
        "apiPath": "/orders/{orderId}/notes",
        "httpMethod": "POST",
        "parameters": call["parameters"],
        "requestBody": {"content": {"application/json": {"properties": given_note(event)}}},
        **state,
    }
    assert {"name": "note", "type": "string", "value": "call back"} in given_note(event)
    aws.client("s3").delete_object(Bucket=bucket, Key="orders.yaml")  # what is prepared keeps the schema
    again = invoked(aws, agent, text, sessionId=result["session"])
    event = json.loads(of_kind(again, "observation")[0]["actionGroupInvocationOutput"]["text"])["event"]
    assert event["sessionAttributes"] == {"customer": "c-7", "seen": "yes"}
    assert event["promptSessionAttributes"] == {}


def given_note(event: dict[str, Any]) -> list[dict[str, str]]:
    return event["requestBody"]["content"]["application/json"]["properties"]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"city": "raise"}, "encountered a problem.*no such city"),
        ({"city": "odd"}, "error processing the Lambda response"),
        ({"state": "FAILURE"}, "The action group weather failed: In"),
    ],
)
def test_a_function_that_fails_ends_the_stream(
    aws: Aws, weather: str, attributes: dict[str, str], message: str
) -> None:
    with pytest.raises(EventStreamError, match=f"dependencyFailedException.*{message}"):
        invoked(aws, weather, "What is the weather in Paris?", sessionState={"sessionAttributes": attributes})


def test_a_function_can_have_the_model_try_again(aws: Aws, weather: str) -> None:
    state = {"sessionAttributes": {"state": "REPROMPT"}}
    result = invoked(aws, weather, "What is the weather in Paris?", sessionState=state)
    observation = of_kind(result, "observation")[0]
    assert (observation["type"], observation["repromptResponse"]["source"]) == ("REPROMPT", "ACTION_GROUP")


def test_control_returns_to_the_caller_and_back(aws: Aws, create: Callable[..., str]) -> None:
    control = {"customControl": "RETURN_CONTROL"}
    agent = create({"actionGroupName": "weather", "actionGroupExecutor": control, "functionSchema": WEATHER})
    first_turn = invoked(aws, agent, "What is the weather in Paris?")
    function_input = first_turn["control"]["invocationInputs"][0]["functionInvocationInput"]
    assert first_turn["text"] == ""
    assert (function_input["function"], function_input["actionInvocationType"]) == ("get_weather", "RESULT")
    assert function_input["parameters"] == [{"name": "city", "type": "string", "value": "Paris"}]
    body = {"TEXT": {"body": "In Paris it snows at 3 degrees below zero."}}
    result = {"actionGroup": "weather", "function": "get_weather", "responseBody": body}
    back = {
        "invocationId": first_turn["control"]["invocationId"],
        "returnControlInvocationResults": [{"functionResult": result}],
    }
    other = {"returnControlInvocationResults": [{"functionResult": {**result, "function": "other"}}]}
    with pytest.raises(EventStreamError, match="The result of get_weather of the action group"):
        invoked(aws, agent, sessionId=first_turn["session"], sessionState={**back, **other})
    with pytest.raises(ClientError, match="is not waiting for results with this invocationId"):
        invoked(aws, agent, sessionId=first_turn["session"], sessionState={**back, "invocationId": "other"})
    answer = invoked(aws, agent, sessionId=first_turn["session"], sessionState=back)
    assert "snows" in answer["text"]
    with pytest.raises(ClientError, match="is not waiting for results"):
        invoked(aws, agent, sessionId=first_turn["session"], sessionState=back)


@pytest.mark.parametrize(("state", "part"), [("CONFIRM", "21 degrees"), ("DENY", "denied")])
def test_the_user_confirms_a_call(aws: Aws, create: Callable[..., str], function: str, state: str, part: str) -> None:
    schema = {"functions": [{**WEATHER["functions"][0], "requireConfirmation": "ENABLED"}]}
    agent = create(
        {"actionGroupName": "weather", "actionGroupExecutor": {"lambda": function}, "functionSchema": schema}
    )
    first_turn = invoked(aws, agent, "What is the weather in Paris?")
    function_input = first_turn["control"]["invocationInputs"][0]["functionInvocationInput"]
    assert function_input["actionInvocationType"] == "USER_CONFIRMATION"
    result = {"actionGroup": "weather", "function": "get_weather", "confirmationState": state}
    back = {
        "invocationId": first_turn["control"]["invocationId"],
        "returnControlInvocationResults": [{"functionResult": result}],
    }
    answer = invoked(aws, agent, sessionId=first_turn["session"], sessionState=back)
    assert part in of_kind(answer, "observation")[0]["actionGroupInvocationOutput"]["text"]


def test_a_confirmed_call_is_executed_once_if_a_request_is_refused_or_fails(
    aws: Aws, create: Callable[..., str], create_function: Callable[..., str]
) -> None:
    function = create_function(
        "calls = []\ndef handle(event, context):\n    calls.append(event)\n    group = event['actionGroup']\n"
        "    if len(calls) == 2:\n        raise RuntimeError('busy')\n"
        "    body = {'TEXT': {'body': f'This is call {len(calls)}.'}}\n    answer = {'responseBody': body}\n"
        "    response = {'actionGroup': group, 'function': event['function'], 'functionResponse': answer}\n"
        "    return {'messageVersion': '1.0', 'response': response}\n"
    )
    schema = {"functions": [{**WEATHER["functions"][0], "requireConfirmation": "ENABLED"}]}
    agent = create(
        {"actionGroupName": "weather", "actionGroupExecutor": {"lambda": function}, "functionSchema": schema}
    )
    first_turn = invoked(aws, agent, "What is the weather in Paris, and what is the weather in Rome?")
    confirmed = {"actionGroup": "weather", "function": "get_weather", "confirmationState": "CONFIRM"}

    def answer(*functions: str) -> list[str]:
        state = {
            "invocationId": first_turn["control"]["invocationId"],
            "returnControlInvocationResults": [{"functionResult": {**confirmed, "function": f}} for f in functions],
        }
        result = invoked(aws, agent, sessionId=first_turn["session"], sessionState=state)
        outputs = [observation.get("actionGroupInvocationOutput") for observation in of_kind(result, "observation")]
        return [output["text"] for output in outputs if output]

    with pytest.raises(EventStreamError, match="is not waiting for results of the action group"):
        answer("get_weather", "get_weather", "other")
    with pytest.raises(EventStreamError, match="busy"):
        answer("get_weather", "get_weather")  # the first call is executed, the second fails
    assert answer("get_weather", "get_weather") == ["This is call 3."]


def test_a_session_ends(aws: Aws, weather: str) -> None:
    first = invoked(aws, weather, "What is the weather in Paris?")
    assert "terminated" in invoked(aws, weather, sessionId=first["session"], endSession=True)["text"]
    again = invoked(aws, weather, "What is the weather in Rome?", sessionId=first["session"])
    assert "Paris" not in of_kind(again, "modelInvocationInput")[0]["text"]
    untraced = invoked(aws, weather, "What is the weather in Rome?", enableTrace=False)
    assert untraced["trace"] == []
    with pytest.raises(ClientError, match="inputText is missing"):
        invoked(aws, weather)


def test_a_knowledge_base_is_searched_and_cited(aws: Aws, create: Callable[..., str], base: str) -> None:
    agents = aws.client("bedrock-agent")
    agent = create()
    draft = {"agentId": agent, "agentVersion": "DRAFT"}
    about = "Search here for the rules of the shop about returns, parcels and warranty"
    agents.associate_agent_knowledge_base(**draft, knowledgeBaseId=base, description=about)
    with pytest.raises(ClientError, match="Knowledge base not found"):
        agents.associate_agent_knowledge_base(**draft, knowledgeBaseId="AAAAAAAAAA", description="d")
    agents.prepare_agent(agentId=agent)
    result = invoked(aws, agent, "What are the rules of the shop about returns of parcels?")
    look_up = of_kind(result, "invocationInput")[0]
    assert (look_up["invocationType"], look_up["knowledgeBaseLookupInput"]["knowledgeBaseId"]) == (
        "KNOWLEDGE_BASE",
        base,
    )
    references = of_kind(result, "observation")[0]["knowledgeBaseLookupOutput"]["retrievedReferences"]
    assert "30 days" in references[0]["content"]["text"]
    assert "30 days" in result["text"]
    reference = result["cited"][0]["retrievedReferences"][0]
    assert reference["location"] == {"type": "CUSTOM", "customDocumentLocation": {"id": "returns"}}
    state = agents.update_agent_knowledge_base(**draft, knowledgeBaseId=base, knowledgeBaseState="DISABLED")
    assert state["agentKnowledgeBase"]["description"] == about
    agents.prepare_agent(agentId=agent)
    assert "tools" not in of_kind(invoked(aws, agent, "And now?"), "modelInvocationInput")[0]["text"]
    agents.disassociate_agent_knowledge_base(**draft, knowledgeBaseId=base)
    assert agents.list_agent_knowledge_bases(**draft)["agentKnowledgeBaseSummaries"] == []


def test_a_guardrail_stops_question_and_answer(aws: Aws, create: Callable[..., str]) -> None:
    guardrail = aws.client("bedrock").create_guardrail(
        name=f"guardrail-{uuid.uuid4().hex[:8]}",
        wordPolicyConfig={"wordsConfig": [{"text": "bananas"}]},
        blockedInputMessaging="That is not for me.",
        blockedOutputsMessaging="I cannot say that.",
    )
    guardrail_configuration = {"guardrailIdentifier": guardrail["guardrailId"], "guardrailVersion": "DRAFT"}
    agent = create(guardrailConfiguration=guardrail_configuration)
    result = invoked(aws, agent, "Tell me about bananas")
    assert result["text"] == "That is not for me."
    trace = next(event["trace"]["guardrailTrace"] for event in result["trace"] if "guardrailTrace" in event["trace"])
    assert trace["action"] == "INTERVENED"
    assert trace["inputAssessments"][0]["wordPolicy"]["customWords"][0]["match"] == "bananas"
    other = invoked(aws, agent, "Tell me about kettles", sessionId=result["session"])
    assert other["text"] != "That is not for me."


def test_a_turn_whose_answer_a_guardrail_masked_stays_in_the_session(aws: Aws, create: Callable[..., str]) -> None:
    guardrail = aws.client("bedrock").create_guardrail(
        name=f"guardrail-{uuid.uuid4().hex[:8]}",
        sensitiveInformationPolicyConfig={
            "regexesConfig": [{"name": "word", "pattern": r"\b[a-z]+\b", "action": "ANONYMIZE", "inputEnabled": False}]
        },
        blockedInputMessaging="That is not for me.",
        blockedOutputsMessaging="I cannot say that.",
    )
    agent = create(
        guardrailConfiguration={"guardrailIdentifier": guardrail["guardrailId"], "guardrailVersion": "DRAFT"}
    )
    masked = invoked(aws, agent, "Who is Ada?")
    assert "{word}" in masked["text"]
    again = invoked(aws, agent, "And now?", sessionId=masked["session"])
    assert "Who is Ada?" in of_kind(again, "modelInvocationInput")[0]["text"]


def test_a_supervisor_calls_its_collaborators(
    aws: Aws, create: Callable[..., str], function: str, weather: str
) -> None:
    agents = aws.client("bedrock-agent")
    control = {"customControl": "RETURN_CONTROL"}
    returning = create({"actionGroupName": "weather", "actionGroupExecutor": control, "functionSchema": WEATHER})
    for child, control_returns in ((weather, False), (returning, True)):
        alias = agents.create_agent_alias(agentId=child, agentAliasName=f"a{uuid.uuid4().hex[:6]}")["agentAlias"]
        supervisor = create(prepare=False, agentCollaboration="SUPERVISOR")
        draft = {"agentId": supervisor, "agentVersion": "DRAFT"}
        collaborator = {
            "agentDescriptor": {"aliasArn": alias["agentAliasArn"]},
            "collaboratorName": "weather_forecaster",
            "collaborationInstruction": "Knows the weather of every city; ask it about the weather",
        }
        association = agents.associate_agent_collaborator(**draft, **collaborator)["agentCollaborator"]
        agents.prepare_agent(agentId=supervisor)
        result = invoked(aws, supervisor, "What is the weather in Paris?")
        own = {**draft, "collaboratorId": association["collaboratorId"]}
        nested = [event for event in result["trace"] if event.get("collaboratorName") == "weather_forecaster"]
        assert {event["agentId"] for event in nested} == {child}
        assert [item["agentAliasArn"].rpartition("/")[2] for item in nested[0]["callerChain"]] == [
            "TSTALIASID",
            alias["agentAliasId"],
        ]
        if control_returns:
            function_input = result["control"]["invocationInputs"][0]["functionInvocationInput"]
            assert (function_input["collaboratorName"], function_input["agentId"]) == ("weather_forecaster", child)
            body = {"TEXT": {"body": "In Paris it is 21 degrees."}}
            answer = {"actionGroup": "weather", "function": "get_weather", "agentId": child, "responseBody": body}
            back = {
                "invocationId": result["control"]["invocationId"],
                "returnControlInvocationResults": [{"functionResult": answer}],
            }
            result = invoked(aws, supervisor, sessionId=result["session"], sessionState=back)
        assert "21 degrees" in result["text"]
        output = next(item for item in of_kind(result, "observation") if item["type"] == "AGENT_COLLABORATOR")
        assert "21 degrees" in output["agentCollaboratorInvocationOutput"]["output"]["text"]
        relaying = {**collaborator, "relayConversationHistory": "TO_COLLABORATOR"}
        agents.update_agent_collaborator(**own, **relaying)
        read = agents.get_agent_collaborator(**own)["agentCollaborator"]
        assert read["relayConversationHistory"] == "TO_COLLABORATOR"
        agents.disassociate_agent_collaborator(**own)
        assert agents.list_agent_collaborators(**draft)["agentCollaboratorSummaries"] == []
    with pytest.raises(ClientError, match="is not a supervisor"):
        agents.associate_agent_collaborator(agentId=weather, agentVersion="DRAFT", **collaborator)


def test_agents_that_call_one_another_come_to_an_end(aws: Aws, create: Callable[..., str]) -> None:
    agents = aws.client("bedrock-agent")
    first, second = (create(prepare=False, agentCollaboration="SUPERVISOR") for _ in range(2))
    leaf = create()
    about = {"collaborationInstruction": "Knows the weather of every city", "collaboratorName": "weather_forecaster"}

    def associate(agent: str, alias: str) -> str:
        draft = {"agentId": agent, "agentVersion": "DRAFT"}
        association = agents.associate_agent_collaborator(**draft, **about, agentDescriptor={"aliasArn": alias})
        agents.prepare_agent(agentId=agent)
        return association["agentCollaborator"]["collaboratorId"]

    def alias(agent: str) -> dict[str, Any]:
        return agents.create_agent_alias(agentId=agent, agentAliasName=f"a{uuid.uuid4().hex[:6]}")["agentAlias"]

    temporary = associate(first, alias(leaf)["agentAliasArn"])
    of_first = alias(first)
    associate(second, of_first["agentAliasArn"])
    of_second = alias(second)
    draft = {"agentId": first, "agentVersion": "DRAFT", "collaboratorId": temporary}
    agents.update_agent_collaborator(**draft, **about, agentDescriptor={"aliasArn": of_second["agentAliasArn"]})
    agents.prepare_agent(agentId=first)
    number = alias(first)["routingConfiguration"]
    agents.update_agent_alias(
        agentId=first, agentAliasId=of_first["agentAliasId"], agentAliasName="x", routingConfiguration=number
    )
    with pytest.raises(EventStreamError, match="at most 5 levels"):
        invoked(aws, first, "What is the weather in Paris?")


def test_the_permission_to_invoke_names_the_alias(aws: Aws, create: Callable[..., str]) -> None:
    agent = create()
    other = aws.client("bedrock-agent").create_agent_alias(agentId=agent, agentAliasName="live")["agentAlias"]
    resource = f"arn:aws:bedrock:us-east-1:123456789012:agent-alias/{agent}/TSTALIASID"
    name, trust = f"caller-{uuid.uuid4().hex[:8]}", {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}
    allowed = [
        {"Effect": "Allow", "Action": "bedrock:InvokeAgent", "Resource": resource},
        {
            "Effect": "Allow",
            "Action": "bedrock:GetAgent",
            "Resource": f"arn:aws:bedrock:us-east-1:123456789012:agent/{agent}",
        },
    ]
    iam = aws.client("iam")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    policy = json.dumps({"Version": "2012-10-17", "Statement": allowed})
    iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=policy)
    assumed_role = aws.client("sts").assume_role(
        RoleArn=f"arn:aws:iam::123456789012:role/{name}", RoleSessionName="test"
    )
    credentials = assumed_role["Credentials"]

    def client(service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=aws.state.url,
            region_name=aws.state.region,
            aws_access_key_id=credentials["AccessKeyId"],
            aws_secret_access_key=credentials["SecretAccessKey"],
            aws_session_token=credentials["SessionToken"],
        )

    with (
        contextlib.closing(client("bedrock-agent-runtime")) as runtime,
        contextlib.closing(client("bedrock-agent")) as own,
    ):
        request = {"agentId": agent, "sessionId": "one", "inputText": "Hello"}
        with contextlib.closing(runtime.invoke_agent(**request, agentAliasId="TSTALIASID")["completion"]) as events:
            assert [list(event) for event in events] == [["chunk"]]
        with pytest.raises(ClientError, match=f"bedrock:InvokeAgent on resource.*{other['agentAliasId']}"):
            runtime.invoke_agent(**request, agentAliasId=other["agentAliasId"])
        assert own.get_agent(agentId=agent)["agent"]["agentId"] == agent
        with pytest.raises(ClientError, match="bedrock:PrepareAgent"):
            own.prepare_agent(agentId=agent)


def test_the_model_that_an_agent_names_is_described(aws: Aws) -> None:
    bedrock = aws.client("bedrock")
    model_details = bedrock.get_foundation_model(modelIdentifier=MODEL)["modelDetails"]
    assert (model_details["modelId"], model_details["providerName"], model_details["outputModalities"]) == (
        MODEL,
        "Amazon",
        ["TEXT"],
    )
    assert model_details["modelArn"] == f"arn:aws:bedrock:us-east-1::foundation-model/{MODEL}"
    with pytest.raises(ClientError, match="modelIdentifier must match"):
        bedrock.get_foundation_model(modelIdentifier="nothing")


@pytest.mark.parametrize(("relays", "is_given"), [("TO_COLLABORATOR", True), ("DISABLED", False)])
def test_a_collaborator_is_given_the_conversation_if_it_is_to(
    aws: Aws, create: Callable[..., str], weather: str, relays: str, is_given: bool
) -> None:
    agents = aws.client("bedrock-agent")
    alias = agents.create_agent_alias(agentId=weather, agentAliasName=f"a{uuid.uuid4().hex[:6]}")["agentAlias"]
    supervisor = create(prepare=False, agentCollaboration="SUPERVISOR")
    agents.associate_agent_collaborator(
        agentId=supervisor,
        agentVersion="DRAFT",
        agentDescriptor={"aliasArn": alias["agentAliasArn"]},
        collaboratorName="weather_forecaster",
        collaborationInstruction="Knows the weather of every city; ask it about the weather",
        relayConversationHistory=relays,
    )
    agents.prepare_agent(agentId=supervisor)
    first = invoked(aws, supervisor, "My favourite colour is green.")
    second = invoked(aws, supervisor, "What is the weather in Paris?", sessionId=first["session"])
    nested = [event["trace"] for event in second["trace"] if event.get("collaboratorName") == "weather_forecaster"]
    prompt = nested[0]["orchestrationTrace"]["modelInvocationInput"]["text"]
    assert ("favourite colour" in prompt) is is_given
