"""Twelve causes of slowness, each planted in an otherwise ordinary request, and five agents that are well."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from invented_requests import Request, Tool

from loomlib.telemetry.diagnosis import InvocationCase, diagnose


def calculator(*, latest: bool, number: int = 1) -> Request:
    """The field note's request: 2 turns, 4.6 s in the agent, 95 % of it in the model."""
    return (
        Request(latest=latest, number=number)
        .pause(40)
        .turn(2916, read=1752, wrote=44, ttft=2707, tools=[Tool("calculator", 3, "4")])
        .pause(60)
        .turn(1489, read=1822, wrote=54, ttft=1395)
        .pause(80)
    )


def too_many_cycles(latest: bool) -> InvocationCase:
    request = Request(latest=latest)
    for turn in range(8):
        tool = Tool("search", 90, "nothing found", {"query": f"attempt {turn}"})
        request.turn(1150 + 40 * turn, read=1750 + 140 * turn, wrote=55, tools=[tool])
    return request.turn(1500, read=2900, wrote=120).case()


def token_growth(latest: bool) -> InvocationCase:
    """The field note's ten turns: from 1,750 tokens in 1.5 s to 5,000 in 4 s."""
    request = Request(latest=latest)
    for turn in range(10):
        tools = [Tool("lookup", 40, "a row of data " * 40, {"page": turn})] if turn < 9 else []
        request.turn(1500 + 278 * turn, read=1750 + 361 * turn, wrote=60, ttft=1300 + 270 * turn, tools=tools)
    return request.case()


def slow_tool(latest: bool) -> InvocationCase:
    return (
        Request(latest=latest)
        .turn(1400, tools=[Tool("database", 4200, "12 rows"), Tool("weather", 110, "sunny")])
        .turn(1500, read=1960, wrote=90)
        .case()
    )


def serial_tools(latest: bool) -> InvocationCase:
    tools = [Tool("flights", 900, "3 found"), Tool("hotels", 850, "5 found"), Tool("cars", 800, "2 found")]
    return Request(latest=latest).turn(1400, tools=tools, serial=True).turn(1500, read=2000, wrote=110).case()


def oversized_result(latest: bool) -> InvocationCase:
    return (
        Request(latest=latest)
        .turn(1400, read=1800, wrote=50, ttft=1200, tools=[Tool("read_file", 60, "line of a log\n" * 4000)])
        .turn(4900, read=15900, wrote=90, ttft=4500)
        .case()
    )


def cold_start(latest: bool) -> InvocationCase:
    return calculator(latest=latest).case(there_ms=3400, is_cold=True)


def throttling_retries(latest: bool) -> InvocationCase:
    return (
        Request(latest=latest)
        .turn(1400, tools=[Tool("weather", 110, "sunny")])
        .turn(1500, read=1950, wrote=80, refused=[(90, 4000), (85, 4000)])
        .case()
    )


def slow_first_token(latest: bool) -> InvocationCase:
    return (
        Request(latest=latest)
        .turn(6300, read=1800, wrote=50, ttft=5900, tools=[Tool("weather", 110, "sunny")])
        .turn(5600, read=1900, wrote=80, ttft=5100)
        .case()
    )


def large_prompt(latest: bool) -> InvocationCase:
    request = Request(latest=latest)
    request.tools_offered = [f"tool_{place}" for place in range(80)]
    return (
        request.turn(5200, read=38000, wrote=50, ttft=4800, tools=[Tool("tool_7", 110, "sunny")])
        .turn(5400, read=38120, wrote=90, ttft=4700)
        .case()
    )


def chatty_memory(latest: bool) -> InvocationCase:
    return (
        Request(latest=latest)
        .memory(85, "ListEvents", 8)
        .turn(1400, tools=[Tool("weather", 110, "sunny")])
        .memory(80, "RetrieveMemoryRecords", 8)
        .turn(1500, read=1950, wrote=80)
        .memory(75, "CreateEvent", 8)
        .case()
    )


