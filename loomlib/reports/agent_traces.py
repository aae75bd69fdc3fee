"""The traces for a report, fetched in bulk: those of an agent's last invocations or of a study."""

from __future__ import annotations

from collections.abc import Sequence

from loomlib.agents import GROUP_PREFIX
from loomlib.experiments import MOST_TASKS_PER_PROCESSOR, MachineConditions
from loomlib.latency import StudyResult
from loomlib.presentation.formats import number, plural
from loomlib.store import InvocationRow
from loomlib.workbench import Agent, Workbench
from loomlib.workbench.blueprints import find_blueprint
from loomlib.workbench.traces import Traces
from loomlib.workbench.tracing import find_traces


def ask_samples(agent: Agent, prompts: str = "") -> int:
    """Invoke an agent whose endpoint has no stored invocation.

    Each prompt is sent in a new session, then all of them again in one conversation, to have cold and warm invocations
    and a session to inspect.

    Args:
        agent: The agent.
        prompts: The prompts, separated by commas; by default the samples of the agent's blueprint.

    Returns:
        The number of invocations made; 0 when the endpoint has stored ones.
    """
    if agent.context.store.invocations.list(agent.entry.id, limit=1, qualifier=agent.qualifier):
        return 0
    sample_prompts = [prompt.strip() for prompt in prompts.split(",") if prompt.strip()] or _samples(agent)
    for prompt in sample_prompts:
        invocation = agent.invoke(prompt)
        agent.end_session(invocation.session_id)
    session_id = None
    for prompt in sample_prompts:
        session_id = agent.invoke(prompt, session_id=session_id).session_id
    return 2 * len(sample_prompts)


def chosen_agents(bench: Workbench, names: str = "", *, otherwise: str) -> list[Agent]:
    """Return the agents of a report.

    Args:
        bench: The workbench.
        names: The agents' names, or groups (`group:team-a`), separated by commas; by default all in the catalog.
        otherwise: The agent to use when the catalog is empty.
    """
    keys = [key.strip() for key in names.split(",") if key.strip()]
    requested = [name for key in keys for name in _names(bench, key)]
    agent_names = requested or [entry.name for entry in bench.context.catalog.list()] or [otherwise]
    return [
        bench.agent(name, deploy=True) if requested or len(agent_names) == 1 else bench.agent(name)
        for name in agent_names
    ]


def _names(bench: Workbench, key: str) -> list[str]:
    """Return the names of a group's agents, or the key unchanged: it may be a blueprint that is not deployed yet."""
    return [entry.name for entry in bench.context.catalog.select([key])] if key.startswith(GROUP_PREFIX) else [key]


def load_of(agent: Agent, rows: Sequence[InvocationRow]) -> MachineConditions | None:
    """Return the load on the client's machine while invocations ran; None when it was not stored with any of them.

    Args:
        agent: Their agent.
        rows: The stored invocations. Each has one sample, taken before its request was sent.
    """
    samples = list(agent.context.store.invocations.loads(row.id for row in rows).values())
    if not samples:
        return None
    tasks = [sample.tasks for sample in samples if sample.tasks is not None]
    loads = [sample.load_1_min for sample in samples if sample.load_1_min is not None]
    return MachineConditions(
        duration_s=sum(row.client_duration_ms or 0.0 for row in rows) / 1000,
        processors=min(sample.processors for sample in samples),
        samples=len(tasks),
        tasks=sum(tasks) / len(tasks) if tasks else None,
        load_1_min=max(loads, default=None),
    )


def load_sentence(load: MachineConditions | None) -> str:
    """Return the load on the client's machine in a sentence, for a report's limitations."""
    if load is None or load.tasks is None:
        return "The load on the client's machine during these invocations is unknown."
    return (
        f"When these invocations began, {number(load.tasks)} tasks ran or waited on "
        f"{plural(load.processors, 'processor')} of the client's machine, on average; times are disturbed "
        f"above {number(MOST_TASKS_PER_PROCESSOR, 0)} a processor."
    )


def study_traces(agent: Agent, result: StudyResult) -> Traces:
    """Return the traces of a study's invocations, fetched together."""
    ids = [call.invocation_id for call in result.calls if call.invocation_id is not None]
    stored = (agent.context.store.invocations.get(id) for id in ids)
    rows = [row for row in stored if row is not None]
    return Traces(find_traces(agent.context, agent.entry, rows), agent_name=agent.name, labels=agent.context.labels)


def _samples(agent: Agent) -> Sequence[str]:
    blueprint = find_blueprint(agent.name)
    return blueprint.prompts if blueprint and blueprint.prompts else (agent.targets.sample_prompt,)
