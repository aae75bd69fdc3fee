"""The IAM action of a request, and the ARNs of the resources that it touches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from urllib.parse import unquote

from loomlib.json_values import as_list, as_mapping, as_text, parse_object

from ..error_forms import has_form, members_of, operation_of, protocol_of
from ..service_models import signing_name
from .named_resources import IAM_OPERATIONS, model_resources, named_resources

_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)*")
_IAM_NAMES = {
    "monitoring": "cloudwatch",
    "email": "ses",
}  # services whose name in IAM differs from the one in signatures
_OTHER_SIGNING_NAMES = frozenset(
    {"aoss", "aps", "aws-marketplace", "elasticfilesystem", "elasticloadbalancing", "elasticmapreduce", "execute-api"}
    | {"lex", "monitoring", "states", "tagging"}
)
"""Signing names that differ from botocore's name of the service, for services that moto implements."""
_S3_BUCKET = {"GET": "ListBucket", "HEAD": "ListBucket", "PUT": "CreateBucket", "DELETE": "DeleteBucket"}
_S3_OBJECT = {
    "GET": "GetObject",
    "HEAD": "GetObject",
    "PUT": "PutObject",
    "POST": "PutObject",
    "DELETE": "DeleteObject",
}
_S3_UPLOADS = frozenset({"uploads", "uploadId", "partNumber"})
_S3_PLAIN = frozenset({"list-type", "prefix", "delimiter", "max-keys", "marker", "encoding-type", "start-after"}) | {
    *("continuation-token", "fetch-owner", "x-id", "versionId", "allow-unordered", "key-marker", "upload-id-marker")
}
_NAMED_IN_BODY = {
    # service: (members of the body, the end of their ARNs)
    "dynamodb": (("TableName",), "table/{}"),
    "ssm": (("Name", "Names"), "parameter/{}"),
}
_KINDS = {
    "memoryId": "memory",
    "agentRuntimeId": "runtime",
    "evaluatorId": "evaluator",
    **dict.fromkeys(("profileId", "profileIdentifier"), "browser-profile"),
}
_TOOLS = {
    "code-interpreter": ("codeInterpreterIdentifier", "codeInterpreterId"),
    "browser": ("browserIdentifier", "browserId"),
}
_BEDROCK_KINDS = {"knowledgebases": "knowledge-base", "guardrails": "guardrail", "guardrail": "guardrail"}
_GENERATING = ("RetrieveAndGenerate", "RetrieveAndGenerateStream")
_BEDROCK_PATH = re.compile(rf"/({'|'.join(_BEDROCK_KINDS)})/([^/]+)")
_AGENT_ALIAS_PATH = re.compile(r"/agents/([^/]+)/agent[aA]liases/([^/]+)")
_AGENT_PATH = re.compile(r"/agents/([^/]+)/")
_GROUP_MEMBERS = ("logGroupName", "logGroupIdentifier", "logGroupNamePrefix", "logGroupNames", "logGroupIdentifiers")

Action = tuple[str, Sequence[str]]


def model_action(operation: str, model_id: str, region: str, account_id: str) -> Action:
    """Return the action of a call to a model.

    Args:
        operation: The last part of its path, such as `converse-stream`.
        model_id: The model's id or ARN, or an inference profile's.
        region: The caller's region.
        account_id: The caller's account.
    """
    streams = operation in ("converse-stream", "invoke-with-response-stream")
    name = "CountTokens" if operation == "count-tokens" else f"InvokeModel{'WithResponseStream' * streams}"
    return f"bedrock:{name}", model_resources(model_id, region, account_id)[0]


