"""IAM policies: decisions of policy documents, and the policy of a runtime whose role is not defined locally.

Source: AWS, "Policy evaluation logic" and "Execution role for running an agent in AgentCore Runtime".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from ..patterns import Pattern
from .keys import SessionPrincipal

_MEMORY_ACTIONS = (
    *("CreateEvent", "GetEvent", "ListEvents", "DeleteEvent", "ListActors", "ListSessions", "GetMemory"),
    *("RetrieveMemoryRecords", "GetMemoryRecord", "ListMemoryRecords", "DeleteMemoryRecord"),
    *("BatchCreateMemoryRecords", "BatchUpdateMemoryRecords", "BatchDeleteMemoryRecords"),
    *("ListMemoryExtractionJobs", "StartMemoryExtractionJob"),
)
_RUNTIME_ACTIONS = ("InvokeAgentRuntime", "InvokeAgentRuntimeWithWebSocketStream", "GetAgentCard")
_MODEL_ACTIONS = ("InvokeModel", "InvokeModelWithResponseStream", "CountTokens", "ApplyGuardrail")
_TELEMETRY_ACTIONS = (
    *("xray:PutTraceSegments", "xray:PutTelemetryRecords", "xray:GetSamplingRules", "xray:GetSamplingTargets"),
    "cloudwatch:PutMetricData",
)
_IDENTITY_ACTIONS = (
    *("GetWorkloadAccessToken", "GetWorkloadAccessTokenForJWT", "GetWorkloadAccessTokenForUserId"),
    *("GetResourceApiKey", "GetResourceOauth2Token"),
)
# Without ListCodeInterpreterSessions: an agent uses its own sessions, and cannot discover the ids of others.
_CODE_ACTIONS = (
    *("StartCodeInterpreterSession", "GetCodeInterpreterSession", "StopCodeInterpreterSession"),
    "InvokeCodeInterpreter",
)
_BROWSER_ACTIONS = (
    *("StartBrowserSession", "GetBrowserSession", "StopBrowserSession", "UpdateBrowserStream", "InvokeBrowser"),
    *("ConnectBrowserAutomationStream", "ConnectBrowserLiveViewStream"),
)
_GROUPS = "/aws/bedrock-agentcore/runtimes/"
_GIVEN = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,99}-[a-zA-Z0-9]{10}")  # ids of memories, runtimes and gateways
_GIVEN_BASE = re.compile(r"(?<![A-Za-z0-9])[A-Z0-9]{10}(?![A-Za-z0-9])")  # ids of knowledge bases

PolicyStatement = Mapping[str, Any]


def default_statements(principal: SessionPrincipal) -> list[PolicyStatement]:
    """Return the permissions of a session whose runtime's role has no local policies.

    They cover models, telemetry, its runtime's own log group, the memories, runtimes, gateways, knowledge bases, code
    interpreters and browsers that its runtime's variables name, the code interpreter, browser and web search that AWS
    manages, and its runtime's own workload identity with the account's credential providers.
    """
    arn = f"arn:aws:{{}}:*:{principal.account_id}:{{}}"
    groups = [arn.format("logs", f"log-group:{_GROUPS}{principal.runtime_id}-*")]
    resource_ids = sorted({match for value in principal.named.values() for match in _GIVEN.findall(value)})
    memories = [arn.format("bedrock-agentcore", f"memory/{identifier}") for identifier in resource_ids]
    runtimes = [
        arn.format("bedrock-agentcore", f"runtime/{identifier}{end}")
        for identifier in resource_ids
        for end in ("", "/*")
    ]
    gateways = [arn.format("bedrock-agentcore", f"gateway/{identifier}") for identifier in resource_ids]
    base_ids = {match for value in principal.named.values() for match in _GIVEN_BASE.findall(value)}
    bases = [arn.format("bedrock", f"knowledge-base/{identifier}") for identifier in sorted(base_ids)]
    interpreters = ["arn:aws:bedrock-agentcore:*:aws:code-interpreter/aws.codeinterpreter.v1"]
    browsers = ["arn:aws:bedrock-agentcore:*:aws:browser/aws.browser.v1"]
    browsers += [arn.format("bedrock-agentcore", f"browser-custom/{identifier}") for identifier in resource_ids]
    interpreters += [
        arn.format("bedrock-agentcore", f"code-interpreter-custom/{identifier}") for identifier in resource_ids
    ]
    directory = arn.format("bedrock-agentcore", "workload-identity-directory/default")
    vault = arn.format("bedrock-agentcore", "token-vault/default")
    identities = [directory, f"{directory}/workload-identity/{principal.runtime_id}", vault]
    identities += [f"{vault}/{kind}credentialprovider/*" for kind in ("apikey", "oauth2")]
    logs = ("CreateLogGroup", "CreateLogStream", "PutLogEvents", "DescribeLogStreams")
    return [
        {"Effect": "Allow", "Action": [f"bedrock:{name}" for name in _MODEL_ACTIONS], "Resource": "*"},
        {"Effect": "Allow", "Action": list(_TELEMETRY_ACTIONS), "Resource": "*"},
        {"Effect": "Allow", "Action": [f"logs:{name}" for name in logs], "Resource": groups},
        {"Effect": "Allow", "Action": [f"bedrock-agentcore:{name}" for name in _MEMORY_ACTIONS], "Resource": memories},
        {"Effect": "Allow", "Action": [f"bedrock-agentcore:{name}" for name in _RUNTIME_ACTIONS], "Resource": runtimes},
        {"Effect": "Allow", "Action": ["bedrock-agentcore:InvokeGateway"], "Resource": gateways},
        {"Effect": "Allow", "Action": ["bedrock:Retrieve"], "Resource": bases},
        {
            "Effect": "Allow",
            "Action": ["bedrock:RetrieveAndGenerate"],
            "Resource": "*",
        },  # of the knowledge bases that it may read
        {
            "Effect": "Allow",
            "Action": [f"bedrock-agentcore:{name}" for name in _CODE_ACTIONS],
            "Resource": interpreters,
        },
        {
            "Effect": "Allow",
            "Action": ["bedrock-agentcore:InvokeWebSearch"],
            "Resource": ["arn:aws:bedrock-agentcore:*:aws:tool/web-search.v1"],
        },
        {
            "Effect": "Allow",
            "Action": [f"bedrock-agentcore:{name}" for name in _BROWSER_ACTIONS],
            "Resource": browsers,
        },
        {
            "Effect": "Allow",
            "Action": [f"bedrock-agentcore:{name}" for name in _IDENTITY_ACTIONS],
            "Resource": identities,
        },
        {"Effect": "Allow", "Action": "sts:GetWebIdentityToken", "Resource": "*"},
    ]


def read_statements(document: str) -> list[PolicyStatement]:
    """Return the statements of a policy document; empty if it cannot be read."""
    try:
        content = json.loads(document)
    except ValueError:
        return []
    statements = _listed(cast("dict[str, Any]", content).get("Statement")) if isinstance(content, dict) else []
    return [cast("PolicyStatement", item) for item in statements if isinstance(item, dict)]


def decision(
    statements: Iterable[PolicyStatement],
    action: str,
    resources: Sequence[str],
    holds: Callable[[Mapping[str, Any]], bool] = lambda _: False,
) -> bool | None:
    """Return whether statements allow (True) or deny (False) an action on all resources; None if they do neither.

    A Deny statement applies regardless of its condition; an Allow statement only if its condition is known to be met.

    Args:
        statements: The statements of all policies that apply.
        action: The IAM action, such as `bedrock-agentcore:InvokeAgentRuntime`; case-insensitive.
        resources: ARNs of everything that the call touches.
        holds: Returns whether a condition is known to be met by the request.
    """
    allowed = dict.fromkeys(resources, False)
    for statement in statements:
        if not names_action(statement, action):
            continue
        for resource in resources:
            if not _names(statement, "Resource", resource):
                continue
            if statement.get("Effect") == "Deny":
                return False
            if statement.get("Effect") == "Allow" and not allowed[resource]:
                condition = statement.get("Condition")
                allowed[resource] = not condition or (
                    isinstance(condition, dict) and holds(cast("dict[str, Any]", condition))
                )
    return True if all(allowed.values()) else None


def names_action(statement: PolicyStatement, action: str) -> bool:
    """Return whether a statement applies to an action."""
    return _names(statement, "Action", action, ignore_case=True)


def _names(statement: PolicyStatement, member: str, value: str, *, ignore_case: bool = False) -> bool:
    if f"Not{member}" in statement:
        return not matches_any(texts(statement[f"Not{member}"]), value, ignore_case)
    return matches_any(texts(statement.get(member)), value, ignore_case)


def matches_any(wildcards: Sequence[str], value: str, ignore_case: bool = False) -> bool:
    """Return whether a string matches one of several patterns with `*` and `?`.

    Args:
        wildcards: The patterns.
        value: The text.
        ignore_case: Whether upper and lower case are the same.
    """
    return any(_wildcard(text, ignore_case).matches_whole(value) for text in wildcards)


@lru_cache(maxsize=2_048)
def _wildcard(text: str, ignore_case: bool) -> Pattern:
    body = "".join(".*" if piece == "*" else "." if piece == "?" else re.escape(piece) for piece in text[:2_048])
    return Pattern(f"(?i){body}" if ignore_case else body, dot_all=True)


def texts(value: object) -> list[str]:
    """Return the strings of an element that may be a string or a list."""
    return [item for item in _listed(value) if isinstance(item, str)]


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]
