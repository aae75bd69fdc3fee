"""Attributes of the previous release without a new path on the same object; removed with the next release."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from ..aws.bearer import Bearer
from ..evals.runs import EvalRun, aevaluate
from .agent import Agent
from .bench import Workbench
from .invocation import Invocation


def agent_bench(agent: Agent) -> Workbench:
    """Return the agent's workbench: `Workbench(agent.context)`."""
    return Workbench(agent.context)


def agent_aevaluate(agent: Agent) -> Callable[..., Awaitable[EvalRun]]:
    """Return `loom.aevaluate` bound to the agent."""
    return partial(aevaluate, agent)


def agent_with_bearer(agent: Agent) -> Callable[[Bearer], Agent]:
    """Return `Agent.at` as a function of the bearer token."""
    return lambda bearer: agent.at(bearer=bearer)


def invocation_agent(invocation: Invocation) -> Agent:
    """Return the agent that was invoked."""
    return Agent(invocation.entry, invocation.context, qualifier=invocation.record.qualifier)