def agentcore_action(operation: str, path_parameters: Mapping[str, Any], region: str, account_id: str) -> Action:
    """Return the action of an AgentCore operation.

    Args:
        operation: The operation's name.
        path_parameters: The parameters in its path.
        region: The caller's region.
        account_id: The account.
    """
    start = f"arn:aws:bedrock-agentcore:{region}:{account_id}"
    for member, kind in _KINDS.items():
        if member in path_parameters:
            identifier = unquote(str(path_parameters[member]))
            return f"bedrock-agentcore:{operation}", [
                identifier if identifier.startswith("arn:") else f"{start}:{kind}/{identifier}"
            ]
    for kind, members in _TOOLS.items():
        if resource := next((path_parameters[member] for member in members if member in path_parameters), None):
            return f"bedrock-agentcore:{operation}", [_tool(kind, unquote(str(resource)), region, account_id)]
    if "webSearchId" in path_parameters:
        tool = unquote(str(path_parameters["webSearchId"]))
        return f"bedrock-agentcore:{operation}", [f"arn:aws:bedrock-agentcore:{region}:aws:tool/{tool}"]
    resource = next((unquote(str(value)) for value in path_parameters.values() if "arn" in str(value)), f"{start}:*")
    return f"bedrock-agentcore:{operation}", [resource]


def _tool(kind: str, identifier: str, region: str, account_id: str) -> str:
    """Return the ARN of a code interpreter or a browser: AWS's own belong to the account `aws`."""
    if identifier.startswith("arn:"):
        return identifier
    start = f"arn:aws:bedrock-agentcore:{region}"
    if identifier.startswith("aws."):
        return f"{start}:aws:{kind}/{identifier}"
    return f"{start}:{account_id}:{kind}-custom/{identifier}"


@lru_cache(maxsize=1_000)
def is_signed_for(service: str, region: str) -> bool:
    """Return whether a credential scope has a known signing name and a well-formed region.

    moto selects a service by patterns that match `s3x`, or `ec2` in the region `s3.us-east-1`, as S3. A policy that
    names `s3` would not apply to such requests.

    Args:
        service: The service in the credential scope.
        region: The region in it.
    """
    if _REGION.fullmatch(region) is None or service == "s3files":  # moto would treat it as S3
        return False
    signed_for = signing_name(service)
    return service in _OTHER_SIGNING_NAMES if signed_for is None else signed_for == service


def other_actions(
    service: str,
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    body: Callable[[], bytes],
    *,
    region: str,
    account_id: str,
) -> Sequence[Action]:
    """Return the actions of a request to any other service; all of them must be allowed.

    Args:
        service: The service that it is signed for.
        method: The HTTP method.
        path: The raw path.
        query: The raw query.
        headers: The headers by their lower-case names.
        body: Returns the body.
        region: The caller's region.
        account_id: The account.
    """
    if service == "s3":
        return [_s3_action(method, path, query, headers)]
    protocol = protocol_of(service, headers, query)
    form = body().decode("latin-1") if has_form(headers) else ""
    operation = operation_of(
        service, protocol, method=method, raw_path=path, query=query, headers=headers, form=form
    ).removeprefix(f"{service}:")
    resources = _arns_in_body(service, operation, body(), region, account_id) if protocol == "json" else ["*"]
    if service == "bedrock" and (match := _BEDROCK_PATH.match(path)):
        resources = [_bedrock_arn(_BEDROCK_KINDS[match[1]], unquote(match[2]), region, account_id)]
    elif service == "bedrock" and (match := _AGENT_ALIAS_PATH.match(path) or _AGENT_PATH.match(path)):
        kind = "agent-alias" if match.re is _AGENT_ALIAS_PATH else "agent"
        resources = [_bedrock_arn(kind, "/".join(map(unquote, match.groups())), region, account_id)]
    is_query = protocol in ("query", "ec2")
    if arns := named_resources(
        service,
        path,
        query,
        bytes if is_query else body,
        form=f"{query}&{form}" if is_query else "",  # moto takes the parameters of both
        operation=operation,
        region=region,
        account_id=account_id,
    ):
        resources = arns
    name = f"{_IAM_NAMES.get(service, service)}:{operation}"
    action = IAM_OPERATIONS.get(name, name), resources
    if operation in _GENERATING:
        return [("bedrock:RetrieveAndGenerate", ["*"]), *_generating(body(), region, account_id)]
    return [action]


