"""SDK classes and functions that call AWS on behalf of the code, and the operations that they call.

Source: the code of bedrock-agentcore 1.25, strands-agents 1.62, langchain-aws 1.0 and langgraph-checkpoint-aws 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_MEMORY: Final = "bedrock-agentcore:"
_MODEL: Final = ("bedrock-runtime:Converse", "bedrock-runtime:ConverseStream")
_INVOKE: Final = ("bedrock-runtime:InvokeModel", "bedrock-runtime:InvokeModelWithResponseStream")
_CODE: Final = tuple(
    f"bedrock-agentcore:{name}CodeInterpreter{end}"
    for name, end in (("Start", "Session"), ("Get", "Session"), ("Stop", "Session"), ("Invoke", ""))
)
_BROWSER: Final = (
    *(f"bedrock-agentcore:{name}BrowserSession" for name in ("Start", "Get", "Stop")),
    "bedrock-agentcore:ConnectBrowserAutomationStream",
)
_LIVE_VIEW: Final = ("bedrock-agentcore:ConnectBrowserLiveViewStream",)
_OWN_INTERPRETER: Final = "aws.codeinterpreter.v1"
_OWN_BROWSER: Final = "aws.browser.v1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SdkCallable:
    """A class or function of an SDK.

    Attributes:
        package: The first name of its module, such as `strands`.
        names: Its names.
        operations: The operations that it calls when used, as `service:Operation`.
        parameters: Its parameters that name a resource, each with the parameter of the operations.
        positional: Its positional parameters.
        defaults: Parameters of the operations, with the SDK's default values.
        methods: Operations of its methods.
        first: The first parameter of most of its methods, such as `memory_id`; "" if there is none.
        forwards: Services whose operations it offers as further methods, named as in boto3.
        makes: Methods that return an object of the same kind.
        required: The parameter that the code has to set because its default depends on the SDK's release; "" for none.
    """

    package: str
    names: tuple[str, ...]
    operations: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    positional: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    methods: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    first: str = ""
    forwards: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    required: str = ""


def _memory(**methods: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(_MEMORY + part for part in operations.split()) for name, operations in methods.items()}


_MODELS: Final = (
    SdkCallable(
        package="strands",
        names=("BedrockModel",),
        operations=_MODEL,
        parameters={"model_id": "modelId", "guardrail_id": "guardrailConfig.guardrailIdentifier"},
        required="model_id",
    ),
    SdkCallable(
        package="langchain_aws",
        names=("ChatBedrockConverse",),
        operations=_MODEL,
        parameters={"model": "modelId", "model_id": "modelId"},
        required="model",
    ),
    SdkCallable(
        package="langchain_aws",
        names=("ChatBedrock", "BedrockLLM", "BedrockEmbeddings"),
        operations=(*_MODEL, *_INVOKE),
        parameters={"model_id": "modelId", "model": "modelId"},
        required="model_id",
    ),
    SdkCallable(
        package="langchain_aws",
        names=("AmazonKnowledgeBasesRetriever",),
        operations=("bedrock-agent-runtime:Retrieve",),
        parameters={"knowledge_base_id": "knowledgeBaseId"},
        required="knowledge_base_id",
    ),
    *(
        SdkCallable(
            package=package,
            names=names,
            operations=_MODEL + _INVOKE,
            parameters={"model": "bedrock/", "model_id": "bedrock/"},
            positional=("model",),
        )
        for package, names in (("strands", ("LiteLLMModel",)), ("crewai", ("LLM",)), ("litellm", ("completion",)))
    ),
)

_MEMORIES: Final = (
    SdkCallable(
        package="bedrock_agentcore",
        names=("MemoryClient",),
        parameters={"memory_id": "memoryId"},
        first="memory_id",
        methods=_memory(
            retrieve_memories="RetrieveMemoryRecords",
            wait_for_memories="RetrieveMemoryRecords",
            create_blob_event="CreateEvent",
            save_conversation="CreateEvent",
            fork_conversation="CreateEvent",
            process_turn_with_llm="RetrieveMemoryRecords CreateEvent",
            list_branches="ListEvents",
            list_branch_events="ListEvents",
            get_conversation_tree="ListEvents",
            merge_branch_context="ListEvents",
            get_last_k_turns="ListEvents",
        )
        | {
            "get_memory_strategies": ("bedrock-agentcore-control:GetMemory",),
            "get_memory_status": ("bedrock-agentcore-control:GetMemory",),
        },
        forwards=("bedrock-agentcore", "bedrock-agentcore-control"),
    ),
    SdkCallable(
        package="bedrock_agentcore",
        names=("MemorySessionManager",),
        parameters={"memory_id": "memoryId"},
        positional=("memory_id",),
        methods=_memory(
            add_turns="CreateEvent",
            fork_conversation="CreateEvent",
            process_turn_with_llm="RetrieveMemoryRecords CreateEvent",
            process_turn_with_llm_async="RetrieveMemoryRecords CreateEvent",
            list_events="ListEvents",
            list_branches="ListEvents",
            get_last_k_turns="ListEvents",
            get_event="GetEvent",
            delete_event="DeleteEvent",
            search_long_term_memories="RetrieveMemoryRecords",
            list_long_term_memory_records="ListMemoryRecords",
            list_actors="ListActors",
            list_actor_sessions="ListSessions",
            list_sessions="ListSessions",
            get_memory_record="GetMemoryRecord",
            delete_memory_record="DeleteMemoryRecord",
            delete_all_long_term_memories_in_namespace="ListMemoryRecords BatchDeleteMemoryRecords",
        ),
        makes=("create_memory_session", "get_actor"),
    ),
    SdkCallable(
        package="bedrock_agentcore",
        names=("AgentCoreMemoryConfig",),  # of Strands' AgentCoreMemorySessionManager
        operations=tuple(
            _MEMORY + name for name in ("CreateEvent", "GetEvent", "ListEvents", "DeleteEvent", "RetrieveMemoryRecords")
        ),
        parameters={"memory_id": "memoryId"},
        required="memory_id",
    ),
    SdkCallable(
        package="langgraph_checkpoint_aws",
        names=("AgentCoreMemorySaver",),
        operations=tuple(_MEMORY + name for name in ("CreateEvent", "ListEvents", "DeleteEvent")),
        parameters={"memory_id": "memoryId"},
        positional=("memory_id",),
        required="memory_id",
    ),
    SdkCallable(
        package="langgraph_checkpoint_aws",
        names=("AgentCoreMemoryStore",),
        operations=tuple(
            _MEMORY + name
            for name in (
                *("CreateEvent", "RetrieveMemoryRecords", "ListMemoryRecords"),
                *("GetMemoryRecord", "DeleteMemoryRecord"),
            )
        ),
        parameters={"memory_id": "memoryId"},
        positional=("memory_id",),
        required="memory_id",
    ),
)

_TOOLS: Final = (
    SdkCallable(
        package="bedrock_agentcore",
        names=("CodeInterpreter", "code_session"),
        operations=_CODE,
        parameters={"identifier": "codeInterpreterIdentifier"},
        defaults={"codeInterpreterIdentifier": _OWN_INTERPRETER},
    ),
    SdkCallable(
        package="strands_tools",
        names=("AgentCoreCodeInterpreter",),
        operations=_CODE,
        parameters={"identifier": "codeInterpreterIdentifier"},
        defaults={"codeInterpreterIdentifier": _OWN_INTERPRETER},
    ),
    SdkCallable(
        package="bedrock_agentcore",
        names=("BrowserClient", "browser_session"),
        operations=_BROWSER,
        parameters={"identifier": "browserIdentifier"},
        defaults={"browserIdentifier": _OWN_BROWSER},
        methods={
            "generate_live_view_url": _LIVE_VIEW,
            "update_stream": ("bedrock-agentcore:UpdateBrowserStream",),
            "take_control": ("bedrock-agentcore:UpdateBrowserStream",),
            "release_control": ("bedrock-agentcore:UpdateBrowserStream",),
            "list_sessions": ("bedrock-agentcore:ListBrowserSessions",),
            "invoke": ("bedrock-agentcore:InvokeBrowser",),
        },
    ),
    SdkCallable(
        package="strands_tools",
        names=("AgentCoreBrowser",),
        operations=_BROWSER,
        parameters={"identifier": "browserIdentifier"},
        defaults={"browserIdentifier": _OWN_BROWSER},
    ),
    SdkCallable(
        package="bedrock_agentcore",
        names=("WebSearchClient",),
        operations=("bedrock-agentcore:InvokeWebSearch",),
        defaults={"webSearchId": "web-search.v1"},
    ),
    SdkCallable(
        package="bedrock_agentcore",
        names=("KnowledgeBaseClient",),
        forwards=("bedrock-agent-runtime",),
    ),
)

_IDENTITY: Final = (
    SdkCallable(
        package="bedrock_agentcore",
        names=("requires_api_key",),
        operations=("bedrock-agentcore:GetResourceApiKey",),
        parameters={"provider_name": "resourceCredentialProviderName"},
        required="provider_name",
    ),
    SdkCallable(
        package="bedrock_agentcore",
        names=("requires_access_token",),
        operations=("bedrock-agentcore:GetResourceOauth2Token",),
        parameters={"provider_name": "resourceCredentialProviderName"},
        required="provider_name",
    ),
    SdkCallable(
        package="bedrock_agentcore", names=("requires_iam_access_token",), operations=("sts:GetWebIdentityToken",)
    ),
    SdkCallable(
        package="bedrock_agentcore",
        names=("AgentCoreRuntimeClient",),
        parameters={"runtime_arn": "agentRuntimeArn"},
        methods={
            "generate_ws_connection": ("bedrock-agentcore:InvokeAgentRuntimeWithWebSocketStream",),
            "generate_presigned_url": ("bedrock-agentcore:InvokeAgentRuntimeWithWebSocketStream",),
            "open_shell": ("bedrock-agentcore:InvokeAgentRuntimeCommandShell",),
        },
        forwards=("bedrock-agentcore", "bedrock-agentcore-control"),
    ),
)

SDK_CALLABLES: Final = _MODELS + _MEMORIES + _TOOLS + _IDENTITY
_BY_NAME: Final = {(sdk.package, name): sdk for sdk in SDK_CALLABLES for name in sdk.names}


def find_sdk_callable(qualified: str) -> SdkCallable | None:
    """Return the class or function of an SDK with a qualified name, such as `strands.models.BedrockModel`."""
    parts = qualified.split(".")
    return _BY_NAME.get((parts[0], parts[-1])) if len(parts) > 1 else None
