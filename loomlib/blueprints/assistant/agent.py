"""Assistant: an agent with four tools, one of them slow. Ask for several things at once and the tools run in parallel.

It streams: a JSON string is a piece of the answer's text, an object {"tool": …} names a tool that is being used.
The payload is {"prompt": "Where is order A-1042, and what is the weather in Paris?"}.
The environment variables MODEL_ID, SYSTEM_PROMPT and TOOL_DESCRIPTIONS replace its defaults; QUERY_SECONDS sets the
duration of its slow tool.
"""

import functools
import json
import os
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from strands import Agent, tool
from strands.models import BedrockModel

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get(
    "SYSTEM_PROMPT",
    "You are a shop's assistant. Use the tools for facts. Answer each question in a short sentence. "
    "Goods can be returned within 30 days of delivery. "
    "Shipping inside Europe is free for orders above 50 euros. "
    "The warranty on desks and chairs lasts 5 years. "
    "The shop is open on weekdays from 9 to 18 o'clock. "
    "You can look up orders, but only a colleague can cancel, change or refund them.",
)
DATA = Path(__file__).parent / "data"
QUERY_SECONDS = float(
    os.environ.get("QUERY_SECONDS", "1.2")
)  # the time that a remote database takes: connection, query, serialization

app = BedrockAgentCoreApp()


@functools.cache
def orders() -> sqlite3.Connection:
    """Return the sample orders in an in-memory database."""
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.row_factory = sqlite3.Row
    database.executescript((DATA / "orders.sql").read_text())
    return database


@tool
def find_order(order_id: str) -> dict:
    """Look up and track an order, parcel, package or delivery. Slow on purpose, as a remote database would be.

    Args:
        order_id: The order's number, such as "A-1042".
    """
    time.sleep(QUERY_SECONDS)
    row = orders().execute("SELECT * FROM orders WHERE order_id = ?", (order_id.upper(),)).fetchone()
    if row is None:
        raise ValueError(f"there is no order {order_id}")
    return result(dict(row))


@tool
def get_weather(city: str) -> dict:
    """Tell the weather of a city. Sample data from a table in this folder, not a forecast.

    Args:
        city: The city's name, such as "Paris".
    """
    table = json.loads((DATA / "weather.json").read_text())["cities"]
    if city.casefold() not in table:
        raise ValueError(f"the sample table has no {city}; it has {', '.join(sorted(table)).title()}")
    return result({"city": city, **table[city.casefold()], "source": "sample data"})


@tool
def current_time(timezone_name: str = "UTC") -> dict:
    """Tell the current date and time in a time zone.

    Args:
        timezone_name: An IANA timezone, such as "Europe/Paris".
    """
    try:
        now = datetime.now(ZoneInfo(timezone_name))
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"there is no time zone {timezone_name}") from error
    return result({"timezone": timezone_name, "time": now.strftime("%A %d %B %Y, %H:%M:%S")})


UNITS = {  # unit: (what it measures, factor to the base unit)
    "mm": ("length", 0.001), "cm": ("length", 0.01), "m": ("length", 1.0), "km": ("length", 1000.0),
    "inch": ("length", 0.0254), "foot": ("length", 0.3048), "mile": ("length", 1609.344),
    "gram": ("mass", 0.001), "kg": ("mass", 1.0), "ounce": ("mass", 0.028349523125), "pound": ("mass", 0.45359237),
    "second": ("time", 1.0), "minute": ("time", 60.0), "hour": ("time", 3600.0), "day": ("time", 86400.0),
}  # fmt: skip


@tool
def convert_units(value: float, from_unit: str, to_unit: str) -> dict:
    """Convert a value from one unit to another: length, mass or time.

    Args:
        value: How many of the first unit.
        from_unit: The unit to convert from, such as "mile".
        to_unit: The unit to convert to, such as "km".
    """
    first, second = unit(from_unit), unit(to_unit)
    if UNITS[first][0] != UNITS[second][0]:
        raise ValueError(f"{from_unit} measures {UNITS[first][0]} and {to_unit} measures {UNITS[second][0]}")
    return result(f"{value:g} {first} = {value * UNITS[first][1] / UNITS[second][1]:.6g} {second}.")


def unit(name: str) -> str:
    """Return the name of a unit in UNITS, from its singular or plural."""
    spoken = name.strip().casefold()
    names = {"feet": "foot", "inches": "inch", "meter": "m", "kilometer": "km", "kilogram": "kg", "centimeter": "cm"}
    spoken = spoken.replace("metre", "meter")
    for candidate in (spoken, spoken.removesuffix("s")):
        if names.get(candidate, candidate) in UNITS:
            return names.get(candidate, candidate)
    raise ValueError(f"unknown unit {name}; known are {', '.join(UNITS)}")


def result(value) -> dict:
    """Return a tool's result for the model: a string unchanged, other values as JSON."""
    return {"status": "success", "content": [{"text": value} if isinstance(value, str) else {"json": value}]}


def described(used: list) -> list:
    """Return the tools, with the descriptions from the environment variable TOOL_DESCRIPTIONS (JSON, by tool name)."""
    for name, description in json.loads(os.environ.get("TOOL_DESCRIPTIONS", "{}")).items():
        for call in [call for call in used if call.tool_name == name]:
            call.tool_spec = {**call.tool_spec, "description": description}
    return used


@functools.cache
def agent_for(session_id: str | None) -> Agent:
    """Return the agent of a session: it remembers the conversation until the session ends."""
    return Agent(
        model=BedrockModel(model_id=MODEL_ID),
        tools=described([find_order, get_weather, current_time, convert_units]),
        system_prompt=SYSTEM_PROMPT,
        callback_handler=None,  # the default handler prints the answer to the log
    )


@app.entrypoint
async def invoke(payload, context):
    """Stream the answer to {"prompt": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    prompt = payload.get("prompt")
    if not prompt:
        raise ValueError('the payload needs a "prompt", such as {"prompt": "Where is order A-1042?"}')

    announced = set()
    async for event in agent_for(context.session_id).stream_async(prompt):
        if "data" in event:
            yield event["data"]
        elif (use := event.get("current_tool_use")) and use["toolUseId"] not in announced:
            announced.add(use["toolUseId"])
            yield {"tool": use["name"]}


if __name__ == "__main__":
    app.run()
