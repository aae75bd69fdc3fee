"""Deploy the candidates of an autoresearch: one runtime for each set of environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..aws.packages import runtime_name
from ..aws.runtimes import delete_runtime
from ..errors import AgentNotFoundError
from ..evals.values.digests import digest_of
from ..store import Store
from .agent import Agent
from .bench import Workbench
from .blueprints import find_code

_LONGEST_STEM = 36


class AgentCandidates:
    """Deploys a blueprint, or the agent at a path, with varying variables, for `loomlib.evals.autoresearch`.

    Each set of variables has a runtime of its own, named by their hash, so a resumed search finds its candidates and
    their answers again.

        Autoresearch(AgentCandidates(bench, "assistant"), evalset, …)

    Args:
        bench: Where to deploy.
        source: A blueprint's name, or the path of an `agent.py` or of its folder.
        name: The stem of the runtimes' names; derived from `source` by default.
        environment: Variables that all candidates get.
        keep_dropped: Keep the runtimes of candidates that were dropped; they are deleted by default.
    """

    def __init__(
        self,
        bench: Workbench,
        source: str | Path,
        *,
        name: str = "",
        environment: Mapping[str, str] | None = None,
        keep_dropped: bool = False,
    ) -> None:
        self._bench, self._source, self._keep_dropped = bench, source, keep_dropped
        code = find_code(source)
        stem = code.stem if code.name not in ("agent.py", "main.py") else code.absolute().parent.name
        self._name = (name or runtime_name(stem))[:_LONGEST_STEM]
        self._environment = dict(environment or {})

    @property
    def store(self) -> Store:
        """The store for the candidates' runs."""
        return self._bench.context.store

    def build(self, environment: Mapping[str, str]) -> Agent:
        """Return the agent with these variables; deploy it unless it is deployed already."""
        variables = {**self._environment, **environment}
        name = f"{self._name}_{digest_of(variables)[:10]}"
        with suppress(AgentNotFoundError):
            agent = self._bench.agent(name).refresh()
            if not agent.entry.is_deleted:
                return agent
        return self._bench.deploy(self._source, name=name, environment=variables)

    def discard(self, built: Agent) -> None:
        """Delete the runtime of a dropped candidate; its invocations stay in the store."""
        if not self._keep_dropped:
            delete_runtime(self._bench.clients, built.entry.runtime_id, region=built.entry.region)
            built.refresh()
