"""The foundation models behind a model identifier, such as an inference profile or a prompt router."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from loomlib.errors import LoomError

from .connection import Clients
from .paging import with_retries

IdentifierKind = Literal[
    "foundation model", "inference profile", "prompt router", "provisioned throughput", "custom model"
]
"""The kind of resource that a model identifier names."""

_GEOGRAPHY: Final = re.compile(r"(?:[a-z]{2}|us-gov|apac|amer|emea|global)\.[a-z0-9-]+\.")
"""Prefixes of the ids of system-defined inference profiles: `us.anthropic.`, `global.amazon.`."""

_ARN_KINDS: Final[tuple[tuple[str, IdentifierKind], ...]] = (
    (":foundation-model/", "foundation model"),
    (":inference-profile/", "inference profile"),
    (":application-inference-profile/", "inference profile"),
    (":prompt-router/", "prompt router"),
    (":default-prompt-router/", "prompt router"),
    (":provisioned-model/", "provisioned throughput"),
    (":custom-model/", "custom model"),
    (":custom-model-deployment/", "custom model"),
    (":imported-model/", "custom model"),
)
_DEEPEST: Final = 3
"""A prompt router routes to inference profiles, which route to models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifiedModel:
    """The models behind a model identifier.

    Attributes:
        identifier: The id or ARN.
        kind: The kind of resource that it names.
        model_ids: The ids of the foundation models behind it, sorted; empty if they cannot be read.
        problem: Why they cannot be read, "" if they can.
    """

    identifier: str
    kind: IdentifierKind
    model_ids: tuple[str, ...] = ()
    problem: str = ""


def identifier_kind(identifier: str) -> IdentifierKind:
    """Return the kind of resource that a model identifier names.

    Args:
        identifier: An id or an ARN, as accepted by Converse.

    Examples:
        >>> identifier_kind("us.amazon.nova-pro-v1:0")
        'inference profile'
    """
    for part, kind in _ARN_KINDS:
        if part in identifier:
            return kind
    return "inference profile" if _GEOGRAPHY.match(identifier) else "foundation model"


def identify_model(clients: Clients, identifier: str, *, region: str | None = None) -> IdentifiedModel:
    """Return the models behind a model identifier; a failed read is returned as a problem, not raised.

    Args:
        clients: The AWS clients of a connection.
        identifier: An id or an ARN, as accepted by Converse.
        region: The region, if it is not the connection's.
    """
    kind = identifier_kind(identifier)
    try:
        model_ids = _models(clients.client("bedrock", region), identifier, _DEEPEST) if identifier else set[str]()
    except LoomError as error:
        return IdentifiedModel(identifier=identifier, kind=kind, problem=error.what)
    return IdentifiedModel(identifier=identifier, kind=kind, model_ids=tuple(sorted(model_ids)))


def _models(bedrock: Any, identifier: str, depth: int) -> set[str]:
    kind = identifier_kind(identifier)
    if kind == "foundation model":
        return {identifier.rpartition("foundation-model/")[2]}
    if depth == 0:
        return set()

    def read(operation: str, member: str) -> dict[str, Any]:
        return with_retries(
            getattr(bedrock, operation), {member: identifier}, f"Reading the {kind} of an agent", identifier
        )

    arns: list[str] = []
    if kind == "inference profile":
        arns = [item["modelArn"] for item in read("get_inference_profile", "inferenceProfileIdentifier")["models"]]
    elif kind == "prompt router":
        arns = [item["modelArn"] for item in read("get_prompt_router", "promptRouterArn")["models"]]
    elif kind == "provisioned throughput":
        arns = [read("get_provisioned_model_throughput", "provisionedModelId")["foundationModelArn"]]
    elif ":custom-model-deployment/" in identifier:
        arns = [read("get_custom_model_deployment", "customModelDeploymentIdentifier")["modelArn"]]
    elif ":custom-model/" in identifier:
        arns = [read("get_custom_model", "modelIdentifier")["baseModelArn"]]
    return {model for arn in arns if arn and arn != identifier for model in _models(bedrock, arn, depth - 1)}
