"""How a memory study is conducted, and its limitations."""

from __future__ import annotations

from loomlib.experiments import StudyMethod
from loomlib.presentation.formats import number, plural

from .arms import REACTIVE, SUMMARIZING
from .design import AGENT
from .result import MemoryResult
from .script import shipped_conversations


def method(result: MemoryResult) -> StudyMethod:
    """Return how the study was conducted."""
    return StudyMethod(
        notes=_notes(result), limits=_limits(result), run_again=_run_again(result), facts={"seed": result.design.seed}
    )


def _notes(result: MemoryResult) -> list[str]:
    design = result.design
    facts = sum(len(conversation.values(10**6)) for conversation in design.conversations)
    sessions = max(len(conversation.sessions) for conversation in design.conversations)
    notes = [
        f"{plural(len(design.conversations), 'scripted conversation')} of up to {sessions} sessions "
        f"({plural(facts, 'fact')}, seed {design.seed}) are written as events under the study's own actors. "
        "Questions are asked when a session begins, in a random order, one at a time.",
        "A question counts as recalled when the current value is found, in whole words; a former value is one that was "
        "stated before and then changed or taken back.",
        f"Retrieval returns the {design.top_k} nearest records of an actor's facts and preferences; a window keeps the "
        f"last {plural(design.window, 'turn')}.",
        "Shares and means count facts, not questions: a fact asked for again is the same case. Intervals: Wilson's "
        "with the effective sample size over facts; where facts were asked for several times, at least six facts are "
        "needed for an interval.",
    ]
    if design.mode == AGENT:
        notes.append(
            "With retrieval each question is asked in a new session of the agent, whose start is part of the time; "
            "without retrieval, in the one long session in which the conversation was held. Tokens and model calls are "
            "read from the traces."
        )
    else:
        notes.append(
            "No agent was asked: recalled means that the value is in what a model would be given, its context or the "
            "records. Proactive retrieval searches for each question as it is asked; reactive retrieval is assumed "
            "to search exactly when memory is needed, with the script's query, and sends the context twice. Tokens are "
            "estimated at four characters each."
        )
    notes += [
        f"Before the questions of session {state.session}, {state.found} of {state.wanted} values were extracted after "
        f"{number(state.waited_s)} s."
        for state in result.settled
    ]
    price = f"{design.priced_as}'s list price" if design.priced_as else "no model's price (set priced_as)"
    prices = result.prices
    notes.append(
        f"Costs: tokens at {price}, and ${number(prices.retrieval_usd * 1000)} for a thousand retrievals "
        f"({prices.source}, as of {prices.as_of})."
    )
    return notes


def _limits(result: MemoryResult) -> list[str]:
    design = result.design
    limits: list[str] = []
    if design.mode != AGENT:
        limits.append("Whether a model that is given the value also answers with it, and not with a former one.")
        if any(arm.retrieval == REACTIVE for arm in design.arms):
            limits.append(
                "Whether a model notices that it should search: here it always does. Run the study with an agent to "
                "measure it."
            )
    if result.scope == "local":
        limits.append(
            "The offline extractor's rules and the offline embeddings decide what is extracted and found here: AWS's "
            "models handle loose wording better, and take longer."
        )
        if any(arm.context == SUMMARIZING for arm in design.arms) and design.mode != AGENT:
            limits.append("Summaries are the offline extractor's: they quote more than a model's summary would.")
    if any("simulated" in label for label in result.labels) and design.mode == AGENT:
        limits.append("The model is simulated: its answers show that the parts work together, not how a model judges.")
    limits.append("The conversations are generated: real people state facts less plainly.")
    return limits


def _run_again(result: MemoryResult) -> str:
    design = result.design
    shipped = shipped_conversations()
    scripts = [conversation.name for conversation in design.conversations if conversation.name in shipped]
    generated = [
        conversation for conversation in design.conversations if conversation.name.startswith(f"life-{design.seed}-")
    ]
    arguments = [f"script={scripts[0]!r}" if scripts else "script=None", f"conversations={len(generated)}"]
    if generated:
        sessions = generated[0].sessions
        facts = {turn.fact for session in sessions for turn in session if turn.fact}
        arguments += [f"sessions={len(sessions)}", f"facts={len(facts)}"]
    arguments += [f"arms={[arm.key for arm in design.arms]!r}", f"top_k={design.top_k}", f"window={design.window}"]
    arguments += [f"seed={design.seed}"] + ([f"priced_as={design.priced_as!r}"] if design.priced_as else [])
    arguments += [f"timeout_s={design.timeout_s!r}"] if design.timeout_s is not None else []
    agent = ", memory=memory, agent=agent" if design.mode == AGENT else ""
    own = "" if result.environment.get("memory_is_own") or agent else ", memory=memory"
    return f"loom.MemoryStudy(bench{agent}{own}, {', '.join(arguments)}).run()"
