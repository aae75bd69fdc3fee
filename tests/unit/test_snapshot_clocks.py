"""Values that the agent read from a clock, when much time passes between the tracer's reading and the agent's."""

from __future__ import annotations

from loomlib.snapshot_check.probe.matching import Matcher
from loomlib.snapshot_check.probe.sources import CLOCK, TracedFunction
from loomlib.snapshot_check.probe.tracing import Event

FILE = "agent.py"


def reading(line: int, first: float, last: float, function: str = "time.time", family: str = "epoch") -> Event:
    place = (FILE, line)
    source = TracedFunction(CLOCK, function, family)
    return Event(source, place, place, is_direct=True, returns=True, values=[first], spans=[(first, last)])


def test_a_value_belongs_to_the_call_that_was_interrupted_not_to_the_next_one() -> None:
    start = 1_793_430_000.0
    interrupted, following = reading(12, start, start + 0.05), reading(13, start + 0.0501, start + 0.0502)
    matcher = Matcher([interrupted, following])
    assert matcher.match(start + 0.0499, (FILE, 0, 0)) is interrupted
    assert matcher.match(start + 0.05015, (FILE, 0, 0)) is following


def test_a_monotonic_value_of_an_interrupted_call_is_recognized() -> None:
    interrupted = reading(12, 5_000.0, 5_000.2, "time.monotonic", "monotonic")
    assert Matcher([interrupted]).match(5_000.1, (FILE, 0, 0)) is interrupted
    assert Matcher([interrupted]).match(5_000.3, (FILE, 0, 0)) is None
