"""Where the candidates of a research are deployed: one runtime for each set of variables."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import AgentNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from ..store import Store
    from .agent import Agent
    from .bench import Workbench

_LONGEST_STEM = 36


class AgentLaboratory:
    """Deploys a blueprint (or the agent at a path) with other variables, for `loomlib.evals.autoresearch`.

    Each set of variables has a runtime of its own, named by their hash, which a resumed research finds again with its
    answers. `environment` are variables that all candidates get beside those under research. Runtimes of dropped
    candidates are deleted unless `keep_dropped`.

        Autoresearch(AgentLaboratory(bench, "assistant"), evalset, …)
    """

    def __init__(
        self,
        bench: Workbench,
        what: str | Path,
        *,
        name: str = "",
        environment: Mapping[str, str] | None = None,
        keep_dropped: bool = False,
    ) -> None:
        from ..aws.packages import runtime_name
        from .blueprints import find_code

        self._bench, self._what, self._keep_dropped = bench, what, keep_dropped
        code = find_code(what)
        stem = code.stem if code.name not in ("agent.py", "main.py") else code.absolute().parent.name
        self._name = (name or runtime_name(stem))[:_LONGEST_STEM]
        self._environment = dict(environment or {})

    @property
    def store(self) -> Store:
        """Where its runs are kept."""
        return self._bench.store

    def build(self, environment: Mapping[str, str]) -> Agent:
        """The agent made of these variables; one that is deployed already is used again."""
        from ..evals.values.digests import digest_of

        told = {**self._environment, **environment}
        name = f"{self._name}_{digest_of(told)[:10]}"
        with suppress(AgentNotFoundError):
            agent = self._bench.agent(name).refresh()
            if not agent.entry.is_deleted:
                return agent
        return self._bench.deploy(self._what, name=name, environment=told)

    def discard(self, built: Agent) -> None:
        """Delete a dropped candidate's runtime; its invocations stay in the store."""
        if not self._keep_dropped:
            self._bench.delete_runtime(built.entry)
            built.refresh()
