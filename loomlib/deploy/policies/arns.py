"""The ARNs of the resources of an action, from the name, id or ARN in the code or the configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .values import AwsPlace, KnownResources

_PROFILE: Final = re.compile(r"(?:[a-z]{2}|us-gov|apac|amer|emea|global)\.(?=[a-z0-9-]+\.)")
"""Prefixes of the ids of AWS's inference profiles: the geography, or `global`."""
_AGENTCORE_ID: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,99}-[a-zA-Z0-9]{10}")
_GUARDRAIL_ID: Final = re.compile(r"[a-z0-9]{8,15}")
_BASE_ID: Final = re.compile(r"[0-9A-Z]{10}")
_QUEUE: Final = re.compile(r"https?://[^/]+/(\d{12})/([\w-]{1,80}(?:\.fifo)?)")
_FUNCTION: Final = re.compile(
    r"(?:(?:(?P<region>[a-z]{2}(?:-[a-z]+)+-\d):)?(?:(?P<account>\d{12}):)?function:)?"
    r"(?P<name>[a-zA-Z0-9-_]{1,140}(?::(?:[a-zA-Z0-9-_$]+|\*))?)"
)
"""A function's name or the end of its ARN, with or without a qualifier; `*` for one that is computed at run time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTarget:
    """The resources of one statement.

    Attributes:
        resources: Their ARNs.
        condition: IAM's operators with their keys and values.
        reason: Why a resource is not an exact ARN; "" if all are.
    """

    resources: tuple[str, ...]
    condition: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    reason: str = ""


def targets(kind: str, name: str, place: AwsPlace, account: KnownResources) -> tuple[StatementTarget, ...] | None:
    """Return the targets of statements for a resource; None if its ARN is not known.

    Args:
        kind: The kind of the resource, such as `memories`.
        name: Its name, id, ARN or address; `*` stands for a part that is computed at run time.
        place: The account and region.
        account: Ids and names of resources that were read from the account.
    """
    text = account.ids.get((kind, name), name)
    if kind == "models":
        return _models(text, place, account)
    if kind in ("objects", "copied_objects"):
        return _objects(text.removeprefix(f"arn:{place.partition}:s3:::"), place)
    if kind == "metric_namespaces":
        return None if "*" in text else (namespace_target(text),)
    if kind == "listed_buckets":
        return _listed(text.removeprefix(f"arn:{place.partition}:s3:::"), place)
    make = _MAKERS.get(kind)
    if make is None:
        return None
    if text.startswith("arn:"):
        arn = _narrowed(text, place)
        arns: tuple[str, ...] = (arn, *_inside(kind, arn)) if arn else ()
    else:
        arns = make(text, place)
    if not arns:
        return None
    reason = _WILDCARDS.get(kind, "") if any(set("*?") & set(arn) for arn in arns) else ""
    if not reason and "*" in name:
        reason = "part of the name is computed at run time"
    return (StatementTarget(resources=arns, reason=reason),)


def _narrowed(arn: str, place: AwsPlace) -> str:
    """Return an ARN with computed regions and accounts replaced by this place's; "" if its name is not known."""
    parts = arn.split(":", 5)
    if len(parts) < 6 or "*" in parts[2]:
        return ""
    place_parts = {1: place.partition, 3: place.region, 4: place.account}
    parts = [place_parts.get(index, part) if "*" in part and index < 5 else part for index, part in enumerate(parts)]
    typed = re.match(r"[a-z-]+[:/]/?(?=.)", parts[5])  # secret:name, role/name; topics only have a name
    name = parts[5][typed.end() :] if typed else parts[5]
    return "" if name.startswith(("*", "?")) else ":".join(parts)


def namespace_target(namespace: str) -> StatementTarget:
    """Return the target of metric actions, which do not require a resource, restricted to one namespace."""
    condition = {"StringEquals": {"cloudwatch:namespace": namespace}}
    return StatementTarget(resources=("*",), condition=condition, reason="the action does not require a resource")


