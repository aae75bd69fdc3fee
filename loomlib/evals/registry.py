"""Evaluators by name: Loom's own, judges, and evaluators of plugins; and functions as evaluators.

A plugin's evaluator takes ten lines, including the hook:

    from loomlib.plugins import hookimpl

    def polite(answer, case):
        return "please" in answer.lower()

    @hookimpl
    def loom_evaluators():
        return {"polite": polite}          # or {"polite": make_polite}, a factory that takes options
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from loomlib.errors import PluginError
from loomlib.plugins import Plugins, find_plugins, hookimpl

from .evaluators.factories import EVALUATOR_FACTORIES, STRANDS_FACTORIES, EvaluatorFactory
from .evaluators.functions import FunctionEvaluator
from .values.cases import EvaluatorChoice
from .values.evaluator import Evaluator

Choice: TypeAlias = "str | EvaluatorChoice | Evaluator | Callable[..., Any]"

_LONGEST_NAME: Final = 120
_STRANDS: Final = "strands:"


def evaluator_plugins() -> Plugins:
    """Load all evaluators, as in `evaluator_plugins().names("evaluators")`."""
    return find_plugins("evaluators")


def make_evaluator(choice: Choice, *, plugins: Plugins | None = None) -> Evaluator:
    """Create an evaluator.

    Args:
        choice: A name ("exact"); a name with its first option ("trajectory:any_order", "contains:shipped") or with
            options in Python notation ("rouge1(threshold=0.8)", "contains(texts=['a', 'b'])"); an `EvaluatorChoice`; a
            function `(answer_text, case) -> bool | float | Score`, plain or async; or an evaluator, which is returned
            unchanged.
        plugins: Plugins that are already loaded.

    Raises:
        PluginError: There is no evaluator with this name.
        ValueError: The evaluator has no such option.
    """
    if isinstance(choice, str):
        return _evaluator_of(choice, {}, None, plugins)
    if isinstance(choice, EvaluatorChoice):
        return _evaluator_of(choice.name, choice.options, choice.threshold, plugins)
    if isinstance(choice, Evaluator) and not isinstance(choice, type):
        return choice
    if callable(choice) and not isinstance(choice, type):
        return FunctionEvaluator(function=choice, name=name_of(choice))
    raise TypeError(
        f"an evaluator must be a name, an EvaluatorChoice, a function, or an object with name, level, digest, "
        f"needs_tools, is_quick and judge, not {choice!r}"
    )


def name_of(function: object) -> str:
    """Return a function's name as a column name."""
    name = str(getattr(function, "__name__", type(function).__name__))
    return "function" if name == "<lambda>" else name


def _evaluator_of(text: str, options: Mapping[str, Any], threshold: float | None, plugins: Plugins | None) -> Evaluator:
    readings = _readings(text)
    match = next(((name, inside, own) for name, inside in readings if (own := _own(name)) is not None), None)
    if match is None:
        plugins = plugins or evaluator_plugins()
        names = plugins.names("evaluators")
        match = next(((n, inside, plugins.entry("evaluators", n)) for n, inside in readings if n in names), None)
        if match is None:
            if text.startswith("adk:"):
                from .judges.adk import unknown

                raise unknown(text.partition("(")[0].strip().removeprefix("adk:"))
            return plugins.get("evaluators", text)  # raises, and suggests similar names
    name, inside, provided = match
    chosen = dict(options) | _with_first(inside, provided)
    if threshold is not None:
        chosen["threshold"] = threshold
    return _create(name, provided, chosen, plugins)


def _own(name: str) -> Callable[..., Any] | None:
    """Return a built-in factory. Built-in names take precedence, so plugins are loaded only for other names."""
    own = EVALUATOR_FACTORIES.get(name) or STRANDS_FACTORIES.get(name)
    if own is None and name.partition(":")[0] in ("judge", "agentcore", "strands", "rubric", "adk"):
        from .judges.factories import JUDGE_FACTORIES

        # strands_evals writes the class name into an experiment.
        own = JUDGE_FACTORIES.get(name)
        if own is None and _STRANDS in name:
            own = JUDGE_FACTORIES.get(name.removesuffix("Evaluator"))
    return own


