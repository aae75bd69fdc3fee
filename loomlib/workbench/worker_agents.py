"""Agents on a worker of a Dask cluster: found by the worker's own workbench, with its own credentials and database."""

from __future__ import annotations

from functools import lru_cache

from ..evals.targets import Target
from .agent import Agent
from .bench import Workbench
from .connect import connect


def eval_target(where: str, arn: str, qualifier: str) -> Target:
    """Return an agent as the target of an evaluation.

    Args:
        where: "local" or "aws".
        arn: The agent's ARN.
        qualifier: The endpoint.
    """
    return agent(where, arn, qualifier).targets.eval_target()


def agent(where: str, arn: str, qualifier: str) -> Agent:
    """Return an agent of this worker's workbench.

    Args:
        where: "local" or "aws".
        arn: The agent's ARN.
        qualifier: The endpoint.

    Raises:
        AgentNotFoundError: The worker's database does not have the agent.
    """
    return _bench(where).agent(arn).at(qualifier)


@lru_cache(maxsize=2)
def _bench(where: str) -> Workbench:
    """Open this process's workbench; it stays open for all tasks, and the local service ends its lease with it."""
    return connect(where)
