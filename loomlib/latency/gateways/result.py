"""The result of a study of gateways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.dispatch import call
from loomlib.experiments import Gate, MeasuredUnit, StudyRecord, StudyTable, unit_fields

from .design import CALLS, GatewayDesign, scenario_of

if TYPE_CHECKING:
    import pandas as pd

    from loomlib.store import MeasurementRow, StudyRow


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayUnit(MeasuredUnit):
    """One call of a tool, or one question to a model with tools. Values that were not measured are None.

    Attributes:
        block: Block of the randomized order; units that are compared with each other are in one block.
        tools: Tools of the catalogue that the question was put to; 0 for a call.
        way: "direct" or "gateway" for a call, "find" for a search, "all" or "search" for a question to the model.
        received: Bytes received by a call.
        is_reused: Whether a call used an open connection.
        gateway_ms: Duration of the gateway's span, for a call through the gateway.
        target_ms: Duration of the target's span below it.
        question: The question.
        wanted: The tool that it asks for, as the gateway names it.
        is_reworded: Whether the question avoids the words of the tool's description.
        chosen: The tools that the model called.
        found: The tools that the gateway's search returned, the best first; None without a search.
        search_ms: Duration of the search, in milliseconds.
        model_ms: Duration of the model's request, in milliseconds.
        input_tokens: Tokens of the request to the model.
        is_simulated: Whether the model was a simulated one.
    """

    block: int
    tools: int
    way: str
    received: int | None = None
    is_reused: bool | None = None
    gateway_ms: float | None = None
    target_ms: float | None = None
    question: str = ""
    wanted: str = ""
    is_reworded: bool = False
    chosen: tuple[str, ...] = ()
    found: tuple[str, ...] | None = None
    search_ms: float | None = None
    model_ms: float | None = None
    input_tokens: int | None = None
    is_simulated: bool = False

    @property
    def is_call(self) -> bool:
        """Whether this is a call of a tool."""
        return self.way in CALLS

    @property
    def is_right(self) -> bool:
        """Whether the model called the tool that the question asks for, and no other."""
        return set(self.chosen) == {self.wanted}

    @property
    def rank(self) -> int | None:
        """The place of the wanted tool among those that the search returned, from 1; None when it is not among them."""
        return self.found.index(self.wanted) + 1 if self.found and self.wanted in self.found else None


DETAILS = ("received", "is_reused", "gateway_ms", "target_ms", "search_ms", "model_ms", "input_tokens")


@dataclass(frozen=True, kw_only=True, repr=False)
class GatewayResult(StudyRecord):
    """A study of gateways as it is currently stored."""

    name: str
    design: GatewayDesign
    measured: tuple[GatewayUnit, ...] = field(repr=False)

    @classmethod
    def read(cls, study: StudyRow, rows: Sequence[MeasurementRow]) -> dict[str, Any]:
        """Return the fields of a stored study."""
        units: list[GatewayUnit] = []
        for row in rows:
            tools, way = scenario_of(row.scenario)
            tool_names = row.details.get("found")
            units.append(
                GatewayUnit(
                    **unit_fields(row),
                    block=row.block,
                    tools=tools,
                    way=way,
                    question=str(row.details.get("question", "")),
                    wanted=str(row.details.get("wanted", "")),
                    chosen=tuple(row.details.get("chosen", ())),
                    found=None if tool_names is None else tuple(tool_names),
                    is_reworded=bool(row.details.get("is_reworded")),
                    is_simulated=bool(row.details.get("is_simulated")),
                    **_details(row.details),
                )
            )
        return {
            "name": study.agent_name or study.agent_arn,
            "design": GatewayDesign.read(study.design),
            "measured": tuple(units),
        }

    @property
    def units(self) -> tuple[GatewayUnit, ...]:
        """The calls and the questions, in order."""
        return self.measured

    @property
    def is_simulated(self) -> bool:
        """Whether a simulated model chose the tools."""
        return any(unit.is_simulated for unit in self.measured)

    @property
    def subject_line(self) -> str:
        """The gateways and their numbers of tools."""
        return f"{self.name} · {', '.join(map(str, self.design.sizes))} tools"

    def calls(self) -> pd.DataFrame:
        """Return what the gateway adds to a call and where the time goes as text, with 95 % intervals."""
        table: StudyTable = call("GatewayResult.calls", self)
        return table.frame()

    def differences(self) -> pd.DataFrame:
        """Return search first minus all in the prompt as text, with 95 % intervals: one row for each catalogue."""
        table: StudyTable = call("GatewayResult.differences", self)
        return table.frame()

    def recall(self) -> pd.DataFrame:
        """Return how often the gateway's search returned the wanted tool as text: one row for each catalogue."""
        table: StudyTable = call("GatewayResult.recall", self)
        return table.frame()

    def gate(self, max_added_ms: float = 5.0, *, allow_overload: bool = False) -> Gate:
        """Compare the time that the gateway adds to a call with a limit.

        Args:
            max_added_ms: The limit of the median, in milliseconds.
            allow_overload: Whether to decide the gate also when the machine was overloaded.
        """
        gate: Gate = call("GatewayResult.gate", self, max_added_ms)
        return gate if allow_overload else gate.under(self.conditions)


def _details(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: stored.get(name) for name in DETAILS}
