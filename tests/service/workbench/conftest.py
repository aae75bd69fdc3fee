"""A workbench on a local AgentCore of its own, in a temporary folder, with an agent."""

from __future__ import annotations

import pytest
from own_bench import bench, home

import loomlib as loom

__all__ = ["bench", "home"]


@pytest.fixture(scope="session")
def calculator(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy("calculator")
