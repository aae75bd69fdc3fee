"""Code for AgentCore from an imported agent: one set of templates, and a few files for each framework."""

from .generate import FRAMEWORKS, generate_agent
from .generated import FrameworkName, GeneratedAgent
from .merge import MergedText, merge_texts
from .write import FileChange, WrittenAgent, write_agent

__all__ = [
    "FRAMEWORKS",
    "FileChange",
    "FrameworkName",
    "GeneratedAgent",
    "MergedText",
    "WrittenAgent",
    "generate_agent",
    "merge_texts",
    "write_agent",
]
