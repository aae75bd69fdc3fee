"""How a recall study was done and what it cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import number, plural

from .arms import REACTIVE, SUMMARIZING
from .design import AGENT
from .shipped import shipped_lives

if TYPE_CHECKING:
    from .result import RecallResult


def method_notes(result: RecallResult) -> list[str]:
    """How the numbers came about, one sentence each."""
    design = result.design
    facts = sum(len({turn.fact for _, _, turn in life.told(10**6) if turn.fact}) for life in design.lives)
    sessions = max(len(life.sessions) for life in design.lives)
    notes = [
        f"{plural(len(design.lives), 'scripted life').replace('lifes', 'lives')} of up to {sessions} sessions "
        f"({plural(facts, 'fact')}, seed {design.seed}) "
        "are told as events to actors of the study's own; questions are asked when a session begins, in a random "
        "order, one at a time.",
        "An answer counts when the value that holds now stands there in whole words; a former value is one that was "
        "told before and was changed or taken back.",
        f"Retrieval brings the {design.top_k} nearest records of an actor's facts and preferences; a window keeps the "
        f"last {plural(design.window, 'turn')}.",
        "Shares and means count facts, not questions: a fact asked again is the same case. Intervals: Wilson's with "
        "the effective sample size over facts; where facts were asked several times, n too small below six.",
    ]
    if design.mode == AGENT:
        notes.append(
            "With retrieval each question is put to the agent in a new session, whose start is in its time; without "
            "it, in the one long session in which all was said. Tokens and model calls are those of the traces."
        )
    else:
        notes.append(
            "No agent was asked: recalled means that the value stands in what a model would be given, its context or "
            "the records. Proactive retrieval searches for each turn as it was said; reactive retrieval is taken to "
            "search exactly when memory is needed, with the script's query, and sends the context twice. Tokens are "
            "estimated at four characters each."
        )
    notes += [
        f"Before the questions of session {each.session} extraction had {each.found} of {each.wanted} values, "
        f"after {number(each.waited_s)} s."
        for each in result.settled
    ]
    price = f"{design.priced_as}'s list price" if design.priced_as else "no model (name one with priced_as)"
    notes.append(
        f"Costs: tokens at {price}, and {number(result.prices.retrieval_usd * 1000)} $ for a thousand retrievals "
        f"({result.prices.source}, as of {result.prices.as_of})."
    )
    return notes


def cannot_tell(result: RecallResult) -> list[str]:
    """What a reader must not conclude."""
    design = result.design
    limits: list[str] = []
    if design.mode != AGENT:
        limits.append("Whether a model that is given the answer also says it, and not the former value beside it.")
        if any(each.retrieval == REACTIVE for each in design.arms):
            limits.append("Whether a model notices that it should search: here it always does. An agent shows it.")
    if result.scope == "local":
        limits.append(
            "The offline extractor's rules and the offline embeddings decide what is extracted and found here: AWS's "
            "models do better with loose wording, and take longer."
        )
        if any(each.context == SUMMARIZING for each in design.arms) and design.mode != AGENT:
            limits.append("Summaries are the offline extractor's: they quote more than a model's summary would.")
    if any("simulated" in label for label in result.labels) and design.mode == AGENT:
        limits.append("The model is simulated: what it says shows the plumbing, not a model's judgement.")
    limits.append("The lives are made up: people tell things less plainly.")
    return limits


def run_again(result: RecallResult) -> str:
    """The study as Python, ready to paste."""
    design = result.design
    known = shipped_lives()
    scripts = [life.name for life in design.lives if life.name in known]
    made = sum(life.name.startswith(f"life-{design.seed}-") for life in design.lives)
    given = [f"script={scripts[0]!r}" if scripts else "script=None", f"lives={made}"]
    given += [f"arms={[each.key for each in design.arms]!r}", f"top_k={design.top_k}", f"window={design.window}"]
    given += [f"seed={design.seed}"] + ([f"priced_as={design.priced_as!r}"] if design.priced_as else [])
    agent = ", memory=memory, agent=agent" if design.mode == AGENT else ""
    own = "" if result.environment.get("memory_is_own") or agent else ", memory=memory"
    return f"loom.RecallStudy(bench{agent}{own}, {', '.join(given)}).run()"


def method_summary(result: RecallResult) -> dict[str, Any]:
    """The method as JSON-ready values."""
    return {
        "seed": result.design.seed,
        "notes": method_notes(result),
        "cannot_tell": cannot_tell(result),
        "run_again": run_again(result),
    }
