"""The study of gateways: one tool called directly and through a gateway, and questions to a model with many tools."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from loomlib.aws.converse import ModelAnswer, ToolForm
from loomlib.errors import AwsError, LoomError, StudyError
from loomlib.experiments import Procedure, Study, StudyRun, UnitOutcome, planned_units
from loomlib.json_values import as_list, as_mapping, as_text

from .catalogue import generate_catalogue
from .design import ALL, CALLS, CHOICES, DIRECT, FIND, KIND, SEARCHES, THROUGH, GatewayDesign
from .result import GatewayResult, GatewayUnit
from .subject import GatewaySpans, StudiedGateways, ToolAnswer, ToolCaller

if TYPE_CHECKING:
    from loomlib.store import PlannedMeasurement, StudyRow

SEARCH_TOOL: Final = "x_amz_bedrock_agentcore_search"
"""The tool of a gateway that finds its tools (AgentCore developer guide, "Search for tools in your gateway")."""

DEFAULT_MODEL: Final = "global.anthropic.claude-sonnet-4-6"
_TARGET_WAIT_S: Final = 5.0
_logger = logging.getLogger(__name__)


class _OpeningError(StudyError):
    """The untimed call that opens a session failed; `on` is the class of the failure."""


class GatewayMeasurements(Procedure[GatewayUnit]):
    """Calls a tool in warm sessions, and puts questions to the model.

    Args:
        study: The study.
    """

    def __init__(self, study: GatewayStudy) -> None:
        self._subject, self._design, self._study = study.subject, study.design, study
        self._callers: dict[tuple[int, bool], ToolCaller] = {}
        self._listed: dict[int, Sequence[ToolForm]] = {}
        self._is_warm = False

    async def measure(self, unit: GatewayUnit, session_id: str | None) -> UnitOutcome:
        """Time one call, one search or one question; when the service is unreachable, the unit stays planned."""
        try:
            outcome = await (self._call(unit) if unit.is_call else self._ask(unit))
        except AwsError as error:
            outcome = UnitOutcome(failure=_failure_of(error), values={"error_message": str(error)})
        except _OpeningError as error:
            outcome = UnitOutcome(failure=error.on, values={"error_message": str(error)})
        except LoomError as error:
            outcome = UnitOutcome(failure="rejected", values={"error_message": str(error)})
        if outcome.failure is not None and not await self._subject.is_alive():
            raise self._study.unreachable(self._subject.name, what="gateways")
        return outcome

    async def close(self) -> None:
        """Close every session."""
        for size, direct in tuple(self._callers):
            await self._drop(size, direct)

    async def _call(self, unit: GatewayUnit) -> UnitOutcome:
        size, direct = self._design.sizes[0], unit.way == DIRECT
        caller = await self._caller(size, direct=direct)
        answer = await self._ask_tool(caller, size, f"position:{unit.position}", "timed", direct=direct)
        if answer.failure is not None or answer.duration_ms is None:
            await self._drop(size, direct)
            return _failed(answer)
        return UnitOutcome(
            values={"invocation_id": answer.invocation_id, "duration_ms": answer.duration_ms},
            details={
                "received": answer.wire.received if answer.wire else None,
                "is_reused": answer.connection_reused,
            },
        )

    async def _ask(self, unit: GatewayUnit) -> UnitOutcome:
        """Search, or ask the model, or both."""
        count = self._design.searches if unit.way == FIND else self._design.questions
        question = self._design.questions_for(unit.tools, count)[unit.block]
        details: dict[str, Any] = {
            "question": question.text,
            "wanted": self._subject.target_name(question.tool),
            "is_reworded": question.is_reworded,
        }
        caller = await self._caller(unit.tools, direct=False)
        tools = self._listed[unit.tools]
        values: dict[str, Any] = {}
        took_ms = 0.0
        if unit.way != ALL:
            answer = await self._search(caller, question.text, f"position:{unit.position}", "timed")
            if answer.failure is not None or answer.duration_ms is None:
                await self._drop(unit.tools, False)
                return replace(_failed(answer), details=details)
            tool_names, took_ms = _tool_names(answer.result), answer.duration_ms
            values["invocation_id"] = answer.invocation_id
            details |= {"found": tool_names, "search_ms": took_ms}
            if unit.way == FIND:
                return UnitOutcome(values={**values, "duration_ms": took_ms}, details=details)
            by_name = {tool.name: tool for tool in tools}
            tools = [by_name[name] for name in tool_names if name in by_name]
        try:
            if not self._is_warm:
                await self._choose(question.text, self._listed[unit.tools][:1])
                self._is_warm = True
            began_ns = time.perf_counter_ns()
            chosen = await self._choose(question.text, tools)
            model_ms = (time.perf_counter_ns() - began_ns) / 1e6
        except AwsError as error:
            return UnitOutcome(
                failure=_failure_of(error), values={**values, "error_message": str(error)}, details=details
            )
        return UnitOutcome(
            values={**values, "duration_ms": took_ms + model_ms},
            details={**details, "model_ms": model_ms, **_chosen(chosen)},
        )

    async def _choose(self, question: str, tools: Sequence[ToolForm]) -> ModelAnswer:
        return await asyncio.to_thread(self._subject.choose, self._design.model, question, tools)

    async def _search(self, caller: ToolCaller, query: str, *labels: str) -> ToolAnswer:
        return await caller.call(
            SEARCH_TOOL, {"query": query}, labels=self._labels(*labels), timeout_s=self._design.timeout_s
        )

    async def _caller(self, size: int, *, direct: bool) -> ToolCaller:
        """Return the open and warm caller of a catalogue, with the gateway's tools read and its search warm.

        Raises:
            LoomError: The caller cannot be opened, or an untimed call fails.
        """
        if (open_caller := self._callers.get((size, direct))) is not None:
            return open_caller
        caller = self._subject.caller(size, direct=direct)
        try:
            await caller.open()
            for _ in range(self._design.warm_ups):
                _check_opening(await self._ask_tool(caller, size, "opening", direct=direct))
            if not direct and size not in self._listed and self._design.searches + self._design.questions:
                _check_opening(await self._search(caller, "anything", "opening"))
                listed = await caller.tools()
                if len(listed) != size:
                    raise StudyError(
                        f"The gateway lists {len(listed)} tools, not {size}",
                        on=self._design.gateways[size],
                        try_="deploy_catalogues(bench) under another name",
                    )
                self._listed[size] = listed
        except BaseException:
            with suppress(LoomError):
                await asyncio.shield(caller.close())
            raise
        self._callers[size, direct] = caller
        return caller

    async def _ask_tool(self, caller: ToolCaller, size: int, *labels: str, direct: bool) -> ToolAnswer:
        tool = generate_catalogue(size, seed=self._design.seed)[0].name
        name = tool if direct else self._subject.target_name(tool)
        arguments = {"reference": "REF-1000"}
        return await caller.call(name, arguments, labels=self._labels(*labels), timeout_s=self._design.timeout_s)

    def _labels(self, *labels: str) -> tuple[str, ...]:
        return (f"study:{self._study.study_id}", *labels)

    async def _drop(self, size: int, direct: bool) -> None:
        caller = self._callers.pop((size, direct), None)
        if caller is not None:
            with suppress(LoomError):
                await caller.close()


class GatewayStudy(Study[GatewayUnit, GatewayResult]):
    """A study of the time that a gateway adds to a tool call, and of its tool search against all tools in the prompt.

    One tool of the smallest catalogue is called directly and through the gateway, in turns. Questions that each ask for
    one tool are put to the search of each gateway alone. Then questions are put to a model, twice for each catalogue:
    with all tools in the prompt, and with those that the gateway's search returns.

    Examples:
        >>> from loomlib.workbench import deploy_catalogues
        >>> study = loom.GatewayStudy(deploy_catalogues(bench, (5, 20, 100, 500)))
        >>> study.run().table()

    Args:
        subject: The gateways, as `deploy_catalogues` or `find_catalogues` returns them.
        calls: Direct calls of the tool, and the same number through the gateway; an interval needs at least 6.
        searches: Questions to the search of each gateway, without a model; at most 4 for each of its tools.
        questions: Questions to a model for each catalogue; at most 4 for each of its tools.
        model: Id of the model that chooses a tool; on the local AgentCore the scripted one answers for it.
        warm_ups: Untimed calls in each way before the first timed one.
        timeout_s: Limit of each call, in seconds.
        study_id: Id of a stored study to resume.
        name: Name of the study.
    """

    kind: ClassVar[str] = KIND
    result_type = GatewayResult
    design: GatewayDesign

    def __init__(
        self,
        subject: StudiedGateways,
        *,
        calls: int = 30,
        searches: int = 100,
        questions: int = 20,
        model: str = DEFAULT_MODEL,
        warm_ups: int = 3,
        timeout_s: float | None = None,
        study_id: str | None = None,
        name: str = "",
    ) -> None:
        self.subject = subject
        self.design = GatewayDesign(
            gateways=subject.arns,
            calls=calls,
            searches=searches,
            questions=questions,
            model=model,
            warm_ups=warm_ups,
            seed=subject.seed,
            timeout_s=timeout_s,
            name=name,
        )
        super().__init__(subject.store, study_id)

    @classmethod
    def resume(cls, subject: StudiedGateways, study_id: str) -> Self:
        """Return a stored study with its stored design; `run()` measures what is pending.

        Raises:
            StudyError: No study of this id is stored.
        """
        return cls(subject, study_id=study_id).use_stored_design(gateways=subject.arns)

    @property
    def title(self) -> str:
        """The gateways' name."""
        return self.subject.name

    @property
    def how_to_resume(self) -> str:
        """Python code that recreates the stored study."""
        return f'GatewayStudy.resume(subject, "{self.study_id}")'

    # Methods that `loomlib.experiments` calls (see `Study`).

    def header(self) -> StudyRow:
        """Return the study's row for the store."""
        return self.row(
            scope=self.subject.scope,
            agent_arn=self.design.gateways[self.design.sizes[0]],
            agent_name=self.subject.name,
            labels=tuple(self.subject.labels),
        )

    def planned(self) -> Sequence[PlannedMeasurement]:
        """Return the calls and questions in the order in which they are made."""
        return planned_units(self.design.units())

    def condition(self, unit: GatewayUnit) -> str:
        """Return the way."""
        return (CALLS | SEARCHES | CHOICES)[unit.way]

    async def procedure(self, run: StudyRun) -> GatewayMeasurements:
        """Return the procedure that makes the calls and asks the questions."""
        return GatewayMeasurements(self)

    async def finish(self, run: StudyRun) -> None:
        """Read the spans of the calls through the gateway, which may arrive minutes later on AWS."""
        missing = {
            unit.invocation_id: unit.position
            for unit in self.units()
            if unit.way == THROUGH
            and unit.is_done
            and unit.invocation_id is not None
            and (unit.gateway_ms is None or unit.target_ms is None)
        }
        if not missing:
            return
        run.report("reading spans")
        try:
            spans = await self._spans(run, list(missing))
        except LoomError as error:
            _logger.warning("The spans of the calls could not be read: %s", error)
            return
        for invocation_id, times in spans.items():
            run.ledger.amend(
                missing[invocation_id], details={"gateway_ms": times.gateway_ms, "target_ms": times.target_ms}
            )

    async def _spans(self, run: StudyRun, invocation_ids: Sequence[int]) -> Mapping[int, GatewaySpans]:
        """Read the spans repeatedly until all have arrived, or no more are expected."""
        span_polling = self.subject.span_polling
        deadline = time.monotonic() + span_polling.wait_s
        has_all = False
        while True:
            spans = await run.blocking(self.subject.spans, self.design.sizes[0], invocation_ids)
            is_known = len(spans) == len(invocation_ids)
            if is_known and all(times.target_ms is not None for times in spans.values()):
                return spans
            if is_known and not has_all:  # the target's spans may be late, or it may export none
                has_all, deadline = True, min(deadline, time.monotonic() + max(span_polling.settle_s, _TARGET_WAIT_S))
            if time.monotonic() >= deadline:
                return spans
            await asyncio.sleep(span_polling.interval_s)


def _tool_names(result: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools in a search's result."""
    content = as_mapping(result.get("structuredContent"))
    return [as_text(as_mapping(tool).get("name")) for tool in as_list(content.get("tools"))]


def _check_opening(answer: ToolAnswer) -> None:
    if answer.failure is not None:
        raise _OpeningError(
            f"The untimed call that opens the session failed: {answer.error}",
            on=answer.failure,
            try_="gateway.targets(), and gateway.call(…) of one of its tools",
        )


def _chosen(answer: ModelAnswer) -> dict[str, Any]:
    return {
        "chosen": [name for name, _ in answer.calls],
        "input_tokens": answer.input_tokens,
        "is_simulated": answer.is_simulated,
    }


def _failed(answer: ToolAnswer) -> UnitOutcome:
    """Return the outcome of a failed call, which has no time."""
    return UnitOutcome(
        failure=answer.failure or "malformed_stream",
        values={"invocation_id": answer.invocation_id, "error_message": answer.error},
    )


def _failure_of(error: AwsError) -> str:
    from loomlib.agents.outcome import failure_of

    return failure_of(error)