def _readings(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the ways to read a choice: a name, name(options), name:first option; "" is the key of the first option."""
    text = text.strip()
    readings: list[tuple[str, dict[str, Any]]] = [(text, {})]
    head, bracket, rest = text.partition("(")
    if bracket and rest.endswith(")") and (options := _literals(rest[:-1])) is not None:
        readings.append((head.strip(), options))
        name, colon, first = head.strip().partition(":")
        if colon and "" not in options:
            readings.append((name, {"": first, **options}))
    name, colon, first = text.partition(":")
    if colon:
        readings.append((name.strip(), {"": first.strip()}))
    return readings


def _literals(text: str) -> dict[str, Any] | None:
    """Parse `a=1, b="x"` into a dict; a single value is the first option. None when it cannot be parsed."""
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if (
            not isinstance(call, ast.Call)
            or len(call.args) > 1
            or any(keyword.arg is None for keyword in call.keywords)
        ):
            return None
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        return {"": ast.literal_eval(call.args[0]), **options} if call.args else options
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _with_first(options: Mapping[str, Any], factory: object) -> dict[str, Any]:
    """Return the options with the first option under its name."""
    if "" not in options:
        return dict(options)
    if isinstance(factory, EvaluatorFactory):
        first = factory.first
    else:
        first = next(iter(inspect.signature(cast("Callable[..., Any]", factory)).parameters), "")
    if not first:
        raise ValueError(f"this evaluator takes no first option: {options['']!r}")
    return {first: options[""], **{key: value for key, value in options.items() if key}}


def _create(name: str, entry: object, options: Mapping[str, Any], plugins: Plugins | None) -> Evaluator:
    if isinstance(entry, EvaluatorFactory):
        return cast("Evaluator", entry(**{"name": _column(name, options, entry), **options}))
    make = cast("Callable[..., Any]", entry)
    is_own = _own(name) is not None
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):
        signature = None
    threshold = options.get("threshold")
    if signature is not None and not is_own:
        if _is_judging(signature, options):
            return FunctionEvaluator(function=make, name=name, threshold=threshold)
        if threshold is not None and not _takes(signature, "threshold"):
            options = {key: value for key, value in options.items() if key != "threshold"}
    if plugins is not None and not is_own:
        result = plugins.get("evaluators", name, **options)
    else:
        try:
            result = make(**options)
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from error
    if isinstance(result, Evaluator) and not isinstance(result, type):
        return result
    if callable(result):
        return FunctionEvaluator(function=result, name=name, threshold=threshold)
    problem = f"expected an evaluator or a function, not {type(result).__name__}"
    raise PluginError(problem, on=name) if plugins is None else plugins.report("evaluators", name, problem)


def _is_judging(signature: inspect.Signature, options: Mapping[str, Any]) -> bool:
    """Return whether a function is the evaluator itself: it has required parameters that no option sets."""
    return any(
        value.default is inspect.Parameter.empty
        and value.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        and value.name not in options
        for value in signature.parameters.values()
    )


def _takes(signature: inspect.Signature, name: str) -> bool:
    kinds = [value.kind for value in signature.parameters.values()]
    return name in signature.parameters or inspect.Parameter.VAR_KEYWORD in kinds


def _column(name: str, options: Mapping[str, Any], maker: EvaluatorFactory) -> str:
    """Return the column name: the same for the same options, whatever the threshold."""
    column_options = {key: value for key, value in sorted(options.items()) if key not in ("threshold", "name")}
    if not column_options:
        return name
    first_value = column_options.get(maker.first)
    if len(column_options) == 1 and isinstance(first_value, (str, int, float)):
        column = f"{name}:{str(first_value).lower() if maker.first == 'match' else first_value}"
    else:
        column = f"{name}({', '.join(f'{key}={value!r}' for key, value in column_options.items())})"
    return column if len(column) <= _LONGEST_NAME else f"{column[: _LONGEST_NAME - 1]}…"


@hookimpl
def loom_evaluators() -> dict[str, Callable[..., Any]]:
    """Return the factories of all built-in evaluators and judges by name."""
    from .judges.factories import JUDGE_FACTORIES

    return {**EVALUATOR_FACTORIES, **STRANDS_FACTORIES, **JUDGE_FACTORIES}
