"""A workbench on a local AgentCore of its own."""

from own_bench import bench, home

__all__ = ["bench", "home"]
