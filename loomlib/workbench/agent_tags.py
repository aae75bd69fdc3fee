"""The tags of an agent's runtime."""

from __future__ import annotations

from collections.abc import Mapping

from ..agents import AgentEntry
from ..presentation.html import card
from .context import Context


class AgentTags:
    """The tags of an agent's runtime, which AWS billing and IAM policies can also use; `agent.releases.tags`.

        agent.releases.tags.set({"team": "search", "stage": "prod"})
        bench.agents(tags={"team": "search"})

    Args:
        context: The workbench's resources.
        entry: The agent.
    """

    def __init__(self, context: Context, entry: AgentEntry) -> None:
        self._context, self._entry = context, entry

    def read(self) -> dict[str, str]:
        """Return the runtime's current tags, including Loom's own (`loom:…`) (ListTagsForResource)."""
        return dict(self._context.catalog.read_tags(self._entry).tags)

    def set(self, tags: Mapping[str, str]) -> dict[str, str]:
        """Add or change tags (TagResource), and return all tags.

        Args:
            tags: The tags.

        Raises:
            ValueError: A name begins with `loom:` or `aws:`, which are reserved.
        """
        return dict(self._context.catalog.change_tags(self._entry, tags).tags)

    def remove(self, *names: str) -> dict[str, str]:
        """Remove tags (UntagResource), and return the remaining ones.

        Args:
            *names: Names of tags; those that the runtime does not have are ignored.

        Raises:
            ValueError: A name begins with `loom:` or `aws:`, which are reserved.
        """
        return dict(self._context.catalog.change_tags(self._entry, {}, remove=names).tags)

    def __repr__(self) -> str:
        return f"<Tags of {self._entry.name}: {', '.join(f'{k}={v}' for k, v in self.read().items()) or 'none'}>"

    def _repr_html_(self) -> str:
        return card(f"{self._entry.name} · tags", facts=sorted(self.read().items()))