def _models(name: str, place: AwsPlace, known_resources: KnownResources) -> tuple[StatementTarget, ...] | None:
    if "*" in name:
        return None
    identifier = name.rpartition("/")[2] if name.startswith("arn:") else name
    is_profile = "inference-profile/" in name or (not name.startswith("arn:") and bool(_PROFILE.match(name)))
    if not is_profile:
        arn = name if name.startswith("arn:") else place.arn("bedrock", f"foundation-model/{name}", account="")
        return (StatementTarget(resources=(arn,)),)
    profile = name if name.startswith("arn:") else place.arn("bedrock", f"inference-profile/{name}")
    behind = known_resources.profile_models.get(name) or known_resources.profile_models.get(identifier)
    condition = {"StringEquals": {"bedrock:InferenceProfileArn": profile}}
    through = "only through the inference profile"
    if behind:
        models = StatementTarget(
            resources=behind, condition=condition, reason=f"the models behind the profile, {through}"
        )
        return (StatementTarget(resources=(profile,)), models)
    start = _PROFILE.match(identifier)
    if start is None:  # an application inference profile: its name does not contain its models
        return None
    model = f"foundation-model/{identifier[start.end() :]}"
    if start[0] == "global.":
        regional_arn = place.arn("bedrock", model, account="")
        global_arn = place.arn("bedrock", model, account="", region="")
        models = StatementTarget(
            resources=(regional_arn, global_arn), condition=condition, reason=f"a global profile's model, {through}"
        )
    else:
        any_region_arn = place.arn("bedrock", model, account="", region="*")
        why = f"the profile chooses the region, {through}"
        models = StatementTarget(resources=(any_region_arn,), condition=condition, reason=why)
    return (StatementTarget(resources=(profile,)), models)


def _objects(name: str, place: AwsPlace) -> tuple[StatementTarget, ...] | None:
    bucket, _, key = name.partition("/")
    if not bucket or set("*?$") & set(bucket):
        return None
    computed = not key or key.endswith("/") or "*" in key
    ending = key if "*" in key else f"{key}*" if computed else key
    arn = f"arn:{place.partition}:s3:::{bucket}/{ending}"
    return (StatementTarget(resources=(arn,), reason="object keys are known only at run time" if computed else ""),)


def _listed(name: str, place: AwsPlace) -> tuple[StatementTarget, ...] | None:
    bucket, _, prefix = name.partition("/")
    if not bucket or set("*?$") & set(bucket):
        return None
    arn = f"arn:{place.partition}:s3:::{bucket}"
    condition = {"StringLike": {"s3:prefix": prefix if prefix.endswith("*") else f"{prefix}*"}} if prefix else {}
    return (StatementTarget(resources=(arn,), condition=condition),)


def _inside(kind: str, arn: str) -> tuple[str, ...]:
    """Return the ARNs below an ARN that the same action covers."""
    if kind == "agents" and "/runtime-endpoint/" not in arn:
        return (f"{arn}/runtime-endpoint/*",)
    return (f"{arn}:*",) if kind == "log_groups" and not arn.endswith(":*") else ()


def _agentcore(resource: str) -> Callable[[str, AwsPlace], tuple[str, ...]]:
    def make(name: str, place: AwsPlace) -> tuple[str, ...]:
        return (place.arn("bedrock-agentcore", f"{resource}/{name}"),) if _AGENTCORE_ID.fullmatch(name) else ()

    return make


def _agents(name: str, place: AwsPlace) -> tuple[str, ...]:
    if not _AGENTCORE_ID.fullmatch(name):
        return ()
    arn = place.arn("bedrock-agentcore", f"runtime/{name}")
    return (arn, *_inside("agents", arn))


def _tool(kind: str) -> Callable[[str, AwsPlace], tuple[str, ...]]:
    """Return the maker of a tool's ARN: AWS's own tools belong to the account `aws`; others are "custom"."""

    def make(name: str, place: AwsPlace) -> tuple[str, ...]:
        if name.startswith("aws."):
            return (place.arn("bedrock-agentcore", f"{kind}/{name}", account="aws"),)
        return (place.arn("bedrock-agentcore", f"{kind}-custom/{name}"),) if _AGENTCORE_ID.fullmatch(name) else ()

    return make


def _matching(service: str, resource: str, form: re.Pattern[str]) -> Callable[[str, AwsPlace], tuple[str, ...]]:
    def make(name: str, place: AwsPlace) -> tuple[str, ...]:
        return (place.arn(service, f"{resource}/{name}"),) if form.fullmatch(name) else ()

    return make


def _simple(service: str, resource: str) -> Callable[[str, AwsPlace], tuple[str, ...]]:
    """Return a function that creates the ARNs of a resource from its name."""

    def make(name: str, place: AwsPlace) -> tuple[str, ...]:
        return () if name.startswith("*") else (place.arn(service, resource.format(name.lstrip("/"))),)

    return make


def _functions(name: str, place: AwsPlace) -> tuple[str, ...]:
    match = _FUNCTION.fullmatch(name)
    if match is None:
        return ()
    return (place.arn("lambda", f"function:{match['name']}", account=match["account"], region=match["region"]),)


def _secrets(name: str, place: AwsPlace) -> tuple[str, ...]:
    return () if name.startswith("*") else (place.arn("secretsmanager", f"secret:{name}-??????"),)


def _queried_tables(name: str, place: AwsPlace) -> tuple[str, ...]:
    if name.startswith("*"):
        return ()
    arn = place.arn("dynamodb", f"table/{name}")
    return (arn, f"{arn}/index/*")


