"""Tools that a model plays, for an agent under construction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..judges.strands_model import StrandsModel
from .users import load_module

if TYPE_CHECKING:
    from ..judges.model import ConverseJudge


def simulated_tools(model: ConverseJudge) -> Any:
    """strands_evals' ToolSimulator with its model behind `model`'s connection.

        tools = simulated_tools(ConverseJudge(clients=bench.clients))

        @tools.tool()
        def find_flights(city: str) -> dict:
            '''Flights to a city.'''

        agent = strands.Agent(tools=[tools.get_tool("find_flights")])

    It remembers what it answered, so that one call agrees with the next. The tools live in the process of the agent.
    """
    return load_module("simulation").ToolSimulator(model=StrandsModel(model))