def _generating(body: bytes, region: str, account_id: str) -> Iterator[Action]:
    """Yield the actions of RetrieveAndGenerate: retrieval, the model call, and the guardrail."""
    configuration = as_mapping(parse_object(body).get("retrieveAndGenerateConfiguration"))
    knowledge = as_mapping(configuration.get("knowledgeBaseConfiguration"))
    yield "bedrock:Retrieve", [_bedrock_arn("knowledge-base", knowledge.get("knowledgeBaseId"), region, account_id)]
    yield model_action("converse", as_text(knowledge.get("modelArn")), region, account_id)
    generation = as_mapping(knowledge.get("generationConfiguration"))
    if guardrail := as_mapping(generation.get("guardrailConfiguration")).get("guardrailId"):
        yield "bedrock:ApplyGuardrail", [_bedrock_arn("guardrail", guardrail, region, account_id)]


def _bedrock_arn(kind: str, identifier: object, region: str, account_id: str) -> str:
    name = as_text(identifier)
    return name if name.startswith("arn:") else f"arn:aws:bedrock:{region}:{account_id}:{kind}/{name}"


def _s3_action(method: str, path: str, query: str, headers: Mapping[str, str]) -> Action:
    bucket, _, key = path.removeprefix("/").partition("/")
    names = [part.partition("=")[0] for part in query.split("&") if part]
    if not bucket:
        return "s3:ListAllMyBuckets", ["*"]
    arn = f"arn:aws:s3:::{unquote(bucket)}" + (f"/{unquote(key)}" if key else "")
    special = [name for name in names if name not in _S3_PLAIN and name not in _S3_UPLOADS]
    special = [name for name in special if not name.lower().startswith(("x-amz-", "response-"))]
    if not key and method == "POST" and special == ["delete"]:
        return "s3:DeleteObject", [f"{arn}/*"]
    if special:  # a setting such as ?policy or ?acl
        doing = {"GET": "Get", "HEAD": "Get", "PUT": "Put", "DELETE": "Delete", "POST": "Put"}.get(method, method)
        return f"s3:{doing}{'Object' if key else 'Bucket'}{special[0].title()}", [arn]
    if not key:
        return f"s3:{_S3_BUCKET.get(method, method)}", [arn]
    if method == "DELETE" and "uploadId" in names:
        return "s3:AbortMultipartUpload", [arn]
    source = unquote(headers.get("x-amz-copy-source", "")).removeprefix("/").partition("?")[0]
    if source:  # a copy also reads: its source is checked with the stricter of the two actions, PutObject
        return "s3:PutObject", [arn, f"arn:aws:s3:::{source}"]
    return f"s3:{_S3_OBJECT.get(method, method)}", [arn]


def _arns_in_body(service: str, operation: str, body: bytes, region: str, account_id: str) -> list[str]:
    """Return the ARNs that the body of a JSON request names in parameters of its operation."""
    try:
        content = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        return ["*"]
    document = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    document = {name: document[name] for name in members_of(service, operation) if name in document}
    start = f"arn:aws:{service}:{region}:{account_id}"
    if service == "logs":
        groups: list[str] = []
        for member in _GROUP_MEMBERS:
            value = document.get(member)
            groups += [
                str(item) for item in (cast("list[object]", value) if isinstance(value, list) else [value]) if item
            ]
        names = [re.sub(r"^arn:[^/]*?:log-group:|:\*$", "", group) for group in groups]
        return [f"{start}:log-group:{name}" for name in names] or ["*"]
    if service in _NAMED_IN_BODY:
        members, end = _NAMED_IN_BODY[service]
        values = [document.get(member) for member in members]
        names = [as_text(name) for value in values for name in (as_list(value) or [value])]
        if service == "dynamodb":
            names += _tables(document)
        arns = [
            name if name.startswith("arn:") else f"{start}:{end.format(name.lstrip('/'))}" for name in names if name
        ]
        return arns or ["*"]
    return ["*"]


def _tables(document: Mapping[str, Any]) -> list[str]:
    """Return the tables of a batch or a transaction."""
    parts = [as_mapping(part) for item in as_list(document.get("TransactItems")) for part in as_mapping(item).values()]
    return [*as_mapping(document.get("RequestItems")), *(as_text(part.get("TableName")) for part in parts)]
