"""The actions on resources in `loom-agent.toml`, for code whose calls on them are not visible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _agentcore(names: str) -> tuple[str, ...]:
    return tuple(f"bedrock-agentcore:{name}" for name in names.split())


CONFIGURED_ACTIONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "models": (("bedrock:InvokeModel", "models"), ("bedrock:InvokeModelWithResponseStream", "models")),
    "functions": (("lambda:InvokeFunction", "functions"),),
    "knowledge_bases": (("bedrock:Retrieve", "knowledge_bases"),),
    "guardrails": (("bedrock:ApplyGuardrail", "guardrails"),),
    "memories": tuple(
        (action, "memories")
        for action in _agentcore(
            "CreateEvent GetEvent ListEvents ListActors ListSessions RetrieveMemoryRecords GetMemoryRecord "
            "ListMemoryRecords"
        )
    ),
    "gateways": (("bedrock-agentcore:InvokeGateway", "gateways"),),
    "code_interpreters": tuple(
        (action, "code_interpreters")
        for action in _agentcore(
            "StartCodeInterpreterSession GetCodeInterpreterSession StopCodeInterpreterSession InvokeCodeInterpreter"
        )
    ),
    "browsers": (
        *((action, "browsers") for action in _agentcore("StartBrowserSession GetBrowserSession StopBrowserSession")),
        ("bedrock-agentcore:ConnectBrowserAutomationStream", ""),
    ),
    "buckets": (("s3:GetObject", "objects"), ("s3:ListBucket", "listed_buckets")),
    "agents": (("bedrock-agentcore:InvokeAgentRuntime", "agents"),),
}
"""The actions of each kind under `[resources]`, each with the kind of ARN of its resource. None of them deletes."""

SIGNED_ACTIONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "agents": (("bedrock-agentcore:GetAgentCard", "agents"),),
}
"""Further actions on configured resources for code that signs its requests itself, such as clients of A2A."""

SIGNED_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "bedrock-agentcore": ("gateways", "agents"),
    "bedrock": ("models", "knowledge_bases", "guardrails"),
    "lambda": ("functions",),
    "s3": ("buckets",),
}
"""The kinds of configured resources that a request signed for a service may access."""

UNSEEN_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "bedrock-runtime": ("models", "guardrails"),
    "bedrock-agent-runtime": ("knowledge_bases", "guardrails"),
    "bedrock-agentcore": ("memories", "gateways", "agents", "code_interpreters", "browsers"),
    "lambda": ("functions",),
    "s3": ("buckets",),
}
"""The kinds of configured resources that a client may access by calls that are not visible in the code."""

CONFIGURED_KINDS: Final[Mapping[str, str]] = {
    "objects": "buckets",
    "copied_objects": "buckets",
    "listed_buckets": "buckets",
    **{kind: kind for kind in CONFIGURED_ACTIONS if kind != "buckets"},
}
"""The kind under `[resources]` for each kind of ARN."""

LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "models": ("Models", "the agent calls models"),
    "functions": ("Functions", "the agent calls Lambda functions"),
    "knowledge_bases": ("KnowledgeBases", "the agent retrieves from knowledge bases"),
    "guardrails": ("Guardrails", "the agent applies guardrails"),
    "memories": ("Memories", "the agent uses AgentCore memories"),
    "gateways": ("Gateways", "the agent calls tools through gateways"),
    "code_interpreters": ("CodeInterpreters", "the agent runs code in code interpreters"),
    "browsers": ("Browsers", "the agent uses browsers"),
    "web_searches": ("WebSearch", "the agent searches the web"),
    "objects": ("Objects", "the agent reads or writes objects in S3"),
    "copied_objects": ("Objects", "the agent copies objects in S3"),
    "listed_buckets": ("Buckets", "the agent lists objects in S3"),
    "agents": ("Agents", "the agent invokes other agents"),
    "agent_aliases": ("BedrockAgents", "the agent invokes agents of Bedrock Agents"),
    "flow_aliases": ("Flows", "the agent invokes flows"),
    "secrets": ("Secrets", "the agent reads secrets"),
    "parameters": ("Parameters", "the agent reads parameters of Systems Manager"),
    "tables": ("Tables", "the agent uses tables of DynamoDB"),
    "queried_tables": ("Tables", "the agent queries tables of DynamoDB"),
    "queues": ("Queues", "the agent uses queues of SQS"),
    "topics": ("Topics", "the agent publishes to topics of SNS"),
    "state_machines": ("StateMachines", "the agent uses state machines"),
    "keys": ("Keys", "the agent uses keys of KMS"),
    "event_buses": ("EventBuses", "the agent sends events"),
    "roles": ("Roles", "the agent assumes roles"),
    "log_groups": ("LogGroups", "the agent uses its own log groups"),
    "streams": ("Streams", "the agent uses streams of Kinesis"),
    "delivery_streams": ("DeliveryStreams", "the agent uses delivery streams"),
    "vector_buckets": ("VectorBuckets", "the agent uses S3 Vectors"),
    "identities": ("Email", "the agent sends email"),
    "metric_namespaces": ("OwnMetrics", "the agent publishes its own metrics"),
    "workload_identities": ("WorkloadIdentities", "the agent requests access tokens of workload identities"),
    "api_keys": ("ApiKeys", "the agent requests API keys from AgentCore Identity"),
    "oauth2_tokens": ("OauthTokens", "the agent requests OAuth tokens from AgentCore Identity"),
    "api_key_secrets": ("CredentialSecrets", "AgentCore Identity stores the credentials in Secrets Manager"),
    "oauth2_secrets": ("CredentialSecrets", "AgentCore Identity stores the credentials in Secrets Manager"),
}
"""The name and the reason of the statement for each kind of ARN."""
