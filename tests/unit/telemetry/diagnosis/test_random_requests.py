"""Rates, not anecdotes: causes planted in random requests of ordinary noise, and random requests without any.

The generator is seeded, so the rates are the same on every run.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from invented_requests import Request, Tool

from loomlib.telemetry.diagnosis import InvocationCase, diagnose

PLANTED, CALM = 60, 600


def calm(dice: Random, turns: int | None = None) -> Request:
    """One to three turns with first tokens after 0.5 to 2.5 s, quick tools, a little memory."""
    request, read = Request(latest=dice.random() < 0.5), dice.randint(800, 6000)
    for _ in range(dice.randint(0, 2)):
        request.memory(dice.uniform(30, 120), dice.choice(["ListEvents", "RetrieveMemoryRecords"]))
    count = turns or dice.randint(1, 3)
    for turn in range(count):
        ttft, wrote = dice.uniform(500, 2500), dice.randint(20, 400)
        tools = [
            Tool(dice.choice("abcd"), dice.uniform(5, 600), "x" * dice.randint(10, 3000), {"n": dice.random()})
            for _ in range(dice.randint(0, 4) if turn < count - 1 else 0)
        ]
        request.turn(ttft + wrote * dice.uniform(7, 20), ttft=ttft, read=read, wrote=wrote, tools=tools)
        read += wrote + sum(len(tool.result) for tool in tools) // 4 + dice.randint(5, 60)
    for _ in range(dice.randint(0, 2)):
        request.memory(dice.uniform(30, 120), "CreateEvent")
    return request.pause(dice.uniform(0, 150))


def seen(dice: Random, request: Request) -> InvocationCase:
    """Return the request as a distant client sees it, sometimes with a cold start."""
    is_cold = dice.random() < 0.2
    there_ms = dice.uniform(50, 500) + (dice.uniform(200, 700) if is_cold else 0)
    return request.case(there_ms=there_ms, back_ms=dice.uniform(30, 400), is_cold=is_cold)


def too_many_cycles(dice: Random) -> InvocationCase:
    request, read = Request(), dice.randint(1000, 3000)
    for turn in range(dice.randint(7, 14)):
        tools = [Tool("search", dice.uniform(20, 200), arguments={"n": turn})]
        request.turn(dice.uniform(900, 1600), read=read, tools=tools)
        read += dice.randint(60, 150)
    return seen(dice, request)


def token_growth(dice: Random) -> InvocationCase:
    request, read, cost, growth = Request(), dice.randint(1000, 2500), dice.uniform(0.3, 0.9), dice.randint(900, 3000)
    for turn in range(dice.randint(4, 9)):
        model = 900 + read * cost
        tools = [Tool("search", 50, "x" * growth * 3, {"n": turn})]
        request.turn(model, ttft=model * dice.uniform(0.75, 0.85), read=read, tools=tools)
        read += growth
    return seen(dice, request)


def slow_tool(dice: Random) -> InvocationCase:
    tools = [Tool("database", dice.uniform(3200, 9000)), Tool("weather", 110)]
    return seen(dice, calm(dice, 1).turn(1500, tools=tools).turn(dice.uniform(800, 2500)))


def serial_tools(dice: Random) -> InvocationCase:
    tools = [Tool(f"tool_{place}", dice.uniform(500, 1200)) for place in range(dice.randint(2, 5))]
    return seen(dice, calm(dice, 1).turn(1500, tools=tools, serial=True).turn(1400))


def oversized_result(dice: Random) -> InvocationCase:
    size, first = dice.randint(24_000, 200_000), dice.uniform(700, 1500)
    request = Request().turn(first + 300, ttft=first, read=1800, tools=[Tool("read_file", 60, "x" * size)])
    later = first + size / 4 * dice.uniform(0.1, 0.3)
    for turn in range(dice.randint(1, 2)):
        request.turn(later + 400, ttft=later, read=1860 + size // 4 + 150 * turn, tools=[Tool("note", 30)])
    return seen(dice, request)


def cold_start(dice: Random) -> InvocationCase:
    return calm(dice).case(there_ms=dice.uniform(2500, 9000), is_cold=True)


def throttling_retries(dice: Random) -> InvocationCase:
    refused = [(80.0, dice.uniform(2000, 8000)) for _ in range(dice.randint(1, 3))]
    return seen(dice, calm(dice, 1).turn(1500, refused=refused))


def slow_first_token(dice: Random) -> InvocationCase:
    ttft = dice.uniform(5000, 12000)
    return seen(dice, calm(dice, 1).turn(ttft + 800, ttft=ttft, read=dice.randint(1000, 4000)))


def large_prompt(dice: Random) -> InvocationCase:
    request, read = Request(), dice.randint(15_000, 120_000)
    ttft = read * dice.uniform(0.08, 0.2) + 500
    for turn in range(dice.randint(1, 3)):
        request.turn(ttft + 400, ttft=ttft, read=read + 150 * turn, tools=[Tool("note", 80)])
    return seen(dice, request)


def chatty_memory(dice: Random) -> InvocationCase:
    return seen(dice, calm(dice, 1).memory(dice.uniform(60, 150), times=dice.randint(12, 30)))


def network(dice: Random) -> InvocationCase:
    return calm(dice, 2).case(there_ms=dice.uniform(2000, 4000), back_ms=dice.uniform(2000, 4000))


def slow_client(dice: Random) -> InvocationCase:
    request, there_ms, late_ms, count = calm(dice), dice.uniform(50, 300), dice.uniform(2500, 9000), dice.randint(3, 40)
    end = request.end_ms(there_ms)
    chunks = [there_ms + 500, *(end + late_ms * place / count for place in range(count + 1))]
    return request.case(there_ms=there_ms, back_ms=late_ms, first_byte_ms=there_ms + 500, chunks=chunks)


CAUSES: list[Callable[[Random], InvocationCase]] = [
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


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.__name__)
def test_a_cause_is_named_first_in_nearly_every_random_request(cause: Callable[[Random], InvocationCase]) -> None:
    dice = Random(cause.__name__)
    firsts = [diagnose(cause(dice)).first for _ in range(PLANTED)]
    hits = sum(first is not None and first.rule == cause.__name__ for first in firsts)
    assert hits >= 0.97 * PLANTED, [None if first is None else first.rule for first in firsts]


def test_hardly_any_random_request_without_a_cause_is_blamed() -> None:
    dice = Random("calm")
    tables = [diagnosis.table() for _ in range(CALM) if (diagnosis := diagnose(seen(dice, calm(dice)))).findings]
    assert len(tables) <= 0.01 * CALM, tables
