"""One endpoint of an agent, and the operations that change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..aws.endpoints import EndpointDescription
from ..presentation.html import card

if TYPE_CHECKING:
    import pandas as pd


class EndpointChanges(Protocol):
    """The operations that change the endpoints of an agent; `agent.releases`."""

    def promote(self, endpoint: str, version: str | int | None = None, *, source: str | None = None) -> AgentEndpoint:
        """Make an endpoint serve a version, or the one that another endpoint serves."""
        ...

    def rollback(self, endpoint: str) -> AgentEndpoint:
        """Make an endpoint serve the version that it served before."""
        ...

    def history(self, endpoint: str | None = None) -> pd.DataFrame:
        """Return the stored changes, newest first."""
        ...

    def delete(self, endpoint: str) -> bool:
        """Delete an endpoint; return False if it no longer existed."""
        ...


class AgentEndpoint:
    """An endpoint of an agent; returned by `agent.endpoint("prod")`.

    Args:
        releases: The agent's releases.
        value: The endpoint as last described by AgentCore.
        agent_name: The agent's name.
    """

    def __init__(self, releases: EndpointChanges, value: EndpointDescription, agent_name: str) -> None:
        self._releases, self.value, self._agent_name = releases, value, agent_name

    @property
    def name(self) -> str:
        """The endpoint's name, the `qualifier` of a call."""
        return self.value.name

    @property
    def version(self) -> str:
        """The version that it serves; empty if it does not serve one yet."""
        return self.value.version

    @property
    def status(self) -> str:
        """AWS's status when the endpoint was last read."""
        return self.value.status

    def promote(self, version: str | int | None = None, *, source: str | None = None) -> AgentEndpoint:
        """Make this endpoint serve a version, as `agent.releases.promote` does; return the updated endpoint."""
        return self._releases.promote(self.name, version, source=source)

    def rollback(self) -> AgentEndpoint:
        """Make this endpoint serve the version that it served before; return the updated endpoint."""
        return self._releases.rollback(self.name)

    def history(self) -> pd.DataFrame:
        """Return the stored changes of this endpoint, newest first."""
        return self._releases.history(self.name)

    def delete(self) -> bool:
        """Delete this endpoint; return False if it no longer existed."""
        return self._releases.delete(self.name)

    def __repr__(self) -> str:
        return f"<Endpoint {self.name} of {self._agent_name}: version {self.version or '–'}, {self.status}>"

    def _repr_html_(self) -> str:
        kind = "good" if self.status == "READY" else "bad" if self.status.endswith("FAILED") else "wait"
        facts = [("version", self.version or "–"), ("invoke", f'agent.at("{self.name}").invoke("…")')]
        return card(f"{self._agent_name} · {self.name}", state=(kind, self.status), facts=facts)
