"""The resources of requests to services other than AgentCore: the ARNs of functions, queues, topics and secrets.

Source: AWS, "Service Authorization Reference" of each service.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from loomlib.json_values import as_list, as_text, parse_object

from ..error_forms import members_of

_FUNCTION: Final = re.compile(r"/(?:2015-03-31|2014-11-13|2021-11-15)/functions/([^/]+)/")
_FUNCTION_NAME: Final = re.compile(r"(?:(?:([a-z]{2}(?:-[a-z]+)+-\d):)?(?:(\d{12}):)?function:)?(.+)")
"""The region, the account and the name of a function: the end of its ARN, which may start at any of them."""
_QUEUE: Final = re.compile(r"https?://[^/]+/(\d{12})/([^/?]+)")
_PROFILE: Final = re.compile(r"(?:[a-z]{2}|us-gov|apac|amer|emea|global)\.(?=[a-z0-9-]+\.)")
_ARNS_IN_FORM: Final = {"sns": ("TopicArn", "TargetArn"), "sts": ("RoleArn",)}
IAM_OPERATIONS: Final[Mapping[str, str]] = {
    "lambda:Invoke": "lambda:InvokeFunction",
    "lambda:InvokeAsync": "lambda:InvokeFunction",
    "lambda:InvokeWithResponseStream": "lambda:InvokeFunction",
}
"""Operations whose IAM action has a different name."""


def model_resources(model_id: str, region: str, account_id: str) -> tuple[list[str], dict[str, str]]:
    """Return the ARNs of a call to a model, and the condition keys of the request.

    A call through an inference profile requires the profile and the model behind it.

    Args:
        model_id: The model's id or ARN, or an inference profile's.
        region: The caller's region.
        account_id: The caller's account.
    """
    profile = model_id if ":inference-profile/" in model_id else ""
    start = _PROFILE.match(model_id.rpartition("/")[2] if profile else model_id)
    if start is None or (model_id.startswith("arn:") and not profile):
        arn = model_id if model_id.startswith("arn:") else f"arn:aws:bedrock:{region}::foundation-model/{model_id}"
        return [arn], {}
    name = model_id.rpartition("/")[2]
    profile = profile or f"arn:aws:bedrock:{region}:{account_id}:inference-profile/{name}"
    model = f"arn:aws:bedrock:{region}::foundation-model/{name[start.end() :]}"
    return [profile, model], {"bedrock:inferenceprofilearn": profile}


def named_resources(
    service: str,
    path: str,
    query: str,
    body: Callable[[], bytes],
    *,
    form: str = "",
    operation: str = "",
    region: str,
    account_id: str,
) -> list[str] | None:
    """Return the ARNs that a request names; None for services and requests that are not known here.

    Args:
        service: The service that it is signed for.
        path: The raw path.
        query: The raw query.
        body: Returns the body.
        form: The parameters of a request of the query protocols.
        operation: The operation, whose parameters count.
        region: The caller's region.
        account_id: The caller's account.
    """
    start = f"arn:aws:{service}:{region}:{account_id}"
    if service == "lambda" and (match := _FUNCTION.match(path)):
        name = unquote(match[1])
        if not name.startswith("arn:") and (parts := _FUNCTION_NAME.fullmatch(name)):
            name = f"arn:aws:lambda:{parts[1] or region}:{parts[2] or account_id}:function:{parts[3]}"
        qualifier = (parse_qs(query).get("Qualifier") or [""])[0]
        return [f"{name}:{qualifier}" if qualifier else name]
    if service in _ARNS_IN_FORM:
        members, values = members_of(service, operation), parse_qs(form)
        return [arn for name in _ARNS_IN_FORM[service] if name in members for arn in values.get(name, ())] or None
    if service not in ("sqs", "states", "kms", "secretsmanager"):
        return None
    members = members_of(service, operation)
    parameters = {name: value for name, value in parse_object(body()).items() if name in members}
    if service == "sqs":
        addresses = parse_qs(form).get("QueueUrl", []) if form else [as_text(parameters.get("QueueUrl"))]
        matches = [_QUEUE.fullmatch(address) for address in addresses if "QueueUrl" in members]
        arns = [f"arn:aws:sqs:{region}:{match[1]}:{match[2]}" for match in matches if match]
        return arns if arns and len(arns) == len(matches) else None
    if service == "states":
        machine = as_text(parameters.get("stateMachineArn"))
        return [machine] if machine else None
    if service == "kms":
        key = as_text(parameters.get("KeyId"))
        return [key if key.startswith("arn:") else f"{start}:key/{key}"] if key else None
    if parameters.get("Filters"):  # they may match any secret
        return None
    names = (parameters.get("SecretId"), *as_list(parameters.get("SecretIdList")))
    return [_secret_arn(name, region, account_id) for name in map(as_text, names) if name] or None


def s3_condition_keys(method: str, path: str, query: str) -> dict[str, str]:
    """Return the condition keys of a request that lists a bucket."""
    if method != "GET" or path.removeprefix("/").partition("/")[2]:
        return {}
    return {"s3:prefix": (parse_qs(query, keep_blank_values=True).get("prefix") or [""])[0]}


def _secret_arn(name: str, region: str, account_id: str) -> str:
    """Return a secret's ARN; its last six characters are not part of the name."""
    if name.startswith("arn:"):
        return name
    models: Any = sys.modules.get("moto.secretsmanager.models")
    if models is not None and account_id in models.secretsmanager_backends:
        backend: Any = models.secretsmanager_backends[account_id].get(region)
        secret: Any = backend.secrets.get(name) if backend is not None and name in backend.secrets else None
        if secret is not None:
            return str(secret.arn)
    return f"arn:aws:secretsmanager:{region}:{account_id}:secret:{name}"
