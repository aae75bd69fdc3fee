"""Code for AgentCore from an imported agent: one set of templates, and a few files for each framework."""

from .generate import FRAMEWORKS, generate_agent
from .generated import FrameworkName, GeneratedAgent

__all__ = ["FRAMEWORKS", "FrameworkName", "GeneratedAgent", "generate_agent"]
