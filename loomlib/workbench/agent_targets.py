"""An agent as the target of evaluations and studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..agents import AgentEntry
from ..agents.protocols.ways import WayCaller
from ..aws.bearer import Bearer
from .blueprints import find_blueprint
from .context import Context
from .protocol_sessions import session_target
from .session_target import SessionTarget

if TYPE_CHECKING:
    from .eval_target import AgentTarget
    from .load_target import LoadTestTarget
    from .study_target import StudyTarget


class AgentTargets:
    """One agent as the target of evaluations and studies, and a sample prompt; `agent.targets`."""

    def __init__(self, context: Context, entry: AgentEntry, qualifier: str, bearer: Bearer | None) -> None:
        self._context, self._entry, self._qualifier, self._bearer = context, entry, qualifier, bearer

    @property
    def sample_prompt(self) -> str:
        """A sample prompt: the first one of the agent's blueprint, or an arithmetic question."""
        blueprint = find_blueprint(self._entry.name)
        return blueprint.prompts[0] if blueprint and blueprint.prompts else "What is 2 + 2?"

    def eval_target(self) -> AgentTarget | SessionTarget:
        """Return this agent as the target of an evaluation (`loomlib.evals.runs.Target`), in its current state.

        Agents that speak MCP or A2A are called in sessions of their protocol.
        """
        from .eval_target import AgentTarget

        entry = self._context.catalog.refresh(self._entry)
        if target := self._session_target(entry):
            return target
        return AgentTarget(self._context, entry, self._qualifier, bearer=self._bearer)

    def study_target(self) -> StudyTarget | SessionTarget:
        """Return this agent as the target of a latency study (`loomlib.latency.MeasuredAgent`)."""
        from .study_target import StudyTarget

        if target := self._session_target(self._entry):
            return target
        return StudyTarget(self._context, self._entry, self._qualifier, bearer=self._bearer)

    def load_target(self) -> LoadTestTarget:
        """Return this agent as the target of a load test (`loom.LoadStudy`).

        Raises:
            NotSupportedError: The agent speaks MCP or A2A.
        """
        from .load_target import LoadTestTarget

        return LoadTestTarget(self._context, self._entry, self._qualifier, bearer=self._bearer)

    def way_caller(self, way: str, session_id: str, *, tool: str = "ask") -> WayCaller:
        """Return a caller that calls this agent over one variant of its protocol, as `loom.ProtocolStudy` does.

        Args:
            way: The variant, such as "HTTP SSE" or "A2A message/stream" (`loomlib.agents.protocols.ways`).
            session_id: The runtime session.
            tool: The MCP tool that is called with `prompt`.

        Raises:
            ProtocolError: The agent speaks another protocol.
        """
        from .way_callers import way_caller

        return way_caller(self._context, self._entry, self._qualifier, way, session_id, bearer=self._bearer, tool=tool)

    def _session_target(self, entry: AgentEntry) -> SessionTarget | None:
        if entry.protocol not in ("MCP", "A2A"):
            return None

        return session_target(self._context, entry, self._qualifier, bearer=self._bearer)
