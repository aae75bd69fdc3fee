"""Parts of the generated code that an agent and its collaborators use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..model import ActionGroup, ImportedAgent, PromptStep, StepName


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """The features that a tree of agents uses; read by the templates.

    Attributes:
        actions: Action groups.
        functions: Action groups with Lambda functions.
        parsers: Steps with a Lambda function as parser.
        http: Action groups with an API schema but without a Lambda function.
        knowledge: Knowledge bases.
        code: A code interpreter.
        user_input: Questions to the user.
        interrupts: Calls that wait for the caller: questions, confirmations and returns of control.
        memory: Long-term memory of the root agent.
        processing: Pre-processing or post-processing.
        answers: A model call that answers from the passages of a knowledge base.
        tagged: Prompts that request the answer in a tag.
        guardrail: Guardrails.
        collaborators: Collaborators.
        router: A classifier that chooses a collaborator.
    """

    actions: bool
    functions: bool
    parsers: bool
    http: bool
    knowledge: bool
    code: bool
    user_input: bool
    interrupts: bool
    memory: bool
    processing: bool
    answers: bool
    tagged: bool
    guardrail: bool
    collaborators: bool
    router: bool

    @property
    def steps(self) -> bool:
        """Whether there are model calls around the orchestration, or answers in a tag."""
        return self.processing or self.answers or self.router or self.tagged


def uses_of(root: ImportedAgent) -> Uses:
    """Return the features that an agent and its collaborators use.

    Args:
        root: The agent.
    """
    agents = list(root.walk())
    groups = [group for agent in agents for group in callable_groups(agent)]
    tools = [tool for group in groups for tool in group.tools]
    asks = any(agent.takes_user_input for agent in agents)
    waits = any(group.executor == "return_control" for group in groups)
    return Uses(
        actions=bool(tools),
        functions=any(group.executor == "lambda" for group in groups),
        parsers=any(step.parser_lambda for agent in agents for step in used_steps(agent)),
        http=any(is_http(group) for group in groups),
        knowledge=any(True for agent in agents for _ in agent.enabled_knowledge_bases),
        code=any(agent.runs_code for agent in agents),
        user_input=asks,
        interrupts=asks or waits or any(tool.requires_confirmation for tool in tools),
        memory=root.memory is not None,
        processing=any(_has_step(agent, "pre_processing", "post_processing") for agent in agents),
        answers=any(writes_from_passages(agent) for agent in agents),
        tagged=any(answers_in_tag(agent) for agent in agents),
        guardrail=any(agent.guardrail is not None for agent in agents),
        collaborators=any(callable_collaborators(agent) for agent in agents),
        router=any(agent.collaboration == "router" and callable_collaborators(agent) for agent in agents),
    )


def callable_groups(agent: ImportedAgent) -> tuple[ActionGroup, ...]:
    """Return the action groups with tools that have an executor.

    Args:
        agent: The agent.
    """
    groups = (group for group in agent.enabled_action_groups if group.tools)
    return tuple(group for group in groups if group.executor != "none" or is_http(group))


def callable_collaborators(agent: ImportedAgent) -> tuple[tuple[str, ImportedAgent], ...]:
    """Return the collaborators that were read, each with its name.

    Args:
        agent: The agent.
    """
    if agent.collaboration == "none":
        return ()
    return tuple((item.name, item.agent) for item in agent.collaborators if item.agent is not None)


def is_http(group: ActionGroup) -> bool:
    """Return whether an action group is an API that is called directly over HTTP.

    Args:
        group: The action group.
    """
    return group.executor == "none" and group.schema == "openapi" and bool(group.tools)


def used_steps(agent: ImportedAgent) -> tuple[PromptStep, ...]:
    """Return the enabled steps around the orchestration.

    Args:
        agent: The agent.
    """
    is_router = agent.collaboration == "router" and bool(callable_collaborators(agent))
    is_used = {
        "pre_processing": True,
        "post_processing": True,
        "knowledge_base_response": bool(agent.enabled_knowledge_bases),
        "routing_classifier": is_router,
    }
    return tuple(step for step in agent.prompts if step.is_enabled and is_used.get(step.name, False))


def writes_from_passages(agent: ImportedAgent) -> bool:
    """Return whether a model answers from the passages of a knowledge base, before the agent reads the result.

    Args:
        agent: The agent.
    """
    return _has_step(agent, "knowledge_base_response") and bool(agent.enabled_knowledge_bases)


def answers_in_tag(agent: ImportedAgent) -> bool:
    """Return whether an agent's own prompt requests the answer in `<answer>`.

    Args:
        agent: The agent.
    """
    step = agent.prompt("orchestration")
    return step is not None and step.is_overridden and "<answer>" in step.template


def distinct_agents(root: ImportedAgent) -> list[ImportedAgent]:
    """Return an agent and its collaborators, each once, the root first.

    Args:
        root: The agent.
    """
    return list(dict((_identity(agent), agent) for agent in _in_order(root)).values())


def _identity(agent: ImportedAgent) -> tuple[str, str, str]:
    return agent.id, agent.version, agent.alias_id


def same_agent(one: ImportedAgent, other: ImportedAgent) -> bool:
    """Return whether two values are the same agent at the same version and alias."""
    return _identity(one) == _identity(other)


def _in_order(root: ImportedAgent) -> Iterator[ImportedAgent]:
    yield from root.walk()


def _has_step(agent: ImportedAgent, *names: StepName) -> bool:
    return any(step.is_enabled for step in agent.prompts if step.name in names)
