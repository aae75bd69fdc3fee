"""The README of a snapshot: a description of the agent, and the outcomes of its features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..features import assess_features
from ..model import ImportedAgent
from .value import AgentSnapshot


def readme_text(snapshot: AgentSnapshot) -> str:
    """Return the text of a snapshot's README in Markdown.

    Args:
        snapshot: The snapshot.
    """
    return "\n".join(_lines(snapshot)) + "\n"


def _lines(snapshot: AgentSnapshot) -> Iterator[str]:
    agent = snapshot.agent
    yield f"# {_plain(agent.name)}"
    yield ""
    kind = "an immutable version" if snapshot.is_immutable else "not immutable: a working draft can change"
    source = f"version {_plain(agent.version)}, alias {_plain(agent.alias_name)}"
    yield f"A snapshot of an agent of Bedrock Agents: {source} ({kind})."
    yield ""
    yield from _table(
        ("", ""),
        (
            ("id", agent.id),
            ("region", snapshot.region),
            ("model", f"{agent.model.identifier} ({agent.model.kind})"),
            ("foundation models", ", ".join(agent.model.model_ids) or "unknown"),
            ("action groups", ", ".join(group.name for group in agent.action_groups) or "none"),
            ("knowledge bases", ", ".join(base.name or base.id for base in agent.knowledge_bases) or "none"),
            ("guardrail", agent.guardrail.name or agent.guardrail.id if agent.guardrail else "none"),
            ("collaborators", ", ".join(item.name for item in agent.collaborators) or "none"),
            ("secrets removed", str(sum(sum(item.redactions.values()) for item in agent.walk()))),
            ("digest", snapshot.digest),
        ),
    )
    for item in snapshot.agents:
        yield ""
        yield "## What becomes of its features" if item is agent else f"## {_plain(item.name)}, a collaborator"
        yield ""
        yield from _features(item)
    if snapshot.notes:
        yield ""
        yield "## Notes"
        yield ""
        yield from (f"- {_plain(note)}" for note in snapshot.notes)
    yield ""
    yield "## Files"
    yield ""
    yield "- `instruction.md`, `prompts/`, `schemas/`: the texts that the agent consists of"
    yield "- `agent.json`: all other settings"
    yield "- `collaborators/`: the agents that it delegates to, in the same form"
    yield "- `snapshot.json`: its source, and a digest of each file to detect changes"


def _features(agent: ImportedAgent) -> Iterator[str]:
    features = assess_features(agent)
    rows = ((feature.name.replace("_", " "), feature.label, feature.reason) for feature in features)
    yield from _table(("feature", "in AgentCore", "why"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(map(_plain, row))} |"


def _plain(text: str) -> str:
    """Return a text escaped for one line or cell of Markdown."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    for character in ("\\", "|", "`", "<", "[", "*"):
        line = line.replace(character, f"\\{character}")
    return line
