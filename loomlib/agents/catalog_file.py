"""The catalog as a JSON file without secrets: written, and read from untrusted text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from loomlib.errors import LoomError
from loomlib.json_values import as_list, as_mapping, as_text
from loomlib.redaction import READABLE_RULES, Redactor

from .arn import RuntimeArn
from .entry import AgentEntry
from .message_format import PROMPT, SESSION, MessageFormat, read_message_format

FORMAT: Final = "loom-catalog"
VERSION: Final = 1
_MOST_BYTES: Final = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFileEntry:
    """An agent in a catalog file.

    Attributes:
        arn: The runtime's ARN.
        name: The runtime's name.
        endpoints: Names of its endpoints.
        tags: Its tags.
        message_format: The form of its requests and answers; None for the usual one.
    """

    arn: RuntimeArn
    name: str
    endpoints: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    message_format: MessageFormat | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFile:
    """The content of a catalog file.

    Attributes:
        scope: The environment that it was written from: "local" or "aws".
        agents: The agents.
        groups: The ARNs of the agents of each group.
    """

    scope: str
    agents: tuple[CatalogFileEntry, ...]
    groups: Mapping[str, tuple[str, ...]]


def catalog_text(scope: str, entries: Iterable[AgentEntry], groups: Mapping[str, Sequence[AgentEntry]]) -> str:
    """Return a catalog as JSON: ARNs, endpoints, tags, groups, and forms of messages.

    Values that look secret are redacted, except the placeholders of a form. It has no environment variables, no roles,
    no stored invocations, and no times, so that it can be compared.

    Args:
        scope: The environment: "local" or "aws".
        entries: The agents.
        groups: The agents of each group.
    """
    redactor = Redactor(READABLE_RULES, numbered=False)
    agents = [
        {
            "arn": str(entry.arn),
            "name": entry.name,
            "protocol": entry.protocol,
            "endpoints": list(entry.qualifiers),
            "tags": redactor.value(entry.own_tags),
            "message_format": None if entry.message_format is None else _redacted(entry.message_format, redactor),
        }
        for entry in sorted(entries, key=lambda entry: str(entry.arn))
    ]
    members = {name: sorted(str(entry.arn) for entry in group) for name, group in sorted(groups.items())}
    content = {"format": FORMAT, "version": VERSION, "scope": scope, "agents": agents, "groups": members}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def read_catalog_text(text: str, *, where: str) -> CatalogFile:
    """Return the content of a catalog file.

    Args:
        text: The file's text, which anybody may have written.
        where: The file, for errors.

    Raises:
        LoomError: It is not a catalog file; the message says what is wrong with it.
    """
    if len(text) > _MOST_BYTES:
        raise _invalid("it is larger than 20 MB", where)
    try:
        content: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"it is not JSON: {error}", where) from error
    document = as_mapping(content)
    if document.get("format") != FORMAT:
        raise _invalid(f'its "format" is not "{FORMAT}"', where)
    if document.get("version") != VERSION:
        raise _invalid(f"its version is {document.get('version')!r}, and this release reads {VERSION}", where)
    agents = tuple(_entry(as_mapping(item), at, where) for at, item in enumerate(as_list(document.get("agents")), 1))
    agent_arns = {str(agent.arn) for agent in agents}
    groups: dict[str, tuple[str, ...]] = {}
    for name, arns in as_mapping(document.get("groups")).items():
        members = tuple(as_text(arn) for arn in as_list(arns))
        if unknown := [arn for arn in members if arn not in agent_arns]:
            raise _invalid(f"its group {name} has an agent that the file does not have: {unknown[0]}", where)
        groups[name] = members
    return CatalogFile(scope=as_text(document.get("scope")), agents=agents, groups=groups)


def _redacted(form: MessageFormat, redactor: Redactor) -> object:
    members = form.members()
    return _with_placeholders(redactor.value(members), members)


def _with_placeholders(redacted: Any, original: object) -> Any:
    """Return a redacted JSON value in which `{prompt}` and `{session_id}` are restored: they are placeholders."""
    if isinstance(original, str):
        lost = [name for name in (PROMPT, SESSION) if name in original and name not in redacted]
        return original if lost == [original] else " ".join([redacted, *lost])
    if isinstance(original, Mapping):
        values = cast("Mapping[str, object]", original).values()
        return {
            name: _with_placeholders(value, source)
            for (name, value), source in zip(redacted.items(), values, strict=True)
        }
    if isinstance(original, list | tuple):
        items = cast("Sequence[object]", original)
        return [_with_placeholders(item, source) for item, source in zip(redacted, items, strict=True)]
    return redacted


def _entry(item: Mapping[str, Any], number: int, where: str) -> CatalogFileEntry:
    try:
        arn = RuntimeArn.parse(as_text(item.get("arn")))
        form = read_message_format(as_mapping(item.get("message_format")))
    except LoomError as error:
        raise _invalid(f"its agent {number} is invalid: {error}", where) from error
    return CatalogFileEntry(
        arn=arn,
        name=as_text(item.get("name")) or arn.name,
        endpoints=tuple(as_text(name) for name in as_list(item.get("endpoints"))),
        tags={name: as_text(value) for name, value in as_mapping(item.get("tags")).items()},
        message_format=form,
    )


def _invalid(reason: str, where: str) -> LoomError:
    return LoomError(f"This is not a catalog file: {reason}", on=where, try_="a file that `loom agents export` wrote")
