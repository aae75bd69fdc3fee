"""The files of a snapshot: mapping of an agent's texts to files, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, cast

from loomlib.json_values import as_list, mapping_or_none, text_or_none

from ..model import DEEPEST, ImportedAgent
from .encoding import SnapshotFormatError, decode_agent, encode

AGENT_FILE: Final = "agent.json"
INSTRUCTION_FILE: Final = "instruction.md"
_OTHER: Final = re.compile(r"[^a-z0-9_-]+")
_SAFE: Final = re.compile(r"[a-z0-9_][a-z0-9_-]{0,59}")
_RESERVED: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
)
"""Names that Windows reserves for devices."""

_LONGEST: Final = 50

Read = Callable[[str], bytes]


def agent_files(agent: ImportedAgent, folder: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file of an agent, and of those of its collaborators.

    Args:
        agent: The agent.
        folder: The agent's folder with a slash at its end, "" for the snapshot's own.
    """
    encoded: dict[str, Any] = encode(agent)
    yield f"{folder}{INSTRUCTION_FILE}", to_bytes(encoded.pop("instruction"))
    prompts: list[dict[str, Any]] = encoded.get("prompts", [])
    for step, name in zip(prompts, file_names(step["name"] for step in prompts), strict=True):
        if "template" in step:
            step["template_file"] = f"prompts/{name}.txt"
            yield f"{folder}{step['template_file']}", to_bytes(step.pop("template"))
    groups: list[dict[str, Any]] = encoded.get("action_groups", [])
    for group, name in zip(groups, file_names(group["name"] for group in groups), strict=True):
        if "api_document" in group:
            group["api_document_file"] = f"schemas/{name}.json"
            yield f"{folder}{group['api_document_file']}", json_bytes(group.pop("api_document"))
    collaborators: list[dict[str, Any]] = encoded.get("collaborators", [])
    for item, value, name in zip(
        collaborators, agent.collaborators, file_names(item["name"] for item in collaborators), strict=True
    ):
        if value.agent is not None:
            del item["agent"]
            item["agent_folder"] = f"collaborators/{name}"
            yield from agent_files(value.agent, f"{folder}{item['agent_folder']}/")
    yield f"{folder}{AGENT_FILE}", json_bytes(encoded)


def agent_from_files(read: Read) -> ImportedAgent:
    """Read an agent from its files.

    Args:
        read: Returns the content of a file by its path; paths do not contain `..`.

    Raises:
        SnapshotFormatError: A file is not in the form that Loom writes.
    """
    return decode_agent(_joined(read, "", 1))


def file_names(names: Iterable[str]) -> list[str]:
    """Return a file name for each item, in lower case, without characters that are special in a path or a shell.

    Args:
        names: The names of the items, which may be hostile or identical.
    """
    safe_names: list[str] = []
    for name in names:
        plain = _OTHER.sub("-", name.lower()).strip("-")[:_LONGEST] or "unnamed"
        plain = f"{plain}_" if plain in _RESERVED else plain
        safe, count = plain, 1
        while safe in safe_names:
            count += 1
            safe = f"{plain}-{count}"
        safe_names.append(safe)
    return safe_names


def json_bytes(value: object) -> bytes:
    """Return a JSON value as a file's content.

    Args:
        value: The value.
    """
    return to_bytes(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def to_bytes(text: str) -> bytes:
    """Return a text as a file's content, with its line breaks unchanged.

    Args:
        text: The text.
    """
    return text.encode("utf-8", "surrogatepass")


def read_json(content: bytes, path: str) -> dict[str, Any]:
    """Return the object of a JSON file.

    Args:
        content: The file's content.
        path: Its path, for the error.

    Raises:
        SnapshotFormatError: It is not a JSON object.
    """
    try:
        value = mapping_or_none(json.loads(_text(content, path)))
    except (ValueError, RecursionError) as error:
        raise SnapshotFormatError("A file of the snapshot is not JSON", on=path) from error
    if value is None:
        raise SnapshotFormatError("A file of the snapshot is not a JSON object", on=path)
    return dict(value)


def _text(content: bytes, path: str) -> str:
    try:
        return content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise SnapshotFormatError("A file of the snapshot is not UTF-8", on=path) from error


def _joined(read: Read, folder: str, level: int) -> dict[str, Any]:
    """Return an encoded agent, with the contents of its separate files inserted."""
    if level > DEEPEST:
        raise SnapshotFormatError(f"The snapshot has more than {DEEPEST} levels of agents", on=folder)
    path = f"{folder}{AGENT_FILE}"
    agent = read_json(read(path), path)
    agent["instruction"] = _text(read(f"{folder}{INSTRUCTION_FILE}"), folder)
    for step in _objects(agent, "prompts"):
        if name := _take_path(step, "template_file", "prompts", ".txt"):
            step["template"] = _text(read(f"{folder}{name}"), name)
    for group in _objects(agent, "action_groups"):
        if name := _take_path(group, "api_document_file", "schemas", ".json"):
            group["api_document"] = read_json(read(f"{folder}{name}"), name)
    for item in _objects(agent, "collaborators"):
        if name := _take_path(item, "agent_folder", "collaborators", ""):
            item["agent"] = _joined(read, f"{folder}{name}/", level + 1)
    return agent


def _objects(agent: Mapping[str, Any], member: str) -> Iterator[dict[str, Any]]:
    for item in as_list(agent.get(member)):
        if isinstance(item, dict):
            yield cast("dict[str, Any]", item)


def _take_path(item: dict[str, Any], member: str, folder: str, suffix: str) -> str:
    """Remove a member and return the path that it contains; only names that Loom assigns are accepted."""
    if member not in item:
        return ""
    path = text_or_none(item.pop(member)) or ""
    name = path.removeprefix(f"{folder}/").removesuffix(suffix)
    if path != f"{folder}/{name}{suffix}" or not _SAFE.fullmatch(name):
        raise SnapshotFormatError(f"The file {path[:100]!r} has a name that Loom does not assign", on=member)
    return path
