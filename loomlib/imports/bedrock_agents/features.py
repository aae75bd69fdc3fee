"""Outcomes of an agent's features when it moves from Bedrock Agents to AgentCore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .model import ActionGroup, ImportedAgent, StepName

FeatureName = Literal[
    "action_groups",
    "orchestration",
    "guardrails",
    "knowledge_bases",
    "code_interpreter",
    "short_term_memory",
    "long_term_memory",
    "pre_post_processing",
    "user_input",
    "traces",
    "multi_agent",
]
"""A feature of Bedrock Agents."""

FeatureState = Literal["unused", "kept", "approximated", "lost", "needs you"]
"""The state of a feature; "needs you" means a manual step, and `state_label` returns that label."""

_ORDER: Final[tuple[FeatureState, ...]] = ("unused", "kept", "approximated", "lost", "needs you")


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """The outcome of one feature of an agent.

    Attributes:
        name: The feature.
        state: Its outcome.
        reason: The reason, in sentences; "" for a feature that the agent does not use.
    """

    name: FeatureName
    state: FeatureState
    reason: str = ""

    @property
    def label(self) -> str:
        """The label of its state."""
        return state_label(self.state)


def state_label(state: str) -> str:
    """Return the label of a feature's state for reports and panels: "manual step" for "needs you".

    Args:
        state: The state, as in `Feature.state`.
    """
    return "manual step" if state == "needs you" else state


Note = tuple[FeatureState, str]


def assess_features(agent: ImportedAgent) -> tuple[Feature, ...]:
    """Return the eleven features of an agent, each with its outcome and the reason.

    Collaborators are separate agents: "multi_agent" states only whether they can be called as before.

    Args:
        agent: The agent.

    Examples:
        >>> {feature.name: feature.state for feature in assess_features(agent)}["guardrails"]  # doctest: +SKIP
        'kept'
    """
    assessed: list[Feature] = []
    for name, assess in _ASSESSMENTS.items():
        notes = assess(agent)
        states: list[FeatureState] = ["unused", *(state for state, _ in notes)]
        state = max(states, key=_ORDER.index)
        reasons = dict.fromkeys(reason for noted, reason in notes if noted == state or noted not in ("kept", "unused"))
        assessed.append(Feature(name=name, state=state, reason=" ".join(reasons)))
    return tuple(assessed)


def assess_all_features(agent: ImportedAgent) -> tuple[Feature, ...]:
    """Return the eleven features of an agent and its collaborators taken together.

    Each feature has the state that needs most attention, and the reasons of the agents in that state.

    Args:
        agent: The agent, with its collaborators at every level.
    """
    assessed = [assess_features(member) for member in agent.walk()]
    together: list[Feature] = []
    for features in zip(*assessed, strict=True):
        state = max((feature.state for feature in features), key=_ORDER.index)
        reasons = dict.fromkeys(feature.reason for feature in features if feature.state == state and feature.reason)
        together.append(Feature(name=features[0].name, state=state, reason=" ".join(reasons)))
    return tuple(together)


def _action_groups(agent: ImportedAgent) -> list[Note]:
    notes: list[Note] = []
    for group in agent.action_groups:
        if not group.is_enabled or group.built_in in ("user_input", "code_interpreter"):
            continue
        notes.append(_action_group(group))
    return notes


def _action_group(group: ActionGroup) -> Note:
    if group.executor == "none" and group.schema == "openapi" and group.tools:
        advice = "The code calls the API's own server, or a gateway at LOOM_GATEWAY_URL: set it up, with credentials."
        return "needs you", f"{group.name}: nothing executes it in Bedrock Agents. {advice}"
    if group.problem:
        return "needs you", f"{group.name}: {group.problem}."
    if group.built_in is not None:
        return "lost", f"{group.name}: AgentCore has no built-in tool {group.built_in}."
    if group.executor == "return_control":
        return "approximated", f"{group.name}: return of control becomes an interrupt that the caller answers."
    if any(tool.requires_confirmation for tool in group.tools):
        return "approximated", f"{group.name}: confirmation by the user becomes an approval."
    return "kept", f"{group.name}: its Lambda function is called with the same event."


def _orchestration(agent: ImportedAgent) -> list[Note]:
    if agent.orchestration_lambda:
        return [("needs you", "A Lambda function orchestrates the agent; its logic has to be rewritten as code.")]
    notes: list[Note] = [("approximated", "Bedrock's own prompt is replaced by the framework's tool loop.")]
    step = agent.prompt("orchestration")
    if step is not None and step.is_overridden:
        notes = [("approximated", "Placeholders of Bedrock's own tools are left out of the overridden prompt.")]
    if step is not None and step.parser_lambda:
        notes.append(("needs you", "A Lambda function parses the orchestration; the framework's own parser is used."))
    if sum(agent.redactions.values()):
        notes.append(("needs you", "Secrets were removed from its texts; read them from AWS Secrets Manager."))
    return notes


def _guardrails(agent: ImportedAgent) -> list[Note]:
    guardrail = agent.guardrail
    if guardrail is None:
        return []
    if guardrail.problem:
        return [("needs you", f"The guardrail {guardrail.id}: {guardrail.problem}.")]
    return [("kept", "The same guardrail is applied to every call of the model.")]


def _knowledge_bases(agent: ImportedAgent) -> list[Note]:
    notes: list[Note] = []
    for base in agent.enabled_knowledge_bases:
        if base.problem:
            notes.append(("needs you", f"The knowledge base {base.id}: {base.problem}."))
        else:
            notes.append(("kept", "Each knowledge base is a tool that retrieves from it."))
    step = agent.prompt("knowledge_base_response")
    if notes and step is not None and step.is_enabled:
        template = "with the same template" if step.is_overridden else "with a prompt similar to Bedrock's own"
        notes.append(("approximated", f"A separate model call answers from the retrieved passages, {template}."))
    return notes


def _code_interpreter(agent: ImportedAgent) -> list[Note]:
    if not agent.runs_code:
        return []
    return [("kept", "AgentCore Code Interpreter runs the code.")]


def _short_term_memory(agent: ImportedAgent) -> list[Note]:
    return [("kept", "A runtime session keeps the conversation until it has been idle for the same time.")]


def _long_term_memory(agent: ImportedAgent) -> list[Note]:
    if agent.memory is None:
        return []
    reason = "AgentCore Memory summarizes sessions with its own prompt; earlier summaries stay with the old agent."
    return [("approximated", reason)]


def _pre_post_processing(agent: ImportedAgent) -> list[Note]:
    notes: list[Note] = []
    names: tuple[StepName, ...] = ("pre_processing", "post_processing")
    for name in names:
        step, label = agent.prompt(name), name.replace("_", "-")
        if step is None or not step.is_enabled:
            continue
        if step.parser_lambda:
            notes.append(
                ("approximated", f"The Lambda function that parses the {label} is called with the same event.")
            )
        elif step.is_overridden:
            notes.append(("approximated", f"The {label} is a separate model call, with the same template."))
        else:
            notes.append(("approximated", f"Bedrock does not publish its own {label} prompt; a similar one is used."))
    return notes


def _user_input(agent: ImportedAgent) -> list[Note]:
    notes: list[Note] = []
    if agent.takes_user_input:
        notes.append(("approximated", "Questions to the user become interrupts that the next prompt answers."))
    if any(group.executor == "return_control" for group in agent.enabled_action_groups):
        notes.append(("approximated", "Returns of control become interrupts, answered by invoking the agent again."))
    return notes


def _traces(agent: ImportedAgent) -> list[Note]:
    return [("approximated", "Spans of OpenTelemetry replace the trace events of InvokeAgent.")]


def _multi_agent(agent: ImportedAgent) -> list[Note]:
    if agent.collaboration == "none":
        return []
    notes: list[Note] = [
        ("needs you", f"The collaborator {item.name}: {item.problem}.") for item in agent.collaborators if item.problem
    ]
    if agent.collaboration == "router":
        notes.append(("approximated", "The new agent's own classifier chooses the collaborator."))
    else:
        notes.append(("kept", "Collaborators are agents that the supervisor calls as tools."))
    return notes


_ASSESSMENTS: Final[Mapping[FeatureName, Callable[[ImportedAgent], list[Note]]]] = {
    "action_groups": _action_groups,
    "orchestration": _orchestration,
    "guardrails": _guardrails,
    "knowledge_bases": _knowledge_bases,
    "code_interpreter": _code_interpreter,
    "short_term_memory": _short_term_memory,
    "long_term_memory": _long_term_memory,
    "pre_post_processing": _pre_post_processing,
    "user_input": _user_input,
    "traces": _traces,
    "multi_agent": _multi_agent,
}

FEATURE_NAMES: Final[tuple[FeatureName, ...]] = tuple(_ASSESSMENTS)
"""The eleven features, in the order of `assess_features`."""
