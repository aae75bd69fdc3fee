"""The workbench: `connect()` → `Workbench` → `Agent` → `Invocation`."""

from ..dispatch import register
from .agent import Agent
from .agui_client import agui_conversation
from .agui_runs import ask_agui, confirm
from .app_views import view_channel
from .bench import Workbench, find_or_deploy
from .blueprints import Blueprint, list_blueprints
from .candidates import AgentCandidates
from .connect import connect
from .invocation import Invocation
from .sampling import sampling_model
from .server_deploys import deploy_servers
from .starts import start_facts
from .tool_catalogues import deploy_catalogues, find_catalogues, write_catalogue

register("Agent.bench", "loomlib.workbench.former_names:agent_bench")
register("Agent.aevaluate", "loomlib.workbench.former_names:agent_aevaluate")
register("Agent.with_bearer", "loomlib.workbench.former_names:agent_with_bearer")
register("Invocation.agent", "loomlib.workbench.former_names:invocation_agent")

__all__ = [
    "Agent",
    "AgentCandidates",
    "Blueprint",
    "Invocation",
    "Workbench",
    "agui_conversation",
    "ask_agui",
    "confirm",
    "connect",
    "deploy_catalogues",
    "deploy_servers",
    "find_catalogues",
    "find_or_deploy",
    "list_blueprints",
    "sampling_model",
    "start_facts",
    "view_channel",
    "write_catalogue",
]
