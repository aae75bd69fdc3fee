"""The calls of a load test: their sessions, their requests, and stored traffic that is repeated.

A design stores scenarios and requests by the name of their class and their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, cast

from loomlib.errors import StudyError
from loomlib.presentation.formats import exact, number, plural, seconds, size
from loomlib.store import InvocationRow

from ..load.bodies import Bodies, GrowingPrompts, PayloadSizes, PromptLengths
from ..load.replay import StoredTraffic
from ..load.sessions import ColdSessions, Conversations, PreWarmedPool, SessionScenario, StickySessions, WarmSessions

_CLASSES: Final[Mapping[str, type[Any]]] = {
    one.__name__: one
    for one in (
        ColdSessions, Conversations, PreWarmedPool, StickySessions, WarmSessions,
        GrowingPrompts, PayloadSizes, PromptLengths,
    )
}  # fmt: skip
_FROM_THE_AGENT: Final = "form"
"""The agent's message format is not part of a design."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTraffic:
    """The stored invocations that a test repeats.

    Attributes:
        until_id: The newest invocation among them.
        calls: Number of invocations.
        sessions: Number of their sessions.
        seconds: Seconds from the first to the last.
    """

    until_id: int
    calls: int
    sessions: int
    seconds: float

    @classmethod
    def of(cls, rows: Sequence[InvocationRow], *, agent: str) -> RecordedTraffic:
        """Summarize invocations.

        Args:
            rows: The invocations of an agent.
            agent: The agent, for errors.

        Raises:
            StudyError: All were made at the same time, so that they have no rate.
        """
        traffic = StoredTraffic.of(rows)
        if not traffic.seconds:
            raise StudyError(
                "The stored invocations were all made at the same time, so they have no rate of calls",
                on=agent,
                try_="invoke the agent a few times more, or use other arrivals",
            )
        return cls(
            until_id=max(row.id for row in rows),
            calls=len(traffic.calls),
            sessions=len({call.session for call in traffic.calls}),
            seconds=traffic.seconds,
        )

    @property
    def calls_per_s(self) -> float:
        """Their mean rate, in calls a second."""
        return self.calls / self.seconds

    def speed(self, load: float) -> float:
        """Return the factor of speed at which the recorded traffic has a load.

        Args:
            load: Calls a second.
        """
        return load / self.calls_per_s

    def check(self, traffic: StoredTraffic, *, agent: str) -> StoredTraffic:
        """Return the traffic after checking that all invocations are still stored.

        Args:
            traffic: The traffic as it is stored now.
            agent: The agent, for errors.

        Raises:
            StudyError: Invocations were deleted in the meantime.
        """
        if len(traffic.calls) != self.calls:
            raise StudyError(
                f"Of the {plural(self.calls, 'invocation')} that this load test repeats, "
                f"{number(len(traffic.calls))} are still stored",
                on=agent,
                try_="run a new load test",
            )
        return traffic


def stored_value(value: SessionScenario | Bodies) -> dict[str, Any]:
    """Return a scenario or requests as JSON-ready values.

    Args:
        value: One of the classes of `loomlib.latency.load`.

    Raises:
        ValueError: The value has another class, which a stored design cannot name.
    """
    name = type(value).__name__
    if _CLASSES.get(name) is not type(value):
        raise ValueError(f"{name} is not one of {', '.join(_CLASSES)}")
    listed = {
        field.name: getattr(value, field.name) for field in fields(cast("Any", value)) if field.name != _FROM_THE_AGENT
    }
    return {
        "class": name,
        **{key: list(cast("tuple[Any, ...]", one)) if isinstance(one, tuple) else one for key, one in listed.items()},
    }


def read_value(stored: Mapping[str, Any]) -> Any:
    """Return what `stored_value` wrote.

    Args:
        stored: The stored values.

    Raises:
        StudyError: This release has no such class.
    """
    values: dict[str, Any] = {
        key: tuple(cast("list[Any]", one)) if isinstance(one, list) else one
        for key, one in stored.items()
        if key != "class"
    }
    try:
        return _CLASSES[str(stored.get("class"))](**values)
    except (KeyError, TypeError):
        raise StudyError(
            "The stored study has settings that this release does not know",
            on=str(stored.get("class")),
            try_="upgrade loomlib",
        ) from None


def scenario_sentence(scenario: SessionScenario) -> str:
    """Return how calls are spread over sessions, as a sentence without its full stop.

    Args:
        scenario: The scenario.
    """
    match scenario:
        case WarmSessions():
            keep_alive = (
                ""
                if scenario.keep_alive_s is None
                else f"; untimed calls every {seconds(scenario.keep_alive_s)} keep each of them alive"
            )
            return (
                f"They use {plural(scenario.sessions, 'session')} in turn, each opened beforehand by an untimed call"
                f"{keep_alive}"
            )
        case PreWarmedPool():
            return (
                f"Each is in a session that no other call uses: {plural(scenario.size, 'session')} opened before each "
                "step by an untimed call, then new ones"
            )
        case Conversations():
            return (
                f"They are conversations of {plural(scenario.turns, 'turn')}, each in a new session; a turn follows "
                f"{seconds(scenario.think_s)} after the answer to the turn before"
            )
        case StickySessions():
            return "Each user has one session, which the user's first call opens"
        case _:
            return "Each is in a new session"


def requests_sentence(requests: Bodies) -> str:
    """Return what the calls send, as a sentence without its full stop.

    Args:
        requests: The requests.
    """
    match requests:
        case PayloadSizes():
            return f"Bodies of {', '.join(size(one) for one in requests.bytes_each)} are sent in turn"
        case PromptLengths():
            alike = "begin alike" if requests.is_start_shared else "begin differently, so that no prompt cache helps"
            words = ", ".join(exact(one) for one in requests.words_each)
            return f"Prompts of {words} words, which {alike}, are sent in turn"
        case GrowingPrompts():
            return (
                f"The first prompt of a session has {plural(requests.first_words, 'word')}, and every further one "
                f"{number(requests.words_per_turn)} more"
            )
        case _:
            return "All calls send the same prompt"
