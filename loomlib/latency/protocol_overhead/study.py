"""The study of protocol overhead: the same task, asked in each way in turn, in warm sessions."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from loomlib.agents.outcome import failure_of
from loomlib.agents.protocols.ways import SERVERS, WayAnswer, WayCaller, server_of
from loomlib.errors import AwsError, LoomError, StudyInterruptedError
from loomlib.experiments import Procedure, Study, StudyRun, UnitOutcome, planned_units

from ..design import DEFAULT_PROMPT
from ..measured_agent import MeasuredAgent, measured_agent, platform_version
from .design import KIND, ProtocolDesign
from .result import DETAILS, ProtocolResult, WayCall

if TYPE_CHECKING:
    from loomlib.store import PlannedMeasurement, StudyRow

_logger = logging.getLogger(__name__)


class WayTargets(Protocol):
    """What an agent offers to a study of its protocol's ways."""

    def study_target(self) -> MeasuredAgent:
        """Return the agent as a study measures it."""
        ...

    def way_caller(self, way: str, session_id: str, *, tool: str = "ask") -> WayCaller:
        """Return a caller that is not open yet.

        Args:
            way: The way's name, such as "HTTP JSON".
            session_id: The runtime session.
            tool: The tool that an MCP call names.
        """
        ...


class AgentWithWays(Protocol):
    """An agent that can be asked in the ways of its protocol, such as `bench.agent("calculator_mcp")`."""

    @property
    def targets(self) -> WayTargets:
        """What the agent offers to the study."""
        ...


class WayCalls(Procedure[WayCall]):
    """Keeps one warm caller for each way, and times one call of it for each unit."""

    def __init__(self, study: ProtocolStudy) -> None:
        self._agents, self._design, self._study = study.agents, study.design, study
        self._sessions = {server: f"loom-protocols{uuid.uuid4().hex}" for server in self._agents}
        self._callers: dict[str, WayCaller] = {}
        self._refused: dict[str, UnitOutcome] = {}

    async def open(self, ways: Sequence[str]) -> None:
        """Open a caller for each way; servers are opened concurrently, since each starts a session."""
        of_server = {server: [way for way in ways if server_of(way) == server] for server in self._agents}
        await asyncio.gather(*(self._open_ways(ways) for ways in of_server.values()))

    async def begin(self, unit: WayCall) -> str:
        """Open the way again if its last call failed; return its session."""
        if unit.way not in self._callers:
            await self._open_ways([unit.way])
        return self._sessions[server_of(unit.way)]

    async def measure(self, unit: WayCall, session_id: str | None) -> UnitOutcome:
        """Time one call."""
        caller = self._callers.get(unit.way)
        if caller is None:
            refused = self._refused[unit.way]
            if refused.stop is not None:
                raise refused.stop  # Nothing was timed, so the call stays planned.
            return refused
        answer = await self._ask(caller, f"study:{self._study.study_id}", "timed", f"position:{unit.position}")
        stop = None
        if answer.failure is not None:
            await self._drop(unit.way)
            stop = await self._unreachable_error(unit.way, answer)
            if stop is not None and not (answer.wire and answer.wire.received):
                raise stop  # Nothing was received, so the call stays planned.
        return _outcome(answer, stop)

    async def close(self) -> None:
        """Close every caller and end the sessions."""
        for way in tuple(self._callers):
            await self._drop(way)
        for server, session_id in self._sessions.items():
            try:
                await asyncio.to_thread(self._agents[server].targets.study_target().end_session, session_id)
            except LoomError as error:
                _logger.debug("a session could not be ended: %s", error, extra={"session_id": session_id})

    async def _open_ways(self, ways: Sequence[str]) -> None:
        for way in ways:
            server = server_of(way)
            caller: WayCaller | None = None
            answer = WayAnswer()
            try:
                caller = self._agents[server].targets.way_caller(way, self._sessions[server], tool=self._design.tool)
                await caller.open()
                for _ in range(self._design.warm_ups):
                    answer = await self._ask(caller, f"study:{self._study.study_id}", "opening")
                    if answer.failure is not None:
                        break
            except AwsError as error:
                answer = WayAnswer(failure=failure_of(error), error=str(error))
            except LoomError as error:
                answer = WayAnswer(failure="rejected", error=str(error))
            if answer.failure is None and caller is not None:
                self._callers[way] = caller
                continue
            if caller is not None:
                await caller.close()
            message = f"The untimed call that opens the session failed: {answer.error}"
            stop = await self._unreachable_error(way, answer)
            self._refused[way] = _outcome(replace(answer, error=message), stop)

    async def _ask(self, caller: WayCaller, *labels: str) -> WayAnswer:
        return await caller.ask(self._design.prompt, labels=labels, timeout_s=self._design.timeout_s)

    async def _drop(self, way: str) -> None:
        caller = self._callers.pop(way, None)
        if caller is not None:
            await caller.close()

    async def _unreachable_error(self, way: str, answer: WayAnswer) -> StudyInterruptedError | None:
        """Return the error that ends the study when the service does not accept connections; otherwise None."""
        target = self._agents[server_of(way)].targets.study_target()
        if answer.failure != "transport" or await target.is_alive():
            return None
        return self._study.unreachable(target.name)


