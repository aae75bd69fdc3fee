"""ADK's `test_config.json`: the criteria of an eval set as evaluators, and back.

| criterion | evaluator |
|---|---|
| `tool_trajectory_avg_score` | `trajectory` with `match` (EXACT, IN_ORDER, ANY_ORDER) and `arguments` |
| `response_match_score` | `rouge1` |
| any other | `adk:<criterion>` with the criterion's own options (see `loomlib.evals.judges.adk`) |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ..values.cases import EvaluatorChoice
from .adk_parts import both
from .fields import Fields
from .json_text import dump
from .plain import plain
from .problems import Path, Problems, display_value

FILE_NAME: Final = "test_config.json"
_PREFIX: Final = "adk:"
_TRAJECTORY: Final = "tool_trajectory_avg_score"
_RESPONSE: Final = "response_match_score"
_WITH_TEXTS: Final = both("include_intermediate_responses_in_final")
MATCH_TYPES: Final = ("EXACT", "IN_ORDER", "ANY_ORDER")


def read_config(document: object, problems: Problems) -> tuple[tuple[EvaluatorChoice, ...], dict[str, Any]]:
    """Return the evaluators and the rest of the file (custom metrics, the user simulator)."""
    fields = Fields(document, (), problems)
    criteria, name = fields.take("criteria")
    choices: list[EvaluatorChoice] = []
    values = Fields({} if criteria is None else criteria, (name,), problems, what="criteria")
    for metric, value in values.values.items():
        choices.append(_choice(metric, value, (name, metric), problems))
    extras = {key: fields.mapping(*both(key)) for key in ("custom_metrics", "user_simulator_config")}
    rest: dict[str, Any] = fields.plain(fields.rest(), ()) or {}
    return tuple(choices), {key: entry for key, entry in {**rest, **extras}.items() if entry}


def _choice(metric: str, value: object, path: Path, problems: Problems) -> EvaluatorChoice:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        threshold: float | None = value
        options: dict[str, Any] = {}
    else:
        fields = Fields(value, path, problems, what="a threshold, or")
        threshold = fields.number("threshold")
        options = fields.plain(fields.rest(), path) or {}
        for key in _WITH_TEXTS:
            if options.get(key) is False:  # which is what ADK does without it
                del options[key]
    if metric == _TRAJECTORY:
        return EvaluatorChoice(name="trajectory", options=_matching(options, path, problems), threshold=threshold)
    name = "rouge1" if metric == _RESPONSE and not options else _PREFIX + metric
    return EvaluatorChoice(name=name, options=options, threshold=threshold)


def _matching(options: Mapping[str, Any], path: Path, problems: Problems) -> dict[str, Any]:
    """Return ADK's match type (by name or number) and `ignore_args` as options of `trajectory`."""
    fields = Fields(options, path, problems)
    match, name = fields.take(*both("match_type"))
    ignore, ignore_name = fields.take(*both("ignore_args"))
    settings = dict(fields.rest())
    if isinstance(match, int) and not isinstance(match, bool) and 0 <= match < len(MATCH_TYPES):
        match = MATCH_TYPES[match]
    if isinstance(match, str) and match.upper() in MATCH_TYPES:
        settings["match"] = match.upper()
    elif match is not None:
        fields.wrong(name, f"this is {display_value(match)}", f"put one of {', '.join(MATCH_TYPES)} here")
    if isinstance(ignore, bool):
        settings["arguments"] = not ignore
    elif ignore is not None:
        fields.wrong(ignore_name, f"this is {display_value(ignore)}", "put true or false here")
    return settings


def write_text(evaluators: tuple[EvaluatorChoice, ...], extras: Mapping[str, Any]) -> str | None:
    """Return the file's text, None when it would be empty. What ADK cannot express is left out."""
    criteria: dict[str, Any] = {}
    for choice in evaluators:
        metric, options = _criterion(choice)
        if metric is None or metric in criteria:
            continue
        threshold = 1.0 if choice.threshold is None else choice.threshold
        criteria[metric] = {"threshold": threshold, **options} if options else threshold
    more = {
        key: extras[key] for key in ("custom_metrics", "user_simulator_config") if isinstance(extras.get(key), dict)
    }
    return dump({"criteria": criteria, **more}, indent=2) + "\n" if criteria or more else None


def _criterion(choice: EvaluatorChoice) -> tuple[str | None, dict[str, Any]]:
    options = cast("dict[str, Any]", plain(choice.options))
    if choice.name == "trajectory":
        criterion: dict[str, Any] = {}
        if "match" in options:
            criterion["match_type"] = options["match"]
        if "arguments" in options:
            criterion["ignore_args"] = not options["arguments"]
        is_sayable = options.keys() <= {"match", "arguments"} and options.get("match", "EXACT") in MATCH_TYPES
        return (_TRAJECTORY if is_sayable and isinstance(options.get("arguments", True), bool) else None), criterion
    if choice.name == "rouge1":
        return (None if options else _RESPONSE), {}
    if choice.name.startswith(_PREFIX) and "threshold" not in options:
        return choice.name.removeprefix(_PREFIX) or None, options
    return None, {}
