"""Guardrails of Amazon Bedrock: list, create, version, delete, and check texts with them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, cast

from loomlib.errors import ResourceNotFoundError

from .connection import Clients
from .errors import translated
from .paging import iter_items

_POLICIES: Final[Mapping[str, str]] = {
    "wordPolicy": "words",
    "sensitiveInformationPolicy": "sensitive information",
    "topicPolicy": "topics",
    "contentPolicy": "content",
    "contextualGroundingPolicy": "grounding",
}
"""Policies by their names in AWS's API, in the order in which they are shown."""

Side = Literal["INPUT", "OUTPUT"]
"""Kind of a text: a prompt or an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrail:
    """A guardrail.

    Attributes:
        id: Its id.
        name: Its name.
        arn: Its ARN.
        status: Bedrock's status, such as READY.
        description: Its description, "" without one.
        policies: The policies of its working draft.
        region: The AWS region.
        updated_at: When it was changed last.
    """

    id: str
    name: str
    arn: str
    status: str
    description: str
    policies: tuple[str, ...]
    region: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailMatch:
    """A single finding of a guardrail.

    Attributes:
        policy: "words", "sensitive information", "topics", "content" or "grounding".
        kind: The word list, the kind of data, the expression, the topic or the filter.
        match: The text that matched, "" for a finding about the whole text.
        action: BLOCKED, ANONYMIZED or NONE (reported only).
        confidence: NONE, LOW, MEDIUM or HIGH for a content filter, "" otherwise.
        score: Score of a grounding filter, from 0 to 1; None otherwise.
        threshold: The score below which a grounding filter intervenes; None otherwise.
    """

    policy: str
    kind: str
    match: str
    action: str
    confidence: str = ""
    score: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailAssessment:
    """A guardrail's assessment of a text.

    Attributes:
        intervened: Whether it blocked or masked something.
        reason: Bedrock's reason, as text.
        outputs: The replacement for the text: a message, or the masked text; empty if the text is unchanged.
        matches: Its findings.
        usage: Text units by policy, on which AWS bases the price.
        duration_ms: From the call to its answer, at the client.
    """

    intervened: bool
    reason: str
    outputs: tuple[str, ...]
    matches: tuple[GuardrailMatch, ...]
    usage: Mapping[str, int] = field(repr=False)
    duration_ms: float


def list_guardrails(clients: Clients, *, region: str | None = None) -> Iterator[Guardrail]:
    """Return every guardrail of the account in a region, each read in full."""
    control, where = clients.client("bedrock", region), region or clients.region
    for item in iter_items(control.list_guardrails, "guardrails", {}, "Listing guardrails", where):
        yield get_guardrail(clients, item["id"], region=where)


def find_guardrail(clients: Clients, key: str, *, region: str | None = None) -> Guardrail:
    """Return a guardrail by its name, id or ARN.

    Args:
        clients: The AWS clients of a connection.
        key: The guardrail's name, id or ARN.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is none.
    """
    control, where = clients.client("bedrock", region), region or clients.region
    for item in iter_items(control.list_guardrails, "guardrails", {}, "Listing guardrails", where):
        if key in (item["name"], item["id"], item["arn"]):
            return get_guardrail(clients, item["id"], region=where)
    raise ResourceNotFoundError(
        "There is no such guardrail", on=f"{key} in {where}", try_="bench.bedrock.guardrails.table()"
    )


def get_guardrail(clients: Clients, guardrail_id: str, *, region: str | None = None) -> Guardrail:
    """Return a guardrail by its id.

    Args:
        clients: The AWS clients of a connection.
        guardrail_id: The guardrail's id.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is none.
    """
    with translated("Reading a guardrail", on=guardrail_id):
        shape: Mapping[str, Any] = clients.client("bedrock", region).get_guardrail(guardrailIdentifier=guardrail_id)
    return Guardrail(
        id=shape["guardrailId"],
        name=shape["name"],
        arn=shape["guardrailArn"],
        status=shape["status"],
        description=shape.get("description") or "",
        policies=tuple(name for member, name in _POLICIES.items() if shape.get(member)),
        region=region or clients.region,
        updated_at=shape["updatedAt"],
    )


def create_guardrail(
    clients: Clients, name: str, configuration: Mapping[str, Any], *, region: str | None = None
) -> Guardrail:
    """Create a guardrail (CreateGuardrail).

    Args:
        clients: The AWS clients of a connection.
        name: Its name.
        configuration: The other parameters of the operation, such as `wordPolicyConfig`.
        region: The region, if it is not the connection's.

    Raises:
        ConflictError: The name is taken.
        RequestRejectedError: Bedrock rejects the configuration.
    """
    with translated("Creating a guardrail", on=name):
        answer = clients.client("bedrock", region).create_guardrail(name=name, **configuration)
    return get_guardrail(clients, answer["guardrailId"], region=region)


def create_version(clients: Clients, guardrail: Guardrail, *, description: str = "") -> str:
    """Save the working draft as a version and return its number.

    Args:
        clients: The AWS clients of a connection.
        guardrail: The guardrail.
        description: The version's description.
    """
    options = {"description": description} if description else {}
    with translated("Creating a version of a guardrail", on=guardrail.name):
        answer = clients.client("bedrock", guardrail.region).create_guardrail_version(
            guardrailIdentifier=guardrail.id, **options
        )
    return str(answer["version"])


def delete_guardrail(clients: Clients, guardrail: Guardrail) -> None:
    """Delete a guardrail with its versions."""
    with translated("Deleting a guardrail", on=guardrail.name):
        clients.client("bedrock", guardrail.region).delete_guardrail(guardrailIdentifier=guardrail.id)


def apply_guardrail(
    clients: Clients,
    guardrail: Guardrail,
    text: str,
    *,
    side: Side,
    version: str,
    grounded_in: Sequence[str] = (),
    query: str = "",
) -> GuardrailAssessment:
    """Check a text (ApplyGuardrail).

    Args:
        clients: The AWS clients of a connection.
        guardrail: The guardrail.
        text: The text.
        side: "INPUT" for a prompt, "OUTPUT" for an answer.
        version: "DRAFT" or a version's number.
        grounded_in: Texts that an answer must be grounded in.
        query: The question that it answers.
    """
    content = [{"text": {"text": source, "qualifiers": ["grounding_source"]}} for source in grounded_in]
    content += [{"text": {"text": query, "qualifiers": ["query"]}}] if query else []
    content.append({"text": {"text": text, "qualifiers": ["guard_content"]}})
    began = time.perf_counter()
    with translated("Checking a text with a guardrail", on=f"{guardrail.name} {version}"):
        answer: Mapping[str, Any] = clients.client("bedrock-runtime", guardrail.region).apply_guardrail(
            guardrailIdentifier=guardrail.id, guardrailVersion=version, source=side, content=content
        )
    return GuardrailAssessment(
        intervened=answer["action"] == "GUARDRAIL_INTERVENED",
        reason=answer.get("actionReason") or "",
        outputs=tuple(output["text"] for output in answer["outputs"]),
        matches=tuple(match for item in answer["assessments"] for match in _matches(item)),
        usage=dict(answer["usage"]),
        duration_ms=(time.perf_counter() - began) * 1_000,
    )


def _matches(assessment: Mapping[str, Any]) -> Iterator[GuardrailMatch]:
    for member, policy in _POLICIES.items():
        lists = cast("Mapping[str, Sequence[Mapping[str, Any]]]", assessment.get(member) or {})
        for entries, items in lists.items():
            for item in items:
                kind = item.get("name") or item.get("type") or ("custom" if entries == "customWords" else entries)
                yield GuardrailMatch(
                    policy=policy,
                    kind=kind,
                    match=item.get("match") or "",
                    action=item["action"],
                    confidence=item.get("confidence") or "",
                    score=item.get("score"),
                    threshold=item.get("threshold"),
                )