def network(latest: bool) -> InvocationCase:
    return calculator(latest=latest).case(there_ms=1900, back_ms=1800, first_byte_ms=1900 + 4700 + 1750)


def slow_client(latest: bool) -> InvocationCase:
    request = calculator(latest=latest)
    end = request.end_ms()
    return request.case(back_ms=3900, first_byte_ms=4400, chunks=[4400, end + 700, end + 1900, end + 2800, end + 3900])


PLANTED: list[Callable[[bool], InvocationCase]] = [
    too_many_cycles,
    token_growth,
    slow_tool,
    serial_tools,
    oversized_result,
    cold_start,
    throttling_retries,
    slow_first_token,
    large_prompt,
    chatty_memory,
    network,
    slow_client,
]


@pytest.mark.parametrize("latest", [True, False], ids=["latest", "legacy"])
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_cause_is_named_first(plant: Callable[[bool], InvocationCase], latest: bool) -> None:
    case = plant(latest)
    diagnosis = diagnose(case)
    assert not diagnosis.problems
    assert diagnosis.first is not None
    assert diagnosis.first.rule == plant.__name__, diagnosis.table()
    assert 0 < diagnosis.first.ms_at_stake <= case.total_ms
    assert diagnosis.first.evidence
    assert diagnosis.first.because
    assert diagnosis.first.try_
    span_ids = {span.span_id for span in case.trace.spans}
    assert all(set(finding.span_ids) <= span_ids for finding in diagnosis.findings)


def healthy_calculator(latest: bool) -> InvocationCase:
    """With the field note's client: 5,544 ms for 4,615 ms in the agent."""
    return calculator(latest=latest).case(there_ms=520, back_ms=400)


def healthy_researcher(latest: bool) -> InvocationCase:
    tools = [
        Tool("search", 420, "result " * 150),
        Tool("search", 380, "result " * 160),
        Tool("fetch", 510, "page " * 400),
    ]
    return (
        Request(latest=latest)
        .turn(1900, read=3100, wrote=120, ttft=1300, tools=tools)
        .turn(1700, read=4300, wrote=60, ttft=1350, tools=[Tool("fetch", 450, "page " * 300)])
        .turn(4200, read=4900, wrote=380, ttft=1400)
        .case(first_byte_ms=5600)
    )


def healthy_writer(latest: bool) -> InvocationCase:
    request = Request(latest=latest).turn(21500, read=900, wrote=1600, ttft=1100)
    end = request.end_ms()
    return request.case(first_byte_ms=1400, chunks=[1400 + place * 100 for place in range(203)] + [end + 40])


def healthy_companion(latest: bool) -> InvocationCase:
    """With memory: history, a search, and two events written."""
    return (
        Request(latest=latest)
        .memory(60, "ListEvents")
        .memory(110, "RetrieveMemoryRecords", 2)
        .turn(2300, read=2600, wrote=140, ttft=1250)
        .memory(55, "CreateEvent", 2)
        .case(back_ms=110)
    )


def healthy_newcomer(latest: bool) -> InvocationCase:
    """Cold, with the 0.8 s that a cold start usually takes."""
    return (
        Request(latest=latest)
        .turn(1900, wrote=60, ttft=1600, tools=[Tool("weather", 120, "sunny"), Tool("clock", 2, "12:00")])
        .turn(1700, read=1990, wrote=90, ttft=1200)
        .case(there_ms=880, is_cold=True)
    )


HEALTHY = [healthy_calculator, healthy_researcher, healthy_writer, healthy_companion, healthy_newcomer]


@pytest.mark.parametrize("latest", [True, False], ids=["latest", "legacy"])
@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda healthy: healthy.__name__)
def test_nothing_is_claimed_about_an_agent_that_is_well(
    healthy: Callable[[bool], InvocationCase], latest: bool
) -> None:
    diagnosis = diagnose(healthy(latest))
    assert diagnosis.findings == ()
    assert not diagnosis.problems
