"""Tools that a model simulates, for an agent under development."""

from __future__ import annotations

from typing import Any

from ..judges.model import ConverseJudge
from ..judges.strands_model import StrandsModel
from .users import load_module


def simulated_tools(model: ConverseJudge) -> Any:
    """Return strands_evals' ToolSimulator with this model.

    The simulator remembers its answers, so that later calls are consistent with earlier ones. The tools run in the
    agent's process.

    Args:
        model: The model that simulates the tools.

    Examples:
        >>> tools = simulated_tools(ConverseJudge(clients=bench.clients))
        >>> @tools.tool()
        ... def find_flights(city: str) -> dict:
        ...     '''Flights to a city.'''
        >>> agent = strands.Agent(tools=[tools.get_tool("find_flights")])
    """
    return load_module("simulation").ToolSimulator(model=StrandsModel(model))
