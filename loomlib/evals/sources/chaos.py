"""Failure injection: the same cases while tools or the model fail, with strands_evals' chaos effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..values.cases import EvalCase, Rubric
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
"""strands_evals' effects by type: the affected part (tool or model), and what happens."""


def chaos_set(
    evalset: EvalSet,
    effects: Sequence[str] = ("timeout", "execution_error"),
    *,
    tools: Sequence[str] | None = None,
    baseline: bool = True,
    field: str = "chaos",
) -> EvalSet:
    """Return each case once under each effect.

    The effects are sent in each turn's payload, in the form of `ChaosCase(effects=…)`; the agent applies them:

        from strands_evals.chaos import ChaosCase, ChaosPlugin
        from strands_evals.chaos._context import _current_chaos_case

        agent = Agent(tools=[...], plugins=[ChaosPlugin()])

        @app.entrypoint
        def answer(payload):
            case = ChaosCase(name="chaos", input=payload["prompt"], effects=payload.get("chaos") or {})
            _current_chaos_case.set(case)
            return str(agent(payload["prompt"]))

    A case passes when the answer says what could not be done and invents nothing (a rubric). The expected tools are
    kept, the expected answer is removed. An agent without the plugin ignores the effects, so compare with the baseline.

    Args:
        evalset: The set.
        effects: Names of `CHAOS_EFFECTS`.
        tools: The tools that fail; None uses those that the case expects.
        baseline: Whether to include each case without effects, tagged "baseline".
        field: The field of the payload with the effects.

    Raises:
        ValueError: There is no such effect.
    """
    unknown = [effect for effect in effects if effect not in CHAOS_EFFECTS]
    if unknown:
        raise ValueError(f"The effects are {', '.join(CHAOS_EFFECTS)}, not {', '.join(unknown)}")
    cases: list[EvalCase] = []
    for case in evalset.cases:
        if not case.turns:
            continue
        if baseline:
            cases.append(replace(case, tags=(*case.tags, "baseline")))
        used = list(dict.fromkeys(tool.name for tool in case.expected_tools or ()))
        for effect in effects:
            affected = CHAOS_EFFECTS[effect][0]
            for at in list(tools if tools is not None else used) if affected == "tool" else ["*"]:
                cases.append(_with_effect(case, effect, affected, at, field))
    return replace(evalset, name=f"{evalset.name} under chaos", cases=tuple(cases))


def _with_effect(case: EvalCase, effect: str, affected: str, at: str, field: str) -> EvalCase:
    effects: dict[str, Any] = {f"{affected}_effects": {at: [{"effect_type": effect}]}}
    description = CHAOS_EFFECTS[effect][1]
    return replace(
        case,
        id=f"{case.id}|{effect}" + (f"|{at}" if at != "*" else ""),
        turns=tuple(
            replace(
                turn,
                payload={**(turn.payload or {"prompt": turn.prompt}), field: effects},
                expected_answer=None,
                expected_texts=(),
            )
            for turn in case.turns
        ),
        rubrics=(
            *case.rubrics,
            Rubric(
                text=f"{description} The answer says plainly what could not be done, and states nothing as a fact that "
                "the agent did not find out.",
                id="chaos",
            ),
        ),
        tags=(*case.tags, "chaos", effect),
        final_state=None,
        metadata={**case.metadata, "chaos": {"effect": effect, "on": at, "of": case.id}},
    )
