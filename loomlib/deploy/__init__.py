"""Deployments of an agent: a plan of the changes, and its execution, on the local AgentCore and on AWS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dispatch import names_on_use

if TYPE_CHECKING:
    from .agent_file import read_agent_file, write_agent_file
    from .costs import CostEstimate, UseAssumptions
    from .spec import AgentSpec, NetworkSpec, PlatformSpec, ResourceBinding, ResourceSpec, TriggerSpec
    from .steps import DeployPlan, PlanStep

__all__ = [
    "AgentSpec",
    "CostEstimate",
    "DeployPlan",
    "NetworkSpec",
    "PlanStep",
    "PlatformSpec",
    "ResourceBinding",
    "ResourceSpec",
    "TriggerSpec",
    "UseAssumptions",
    "read_agent_file",
    "write_agent_file",
]

__getattr__ = names_on_use(
    __name__,
    {
        "agent_file": "read_agent_file write_agent_file",
        "costs": "CostEstimate UseAssumptions",
        "spec": "AgentSpec NetworkSpec PlatformSpec ResourceBinding ResourceSpec TriggerSpec",
        "steps": "DeployPlan PlanStep",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
