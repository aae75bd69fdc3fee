"""Bedrock Agents ("Classic"): their resources, and InvokeAgent as a loop over Converse."""

from .code_sandbox import AgentSandboxes
from .invoking import AgentInvocations
from .parts import AgentParts
from .plane import AgentPlane
from .resources import AGENT, AGENT_ALIAS, AgentAliasBehaviour, AgentBehaviour
from .services import AgentServices

__all__ = [
    "AGENT",
    "AGENT_ALIAS",
    "AgentAliasBehaviour",
    "AgentBehaviour",
    "AgentInvocations",
    "AgentParts",
    "AgentPlane",
    "AgentSandboxes",
    "AgentServices",
]
