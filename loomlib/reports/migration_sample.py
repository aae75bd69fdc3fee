"""A Bedrock agent to practise a migration with, on the local AgentCore: it is created, imported and deployed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from loomlib.aws.bedrock_agent_making import AgentFunction, create_bedrock_agent
from loomlib.errors import AgentNotFoundError, ReportError, ResourceNotFoundError

if TYPE_CHECKING:
    from loomlib.workbench import Workbench

SAMPLE: Final = "parcel_desk"
"""The name of the sample agent and of its successor."""
_PROMPTS: Final = tuple(f"Where is the parcel {number}?" for number in range(4701, 4713))
_INSTRUCTION: Final = "You tell customers of a shop where their parcels are. Answer in a short sentence."
_FUNCTION: Final = AgentFunction(
    name="find_parcel",
    description="Finds out where a parcel is",
    parameters={"parcel": "The number of the parcel"},
)
_CODE: Final = """
PLACES = ("is packed", "is on its way", "was delivered on Monday")


def lambda_handler(event, context):
    values = {item["name"]: item["value"] for item in event["parameters"]}
    text = f"Parcel {values['parcel']} {PLACES[int(values['parcel']) % 3]}."
    response = {
        "actionGroup": event["actionGroup"],
        "function": event["function"],
        "functionResponse": {"responseBody": {"TEXT": {"body": text}}},
    }
    return {"messageVersion": "1.0", "response": response}
"""


def sample_agents(bench: Workbench) -> tuple[str, list[str]]:
    """Return the name of a sample agent with its successor, and prompts; both agents are created if they do not exist.

    Args:
        bench: A workbench on the local AgentCore.

    Raises:
        ReportError: The workbench is on AWS, where a report does not create agents.
    """
    if bench.context.where != "local":
        raise ReportError("No agent is named", on="agents", try_='agents="support", the name of a Bedrock agent')
    try:
        bench.bedrock.agents.get(SAMPLE)
    except ResourceNotFoundError:
        _make(bench)
    try:
        bench.agent(SAMPLE)
    except AgentNotFoundError:
        _deploy(bench)
    return SAMPLE, list(_PROMPTS)


def _make(bench: Workbench) -> None:
    with TemporaryDirectory(prefix="loom-sample-") as folder:
        file = Path(folder) / "find_parcel.py"
        file.write_text(_CODE)
        try:
            function = bench.tools.functions.get(_FUNCTION.name)
        except ResourceNotFoundError:
            function = bench.tools.functions.create(_FUNCTION.name, file)
    create_bedrock_agent(
        bench.clients,
        SAMPLE,
        instruction=_INSTRUCTION,
        model="amazon.nova-pro-v1:0",
        function=_FUNCTION,
        lambda_arn=function.value.arn,
        group="parcels",
    )


def _deploy(bench: Workbench) -> None:
    from loomlib.imports.bedrock_agents.emit import generate_agent
    from loomlib.imports.bedrock_agents.emit.write import write_agent

    agent = bench.bedrock.agents.get(SAMPLE).snapshot("live").agent
    with TemporaryDirectory(prefix="loom-sample-") as folder:
        write_agent(generate_agent(agent, "strands"), Path(folder) / SAMPLE)
        bench.plan(Path(folder) / SAMPLE).apply()