def _queues(name: str, place: AwsPlace) -> tuple[str, ...]:
    match = _QUEUE.fullmatch(name)
    return (place.arn("sqs", match[2], account=match[1]),) if match else ()


def _keys(name: str, place: AwsPlace) -> tuple[str, ...]:
    return () if name.startswith(("*", "alias/")) else (place.arn("kms", f"key/{name}"),)


def _log_groups(name: str, place: AwsPlace) -> tuple[str, ...]:
    if name.startswith("*"):
        return ()
    arn = place.arn("logs", f"log-group:{name}")
    return (arn, f"{arn}:*")


def _identities(name: str, place: AwsPlace) -> tuple[str, ...]:
    if name.startswith("*") or "@" not in name:
        return ()
    address = name.rpartition("<")[2].rstrip(">")
    return (place.arn("ses", f"identity/{address}"), place.arn("ses", f"identity/{address.partition('@')[2]}"))


def _web_searches(name: str, place: AwsPlace) -> tuple[str, ...]:
    tool = f"tool/{name}"  # AWS's ARN reference uses the caller's account, its guide the account `aws`
    return (place.arn("bedrock-agentcore", tool), place.arn("bedrock-agentcore", tool, account="aws"))


def _workload_identities(name: str, place: AwsPlace) -> tuple[str, ...]:
    directory = "workload-identity-directory/default"
    parts = (directory, f"{directory}/workload-identity/{name}")
    return () if name.startswith("*") else tuple(place.arn("bedrock-agentcore", part) for part in parts)


def _provider(kind: str) -> Callable[[str, AwsPlace], tuple[str, ...]]:
    def make(name: str, place: AwsPlace) -> tuple[str, ...]:
        vault = "token-vault/default"
        directory = "workload-identity-directory/default"
        parts = (vault, f"{vault}/{kind}credentialprovider/{name}", directory, f"{directory}/workload-identity/*")
        return () if name.startswith("*") else tuple(place.arn("bedrock-agentcore", part) for part in parts)

    return make


def _provider_secret(kind: str) -> Callable[[str, AwsPlace], tuple[str, ...]]:
    def make(name: str, place: AwsPlace) -> tuple[str, ...]:
        secret = f"secret:bedrock-agentcore-identity!default/{kind}/{name}-??????"
        return () if name.startswith("*") else (place.arn("secretsmanager", secret),)

    return make


_MAKERS: Final[Mapping[str, Callable[[str, AwsPlace], tuple[str, ...]]]] = {
    "memories": _agentcore("memory"),
    "gateways": _agentcore("gateway"),
    "agents": _agents,
    "code_interpreters": _tool("code-interpreter"),
    "browsers": _tool("browser"),
    "web_searches": _web_searches,
    "guardrails": _matching("bedrock", "guardrail", _GUARDRAIL_ID),
    "knowledge_bases": _matching("bedrock", "knowledge-base", _BASE_ID),
    "agent_aliases": _matching("bedrock", "agent-alias", re.compile(r"[0-9A-Z]{10}/[0-9A-Z]{10}")),
    "flow_aliases": _matching("bedrock", "flow", re.compile(r"[0-9A-Z]{10}/alias/[0-9A-Z]{10}")),
    "functions": _functions,
    "secrets": _secrets,
    "parameters": _simple("ssm", "parameter/{}"),
    "tables": _simple("dynamodb", "table/{}"),
    "queried_tables": _queried_tables,
    "queues": _queues,
    "topics": _simple("sns", "{}"),
    "state_machines": _simple("states", "stateMachine:{}"),
    "keys": _keys,
    "event_buses": _simple("events", "event-bus/{}"),
    "roles": lambda name, place: (),  # the code refers to roles by ARN only
    "log_groups": _log_groups,
    "streams": _simple("kinesis", "stream/{}"),
    "delivery_streams": _simple("firehose", "deliverystream/{}"),
    "vector_buckets": _simple("s3vectors", "bucket/{}"),
    "identities": _identities,
    "workload_identities": _workload_identities,
    "api_keys": _provider("apikey"),
    "oauth2_tokens": _provider("oauth2"),
    "api_key_secrets": _provider_secret("apikey"),
    "oauth2_secrets": _provider_secret("oauth2"),
}

_WILDCARDS: Final = {
    "agents": "the call may use any endpoint of the runtime",
    "secrets": "Secrets Manager adds six characters to the name",
    "api_key_secrets": "Secrets Manager adds six characters to the name",
    "oauth2_secrets": "Secrets Manager adds six characters to the name",
    "api_keys": "AgentCore chooses the name of the runtime's workload identity",
    "oauth2_tokens": "AgentCore chooses the name of the runtime's workload identity",
    "queried_tables": "the table's indexes",
    "log_groups": "the group's streams",
}