class ProtocolStudy(Study[WayCall, ProtocolResult]):
    """Bytes, events and times of the same task over HTTP, WebSocket, MCP, A2A and AG-UI.

    One agent is deployed behind each server. Each unit is one call in a warm session; the ways alternate in randomized
    blocks, and each is compared with HTTP JSON in the same block. A server that is left out is reported as not
    measured.

    Examples:
        >>> agents = {"HTTP": bench.agent("calculator_http"), "A2A": bench.agent("calculator_a2a")}
        >>> ProtocolStudy(agents, repeats=20).run().table()

    Args:
        agents: The agent behind each server: "HTTP", "MCP", "MCP stateful", "A2A" and "AG-UI". The HTTP agent answers
            `{"prompt": …}`, with `"stream": false` as one JSON body, and has a WebSocket for the same payload whose
            answers end with `{"done": true}` (see the blueprint `calculator_protocols`).
        repeats: Calls in each way; an interval needs at least 6.
        prompt: Sent with every call.
        tool: The tool of the MCP servers, which takes the argument `prompt`.
        warm_ups: Untimed calls in each way before the first timed one.
        seed: Seed of the order of the sessions and calls.
        timeout_s: Limit of each call, in seconds.
        study_id: Id of a stored study to resume.
        name: Name of the study.
    """

    kind: ClassVar[str] = KIND
    result_type = ProtocolResult
    design: ProtocolDesign

    def __init__(
        self,
        agents: Mapping[str, AgentWithWays],
        *,
        repeats: int = 20,
        prompt: str | None = None,
        tool: str = "ask",
        warm_ups: int = 2,
        seed: int = 0,
        timeout_s: float | None = None,
        study_id: str | None = None,
        name: str = "",
    ) -> None:
        self.agents = {server: agents[server] for server in (*SERVERS, *agents) if server in agents}
        targets = {server: measured_agent(agent.targets.study_target()) for server, agent in self.agents.items()}
        self.design = ProtocolDesign(
            agents={server: f"{target.arn} {target.qualifier}" for server, target in targets.items()},
            repeats=repeats,
            prompt=DEFAULT_PROMPT if prompt is None else prompt,
            tool=tool,
            warm_ups=warm_ups,
            seed=seed,
            timeout_s=timeout_s,
            name=name,
        )
        self._reference = targets["HTTP"]
        self._platforms = sorted({version for target in targets.values() if (version := platform_version(target))})
        super().__init__(self._reference.store, study_id)

    @classmethod
    def resume(cls, agents: Mapping[str, AgentWithWays], study_id: str) -> Self:
        """Return a stored study with its stored design; `run()` measures what is pending.

        Raises:
            StudyError: No study of this id is stored.
        """
        study = cls(agents, study_id=study_id)
        return study.use_stored_design(agents=study.design.agents)

    @property
    def title(self) -> str:
        """The agent's name."""
        return self._reference.name

    @property
    def how_to_resume(self) -> str:
        """Python code that recreates the stored study."""
        return f'ProtocolStudy.resume(agents, "{self.study_id}")'

    # Methods that the kernel calls (see `Study`).

    def header(self) -> StudyRow:
        """Return the study's row for the store."""
        target = self._reference
        return self.row(
            scope=target.scope,
            agent_arn=target.arn,
            agent_name=target.name,
            environment={
                "qualifier": target.qualifier,
                "platform_version": self._platforms[0] if len(self._platforms) == 1 else "",
            },
            labels=tuple(target.labels),
        )

    def planned(self) -> Sequence[PlannedMeasurement]:
        """Return the calls in the order in which they are made."""
        return planned_units(self.design.calls())

    def condition(self, unit: WayCall) -> str:
        """Return the way."""
        return unit.way

    async def procedure(self, run: StudyRun) -> WayCalls:
        """Return the procedure that makes the calls, with every way open and warm."""
        run.report("opening sessions")
        calls = WayCalls(self)
        try:
            await calls.open(
                [way for way in self.design.ways if any(u.way == way and u.is_pending for u in self.units())]
            )
        except BaseException:
            await asyncio.shield(calls.close())
            raise
        return calls


def _outcome(answer: WayAnswer, stop: StudyInterruptedError | None) -> UnitOutcome:
    """Return the outcome of a call; a failed one has neither sizes nor times."""
    failure = answer.failure or (None if answer.duration_ms is not None else "malformed_stream")
    if failure is not None:
        values = {"invocation_id": answer.invocation_id, "error_message": answer.error}
        return UnitOutcome(failure=failure, values=values, stop=stop)
    wire = answer.wire
    details = {
        "sent": wire.sent if wire else None,
        "received": wire.received if wire else None,
        "text_bytes": len(answer.text.encode()),
        **{name: getattr(answer, name) for name in DETAILS[3:]},
        "is_reused": answer.connection_reused,
    }
    return UnitOutcome(
        values={
            "invocation_id": answer.invocation_id,
            "duration_ms": answer.duration_ms,
            "ttft_ms": answer.first_text_ms,
        },
        details=details,
    )
