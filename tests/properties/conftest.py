"""A workbench on a local AgentCore, for the properties that need a service."""

from own_bench import bench, home

__all__ = ["bench", "home"]
