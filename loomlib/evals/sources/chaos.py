"""The same questions while tools and models fail: strands_evals' effects as cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..values.cases import EvalCase, Rubric

if TYPE_CHECKING:
    from ..values.eval_set import EvalSet

CHAOS_EFFECTS: Final[Mapping[str, tuple[str, str]]] = {
    "timeout": ("tool", "The tool does not answer in time."),
    "network_error": ("tool", "The network to the tool is down."),
    "execution_error": ("tool", "The tool fails."),
    "validation_error": ("tool", "The tool refuses its arguments."),
    "truncate_fields": ("tool", "The tool's result is cut off."),
    "remove_fields": ("tool", "Fields are missing from the tool's result."),
    "corrupt_values": ("tool", "Values in the tool's result are wrong."),
    "empty_response": ("model", "The model answers nothing."),
    "full_refusal": ("model", "The model refuses."),
    "malformed_json": ("model", "The model's structured answer is broken."),
}
"""strands_evals' effects by their type, what each strikes, and what happens."""


def chaos_set(
    evalset: EvalSet,
    effects: Sequence[str] = ("timeout", "execution_error"),
    *,
    tools: Sequence[str] | None = None,
    baseline: bool = True,
    field: str = "chaos",
) -> EvalSet:
    """Every case once under each effect: on each of `tools` (None: those that the case expects), or on the model.

    The effects travel in each turn's payload, as `ChaosCase(effects=…)` takes them; the agent puts them in force:

        from strands_evals.chaos import ChaosCase, ChaosPlugin
        from strands_evals.chaos._context import _current_chaos_case

        agent = Agent(tools=[...], plugins=[ChaosPlugin()])

        @app.entrypoint
        def answer(payload):
            case = ChaosCase(name="chaos", input=payload["prompt"], effects=payload.get("chaos") or {})
            _current_chaos_case.set(case)
            return str(agent(payload["prompt"]))

    What passes: the answer says what could not be done and makes nothing up (a rubric; the tools are still those that
    are expected, the answer is not). With `baseline` the case itself is there too, tagged "baseline", as it was.
    An agent without the plugin is not harmed by it, so compare with the baseline before believing in resilience.
    """
    unknown = [each for each in effects if each not in CHAOS_EFFECTS]
    if unknown:
        raise ValueError(f"the effects are {', '.join(CHAOS_EFFECTS)}, not {', '.join(unknown)}")
    cases: list[EvalCase] = []
    for case in evalset.cases:
        if not case.turns:
            continue
        if baseline:
            cases.append(replace(case, tags=(*case.tags, "baseline")))
        used = list(dict.fromkeys(tool.name for tool in case.expected_tools or ()))
        for effect in effects:
            struck = CHAOS_EFFECTS[effect][0]
            for at in list(tools if tools is not None else used) if struck == "tool" else ["*"]:
                cases.append(_struck(case, effect, struck, at, field))
    return replace(evalset, name=f"{evalset.name} under chaos", cases=tuple(cases))


def _struck(case: EvalCase, effect: str, struck: str, at: str, field: str) -> EvalCase:
    what: dict[str, Any] = {f"{struck}_effects": {at: [{"effect_type": effect}]}}
    happens = CHAOS_EFFECTS[effect][1]
    return replace(
        case,
        id=f"{case.id}|{effect}" + (f"|{at}" if at != "*" else ""),
        turns=tuple(
            replace(
                turn,
                payload={**(turn.payload or {"prompt": turn.prompt}), field: what},
                expected_answer=None,
                expected_texts=(),
            )
            for turn in case.turns
        ),
        rubrics=(
            *case.rubrics,
            Rubric(
                text=f"{happens} The answer says plainly what could not be done, and states nothing as a fact that "
                "the agent did not find out.",
                id="chaos",
            ),
        ),
        tags=(*case.tags, "chaos", effect),
        final_state=None,
        metadata={**case.metadata, "chaos": {"effect": effect, "on": at, "of": case.id}},
    )
