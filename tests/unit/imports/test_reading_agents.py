"""An agent's JSON documents, as Bedrock gives them or does not, become a value without secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.aws.bedrock_agent_parts import AgentRoute, RelatedText, VersionDocuments
from loomlib.aws.bedrock_models import IdentifiedModel, identifier_kind
from loomlib.imports.bedrock_agents import ActionGroup, ImportedAgent, assess_features
from loomlib.imports.bedrock_agents.snapshot import AgentSnapshot, agent_digest, read_agent, snapshot_files
from tests.imported_agents import ORDERS_API, lambda_arn

ROUTE = AgentRoute(id="ALIASLIVE1", name="live", version="3")
AGENT = {
    "agentId": "ORDERS0001",
    "agentName": "order-desk",
    "instruction": "You help.",
    "foundationModel": "amazon.nova-pro-v1:0",
}
BY_LAMBDA = {"actionGroupExecutor": {"lambda": lambda_arn("orders")}}
AWS_SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYaB"
TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def read(
    *groups: dict[str, Any], agent: dict[str, Any] | None = None, route: AgentRoute = ROUTE, **more: Any
) -> ImportedAgent:
    action_groups = [
        {
            "actionGroupId": f"GROUP{number:05}",
            "actionGroupName": f"group{number}",
            "actionGroupState": "ENABLED",
            **group,
        }
        for number, group in enumerate(groups)
    ]
    return read_agent(
        VersionDocuments(agent={**AGENT, **(agent or {})}, action_groups=tuple(action_groups), **more), route
    ).agent


def group_of(*groups: dict[str, Any], **more: Any) -> ActionGroup:
    return read(*groups, **more).action_groups[0]


# API schemas in every form


@pytest.mark.parametrize(
    "given",
    [
        {"payload": json.dumps(ORDERS_API)},
        json.dumps(ORDERS_API),
        {"payload": ORDERS_API},
        ORDERS_API,
        {"payload": json.dumps(json.dumps(ORDERS_API))},
    ],
    ids=["payload", "string", "payload that is an object", "object", "string in a string"],
)
def test_an_api_schema_is_read_in_every_form_also_beside_other_groups(given: Any) -> None:
    """A string as `apiSchema` crashes an importer as soon as there are several action groups (agentcore-cli, 1913)."""
    functions = {"functionSchema": {"functions": [{"name": "f", "description": "Does it"}]}}
    first, second, third = read(
        {**BY_LAMBDA, "apiSchema": given}, {**BY_LAMBDA, "apiSchema": given}, {**BY_LAMBDA, **functions}
    ).action_groups
    assert [tool.name for tool in first.tools] == ["group0__getOrder", "group0__addNote"]
    assert [tool.name for tool in second.tools] == ["group1__getOrder", "group1__addNote"]
    assert [tool.name for tool in third.tools] == ["group2__f"]
    assert (first.schema, first.api_source, first.problem, first.api_document) == ("openapi", "inline", "", ORDERS_API)
    assert (third.schema, third.api_document) == ("functions", None)


def test_a_schema_in_s3_is_read_and_one_that_cannot_be_read_needs_you() -> None:
    s3 = {"s3": {"s3BucketName": "bucket", "s3ObjectKey": "orders.json"}}
    source = "s3://bucket/orders.json"
    schemas = {"GROUP00000": RelatedText(text=json.dumps(ORDERS_API), source=source)}
    group = group_of({**BY_LAMBDA, "apiSchema": s3}, schemas=schemas)
    assert (group.schema, group.api_source, len(group.tools), group.problem) == ("openapi", source, 2, "")
    for reference, problem in (
        (
            RelatedText(source=source, problem=f"the schema {source} cannot be read: AccessDenied"),
            "cannot be read: AccessDenied",
        ),
        (
            RelatedText(text="{", source=source),
            f"its schema {source} cannot be read: The document is neither JSON nor YAML",
        ),
        (RelatedText(text="", source=source), "its schema is missing"),
    ):
        agent = read({**BY_LAMBDA, "apiSchema": s3}, schemas={"GROUP00000": reference})
        group = agent.action_groups[0]
        assert (group.schema, group.tools, group.executor) == ("missing", (), "lambda")
        assert problem in group.problem
        states = {feature.name: feature for feature in assess_features(agent)}
        assert states["action_groups"].state == "needs you"
        assert problem in states["action_groups"].reason


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "it has no schema of its functions"),
        ({"apiSchema": {}}, "its schema is missing"),
        ({"apiSchema": ""}, "its schema is missing"),
        ({"apiSchema": {"payload": ""}}, "its schema is missing"),
        ({"apiSchema": {"payload": None}}, "its schema is missing"),
        ({"apiSchema": 7}, "its schema is missing"),
        ({"apiSchema": {"payload": "hello"}}, "its schema cannot be read: The document is not an object"),
        ({"apiSchema": {"payload": '{"openapi": "3.0.0"}'}}, "the document has no operations"),
        ({"functionSchema": {"functions": []}}, "its schema has no functions"),
        ({"functionSchema": {"functions": [{"description": "nameless"}]}}, "its schema has no functions"),
        ({"functionSchema": "{"}, "its schema cannot be read"),
    ],
)  # fmt: skip
def test_a_schema_that_is_missing_or_broken_is_a_problem_of_its_group_alone(
    given: dict[str, Any], problem: str
) -> None:
    broken, fine = read({**BY_LAMBDA, **given}, {**BY_LAMBDA, "apiSchema": ORDERS_API}).action_groups
    assert problem in broken.problem
    assert broken.tools == ()
    assert (len(fine.tools), fine.problem) == (2, "")


def test_functions_become_tools_with_their_parameters() -> None:
    detail = {
        "city": {"type": "string", "description": "The city", "required": True},
        "days": {"type": "array"},
        "odd": {"type": "object"},
    }
    functions = [
        {"name": "get_weather", "description": "Returns it", "parameters": detail, "requireConfirmation": "ENABLED"}
    ]
    for schema in ({"functions": functions}, json.dumps({"functions": functions}), json.dumps(functions), functions):
        (tool,) = group_of({**BY_LAMBDA, "functionSchema": schema}).tools
        assert (tool.name, tool.function, tool.requires_confirmation) == ("group0__get_weather", "get_weather", True)
        assert tool.input_schema == {
            "type": "object",
            "required": ["city"],
            "properties": {
                "city": {"type": "string", "description": "The city"},
                "days": {"type": "array", "items": {"type": "string"}},
                "odd": {"type": "string"},
            },
        }


def test_executors_and_action_groups_of_bedrock_itself() -> None:
    schema = {"functionSchema": {"functions": [{"name": "f"}]}}
    signatures = (
        "AMAZON.UserInput",
        "AMAZON.CodeInterpreter",
        "ANTHROPIC.Computer",
        "ANTHROPIC.Bash",
        "ANTHROPIC.TextEditor",
    )
    agent = read(
        {**BY_LAMBDA, **schema},
        {"actionGroupExecutor": {"customControl": "RETURN_CONTROL"}, **schema},
        schema,
        *({"parentActionSignature": name, "parentActionGroupSignatureParams": {"type": "x"}} for name in signatures),
        {"parentActionSignature": "AMAZON.New"},
        {**BY_LAMBDA, **schema, "actionGroupState": "DISABLED"},
    )
    assert [
        (group.executor, group.built_in, bool(group.problem), group.is_enabled) for group in agent.action_groups
    ] == [
        ("lambda", None, False, True),
        ("return_control", None, False, True),
        ("none", None, True, True),
        ("built_in", "user_input", False, True),
        ("built_in", "code_interpreter", False, True),
        ("built_in", "computer", False, True),
        ("built_in", "bash", False, True),
        ("built_in", "text_editor", False, True),
        ("built_in", None, True, True),
        ("lambda", None, False, False),
    ]
    assert agent.action_groups[5].built_in_parameters == {"type": "x"}
    assert agent.takes_user_input
    assert agent.runs_code


def test_long_and_equal_names_of_tools_are_cut_and_stay_different() -> None:
    name = "returns_the_status_of_an_order_that_a_customer_placed_in_one_of_our_shops"
    functions = [{"name": f"{name}_{ending}"} for ending in ("today", "before")] + [
        {"name": "a b"},
        {"name": "a?b"},
        {"name": "A_B"},
    ]
    tools = group_of({**BY_LAMBDA, "functionSchema": {"functions": functions}}).tools
    names = [tool.name for tool in tools]
    assert len({name.lower() for name in names}) == 5
    assert all(len(name) <= 64 for name in names)
    assert names[2:] == ["group0__a_b", "group0__a_b_2", "group0__A_B_3"]
    assert [tool.function for tool in tools][:1] == [f"{name}_today"]
    again = group_of({**BY_LAMBDA, "functionSchema": {"functions": functions[1::-1]}}).tools
    assert {tool.function: tool.name for tool in again} == {tool.function: tool.name for tool in tools[:2]}


# The other parts


def test_steps_keep_their_prompts_parameters_and_parsers_in_the_order_of_a_turn() -> None:
    def step(kind: str, **more: Any) -> dict[str, Any]:
        return {"promptType": kind, "promptState": "ENABLED", "promptCreationMode": "OVERRIDDEN", **more}

    inference = {"temperature": 0.5, "topP": 0.9, "topK": 50, "maximumLength": 100, "stopSequences": ["</x>"]}
    configuration = {
        "overrideLambda": lambda_arn("parser"),
        "promptConfigurations": [
            step("POST_PROCESSING", promptState="DISABLED", promptCreationMode="DEFAULT", basePromptTemplate="x"),
            step("ORCHESTRATION", basePromptTemplate="$instruction$", inferenceConfiguration=inference,
                 parserMode="OVERRIDDEN", additionalModelRequestFields={"thinking": {"type": "disabled"}}),
            step("PRE_PROCESSING", basePromptTemplate="$question$", foundationModel="amazon.nova-lite-v1:0"),
            step("SOMETHING_NEW"),
            "no object",
        ],
    }  # fmt: skip
    agent = read(agent={"promptOverrideConfiguration": configuration})
    assert [(s.name, s.is_enabled, s.is_overridden, s.template, s.model) for s in agent.prompts] == [
        ("pre_processing", True, True, "$question$", "amazon.nova-lite-v1:0"),
        ("orchestration", True, True, "$instruction$", ""),
        ("post_processing", False, False, "", ""),
    ]
    settings = agent.inference
    assert (settings.temperature, settings.top_p, settings.top_k, settings.max_tokens) == (0.5, 0.9, 50, 100)
    assert (settings.stop_sequences, settings.more) == (("</x>",), {"thinking": {"type": "disabled"}})
    assert [step.parser_lambda for step in agent.prompts] == ["", lambda_arn("parser"), ""]


def test_knowledge_bases_guardrail_memory_and_custom_orchestration() -> None:
    agent = read(
        agent={
            "guardrailConfiguration": {"guardrailIdentifier": "guard0000001", "guardrailVersion": "2"},
            "memoryConfiguration": {
                "enabledMemoryTypes": ["SESSION_SUMMARY"],
                "storageDays": 7,
                "sessionSummaryConfiguration": {"maxRecentSessions": 3},
            },
            "orchestrationType": "CUSTOM_ORCHESTRATION",
            "customOrchestration": {"executor": {"lambda": lambda_arn("loop")}},
            "idleSessionTTLInSeconds": 1800,
            "customerEncryptionKeyArn": "arn:aws:kms:us-east-1:123456789012:key/k",
            "agentResourceRoleArn": "arn:aws:iam::123456789012:role/r",
        },
        knowledge_bases=(
            {"knowledgeBaseId": "KB2", "description": "Rules", "knowledgeBaseState": "DISABLED"},
            {"knowledgeBaseId": "KB1", "description": "Orders", "knowledgeBaseState": "ENABLED"},
        ),
        base_names={"KB1": RelatedText(text="orders"), "KB2": RelatedText(problem="it does not exist")},
        guardrail_name=RelatedText(text="polite"),
        tags={"team": "shop", "api_key": "abc"},
    )
    assert [(base.id, base.name, base.is_enabled, base.problem) for base in agent.knowledge_bases] == [
        ("KB1", "orders", True, ""), ("KB2", "", False, "it does not exist"),
    ]  # fmt: skip
    assert agent.guardrail is not None
    assert (agent.guardrail.id, agent.guardrail.version, agent.guardrail.name) == ("guard0000001", "2", "polite")
    assert agent.memory is not None
    assert (agent.memory.storage_days, agent.memory.max_recent_sessions, agent.idle_timeout_s) == (7, 3, 1_800)
    assert agent.orchestration_lambda == lambda_arn("loop")
    assert agent.tags == {"team": "shop", "api_key": "[secret]"}
    assert agent.encryption_key_arn.endswith("key/k")


@pytest.mark.parametrize(
    ("identifier", "kind"),
    [
        ("amazon.nova-pro-v1:0", "foundation model"),
        ("deepseek.v3.1", "foundation model"),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0", "foundation model"),
        ("us.amazon.nova-pro-v1:0", "inference profile"),
        ("us-gov.anthropic.claude-3-haiku-20240307-v1:0", "inference profile"),
        ("global.anthropic.claude-sonnet-4-5-20250929-v1:0", "inference profile"),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", "inference profile"),
        ("arn:aws:bedrock:us-east-1:123456789012:default-prompt-router/anthropic.claude:1", "prompt router"),
        ("arn:aws:bedrock:us-east-1:123456789012:prompt-router/abc", "prompt router"),
        ("arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abc", "provisioned throughput"),
        ("arn:aws:bedrock:us-east-1:123456789012:custom-model/a.b/c", "custom model"),
        ("arn:aws:bedrock:us-east-1:123456789012:imported-model/abc", "custom model"),
    ],
)
def test_what_a_model_identifier_names(identifier: str, kind: str) -> None:
    assert identifier_kind(identifier) == kind


def test_the_provisioned_throughput_of_an_alias_is_the_model_that_is_asked() -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abc"
    model = IdentifiedModel(
        identifier="amazon.nova-pro-v1:0", kind="foundation model", model_ids=("amazon.nova-pro-v1:0",)
    )
    route = AgentRoute(id="A", name="live", version="1", provisioned_throughput=arn)
    agent = read(route=route, model=model)
    assert (agent.model.identifier, agent.model.kind, agent.model.model_ids) == (
        arn, "provisioned throughput", ("amazon.nova-pro-v1:0",),
    )  # fmt: skip


def test_models_that_cannot_be_read_and_parts_that_cannot_be_listed_are_notes() -> None:
    model = IdentifiedModel(identifier="us.a.b", kind="inference profile", problem="AccessDenied.")
    documents = VersionDocuments(agent=AGENT, model=model, problems=("Listing collaborators: AccessDenied",))
    assert read_agent(documents, ROUTE).notes == (
        "Listing collaborators: AccessDenied.",
        "The models behind amazon.nova-pro-v1:0 cannot be read: AccessDenied.",
    )


def test_the_order_in_which_bedrock_lists_parts_changes_nothing() -> None:
    groups = [{**BY_LAMBDA, "actionGroupName": name, "apiSchema": ORDERS_API} for name in ("b", "a", "c")]
    bases = tuple({"knowledgeBaseId": name} for name in ("KB2", "KB1"))
    one, other = read(*groups, knowledge_bases=bases), read(*groups[::-1], knowledge_bases=bases[::-1])
    assert [group.name for group in one.action_groups] == ["a", "b", "c"]
    assert [tool.name for group in one.action_groups for tool in group.tools] == [
        tool.name for group in other.action_groups for tool in group.tools
    ]
    assert one.knowledge_bases == other.knowledge_bases


# Secrets


def test_secrets_are_removed_from_every_text_and_counted() -> None:
    properties = {
        "token": {"type": "string", "default": "hunter2hunter2", "description": "The token of the caller"},
        "password": {"type": "string", "enum": ["weak", "strong"]},
        "api_key": {"type": "string", "enum": ["only-value"]},
        "note": {"type": "string", "example": f"send {TOKEN}", "examples": [{"api_key": "zzz-top", "text": "hello"}]},
    }
    api = {
        "openapi": "3.0.0",
        "servers": [{"url": "https://admin:swordfish@example.com/"}],
        "x-gateway": {"clientSecret": "s3cr3t-s3cr3t", "region": "eu"},
        "paths": {
            "/a": {
                "post": {
                    "description": f"Calls it with Authorization: Bearer {TOKEN}",
                    "parameters": [
                        {"name": "X-Api-Key", "in": "header", "example": "plain-looking", "schema": {"type": "string"}},
                        {"name": "q", "in": "query", "examples": {"one": {"value": f"AKIA{'A' * 16}"}}},
                        {"name": "session_token", "in": "query", "examples": {"one": {"value": "not-that-random"}}},
                    ],
                    "requestBody": {
                        "content": {"application/json": {"schema": {"type": "object", "properties": properties}}}
                    },
                    "security": [{"token": []}],
                }
            }
        },
        "components": {"securitySchemes": {"token": {"type": "apiKey", "name": "X-Token", "in": "header"}}},
    }  # fmt: skip
    prompts = [
        {"promptType": "ORCHESTRATION", "promptCreationMode": "OVERRIDDEN", "basePromptTemplate": f"key {TOKEN}"}
    ]
    agent = read(
        {**BY_LAMBDA, "description": f"uses {TOKEN}", "apiSchema": api},
        agent={
            "instruction": f"Write to ann@example.org.\nAWS_SECRET_ACCESS_KEY={AWS_SECRET}\nDB_PASSWORD=swordfish",
            "promptOverrideConfiguration": {"promptConfigurations": prompts},
        },
        tags={"deploy-token": "abcdef"},
    )
    text = repr(agent) + json.dumps(agent.action_groups[0].api_document)
    for secret in (
        TOKEN,
        AWS_SECRET,
        "swordfish",
        "hunter2",
        "zzz-top",
        "s3cr3t",
        "plain-looking",
        "AKIAAAAA",
        "not-that-random",
        "only-value",
        "abcdef",
    ):
        assert secret not in text
    assert agent.instruction.startswith("Write to ann@example.org.\nAWS_SECRET_ACCESS_KEY=[")
    assert sum(agent.redactions.values()) >= 13
    (tool,) = agent.action_groups[0].tools
    schema = tool.input_schema["properties"]
    assert schema["token"]["type"] == "string"
    assert schema["token"]["description"] == "The token of the caller"
    assert schema["password"]["enum"] == ["weak", "strong"]
    assert schema["note"]["examples"][0]["text"] == "hello"
    document = agent.action_groups[0].api_document
    assert document is not None
    assert document["components"]["securitySchemes"]["token"] == {"type": "apiKey", "name": "X-Token", "in": "header"}
    assert document["x-gateway"]["region"] == "eu"
    needs = {feature.name: feature.reason for feature in assess_features(agent)}
    assert "Secrets were removed" in needs["orchestration"]


def test_what_looks_like_a_secret_name_is_no_secret_in_a_schema() -> None:
    parameters = {"password": {"type": "string", "required": True}, "token": {"type": "integer"}}
    functions = {"functions": [{"name": "reset", "parameters": parameters}]}
    agent = read({**BY_LAMBDA, "apiSchema": ORDERS_API}, {**BY_LAMBDA, "functionSchema": functions})
    assert agent.redactions == {}
    assert {p.name: (p.type, p.is_required) for p in agent.action_groups[1].tools[0].parameters} == {
        "password": ("string", True), "token": ("integer", False),
    }  # fmt: skip
    assert agent.action_groups[0].api_document == ORDERS_API


@pytest.mark.parametrize(
    "text",
    [
        "Session token: $prompt_session_attributes$.",
        "password = $password_value$, api_key={api_key}, token: ${API_TOKEN_VALUE}, secret: {{ client_secret }}",
        "Reads arn:aws:secretsmanager:us-east-1:123456789012:secret:orders/ApiKey-AbC123 itself",
        "First call GetCustomerOrderStatusV2ByIdAndDate2024.",
        "id_token: string, refresh_token: optional string",
        "Write to ann@example.org or call +49 30 901820.",
    ],
)
def test_what_refers_to_a_secret_or_to_a_function_stays(text: str) -> None:
    functions = {"functions": [{"name": "GetCustomerOrderStatusV2ByIdAndDate2024"}]}
    agent = read({**BY_LAMBDA, "functionSchema": functions}, agent={"instruction": text})
    assert (agent.instruction, agent.redactions) == (text, {})


def test_a_known_form_of_a_secret_is_removed_even_from_an_arn_and_from_a_name() -> None:
    agent = read(
        {**BY_LAMBDA, "functionSchema": {"functions": [{"name": TOKEN}]}},
        agent={"instruction": f"Reads arn:aws:s3:::bucket/{TOKEN} and calls {TOKEN}"},
    )
    assert agent.instruction == "Reads arn:aws:s3:::[api key] and calls [api key]"
    assert TOKEN not in repr(agent)


_SECRET_TEXT = st.sampled_from((TOKEN, f"use {TOKEN} here", f"Bearer {TOKEN}", f"https://x.example/?q={TOKEN}"))
_PLANTED = st.recursive(
    _SECRET_TEXT | st.text(max_size=6) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from((
            "properties", "parameters", "examples", "example", "default", "description", "name", "in", "paths", "get",
            "enum", "required", "security", "servers", "url", "x-internal", "operationId", "$ref", "token", "schema",
        )) | _SECRET_TEXT, inner, max_size=3,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from(("paths", "components", "info", "x-more")), _PLANTED, min_size=1), _PLANTED)
def test_a_secret_anywhere_in_a_schema_is_in_no_file_of_the_snapshot(document: dict[str, Any], parameters: Any) -> None:
    api = {"openapi": "3.0.0", "paths": {"/a": {"get": {"description": "x"}}}, **document}
    functions = {"functions": [{"name": "f", "description": f"with {TOKEN}", "parameters": parameters}]}
    agent = read(
        {**BY_LAMBDA, "apiSchema": api},
        {**BY_LAMBDA, "functionSchema": functions},
        agent={"description": TOKEN, "agentName": f"a {TOKEN}"},
        knowledge_bases=({"knowledgeBaseId": "KB1", "description": TOKEN},),
        collaborators=({"collaboratorName": TOKEN, "collaborationInstruction": TOKEN},),
    )
    snapshot = AgentSnapshot(agent=agent, region="us-east-1", is_immutable=True, digest=agent_digest(agent))
    for name, content in snapshot_files(snapshot).items():
        assert TOKEN not in name
        assert TOKEN.encode() not in content
    assert sum(agent.redactions.values()) >= 5


def test_an_agent_with_another_secret_has_the_same_digest() -> None:
    first, second = (read(agent={"instruction": f"The token is {TOKEN[:-4]}{ending}"}) for ending in ("aaaa", "bbbb"))
    assert agent_digest(first) == agent_digest(second)


# Anything


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from((
            "payload", "functions", "parameters", "name", "type", "description", "paths", "openapi", "get", "s3",
            "lambda", "customControl", "promptConfigurations", "promptType", "inferenceConfiguration",
            "temperature", "executor",
        )) | st.text(max_size=3), inner, max_size=3,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(
            (*AGENT, "promptOverrideConfiguration", "guardrailConfiguration", "memoryConfiguration",
             "customOrchestration", "agentCollaboration", "idleSessionTTLInSeconds", "description")
        ),
        _ANY,
    ),
    st.dictionaries(
        st.sampled_from(
            ("actionGroupName", "actionGroupExecutor", "apiSchema", "functionSchema", "parentActionSignature",
             "parentActionGroupSignatureParams", "actionGroupState", "description")
        ),
        _ANY,
    ),
    st.dictionaries(st.sampled_from(("collaboratorName", "agentDescriptor", "collaborationInstruction")), _ANY),
)  # fmt: skip
def test_documents_in_any_form_are_read_without_an_exception(
    agent: dict[str, Any], group: dict[str, Any], collaborator: dict[str, Any]
) -> None:
    value = read(group, group, agent=agent, collaborators=(collaborator,), knowledge_bases=(collaborator,))
    agent_digest(value)
    assert len(assess_features(value)) == 11
