"""Evaluators by name: Loom's own, the judges, and those that plugins give; and functions as evaluators.

A plugin's evaluator takes ten lines, hook and all:

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
    """All evaluators that there are: `evaluator_plugins().names("evaluators")`."""
    return find_plugins("evaluators")


def make_evaluator(choice: Choice, *, plugins: Plugins | None = None) -> Evaluator:
    """The evaluator that `choice` means.

    A name ("exact"), a name with its first option ("trajectory:any_order", "contains:shipped"), or with options as
    Python writes them ("rouge1(threshold=0.8)", "contains(texts=['a', 'b'])"); an `EvaluatorChoice`; a function
    `(answer_text, case) -> bool | float | Score`, plain or async; or an evaluator, which is given back as it is.

    Raises `PluginError` for a name that nobody gives, `ValueError` for options that an evaluator does not have.
    """
    if isinstance(choice, str):
        return _named(choice, {}, None, plugins)
    if isinstance(choice, EvaluatorChoice):
        return _named(choice.name, choice.options, choice.threshold, plugins)
    if isinstance(choice, Evaluator) and not isinstance(choice, type):
        return choice
    if callable(choice) and not isinstance(choice, type):
        return FunctionEvaluator(function=choice, name=name_of(choice))
    raise TypeError(
        f"an evaluator is a name, an EvaluatorChoice, a function or an object with name, level, digest, needs_tools, "
        f"is_quick and judge, not {choice!r}"
    )


def name_of(function: object) -> str:
    """A function's name as a column's name."""
    name = str(getattr(function, "__name__", type(function).__name__))
    return "function" if name == "<lambda>" else name


def _named(said: str, options: Mapping[str, Any], threshold: float | None, plugins: Plugins | None) -> Evaluator:
    readings = _readings(said)
    found = next(((name, inside, own) for name, inside in readings if (own := _own(name)) is not None), None)
    if found is None:
        plugins = plugins or evaluator_plugins()
        names = plugins.names("evaluators")
        found = next(((n, inside, plugins.entry("evaluators", n)) for n, inside in readings if n in names), None)
        if found is None:
            if said.startswith("adk:"):
                from .judges.adk import unknown

                raise unknown(said.partition("(")[0].strip().removeprefix("adk:"))
            return plugins.get("evaluators", said)  # raises, naming what is near
    name, inside, given = found
    chosen = dict(options) | _with_first(inside, given)
    if threshold is not None:
        chosen["threshold"] = threshold
    return _made(name, given, chosen, plugins)


def _own(name: str) -> Callable[..., Any] | None:
    """Built-in names win over plugins' in any case, so that plugins need not be looked for."""
    own = EVALUATOR_FACTORIES.get(name) or STRANDS_FACTORIES.get(name)
    if own is None and name.partition(":")[0] in ("judge", "agentcore", "strands", "rubric", "adk"):
        from .judges.factories import JUDGE_FACTORIES

        # strands_evals writes its class's name into an experiment.
        own = JUDGE_FACTORIES.get(name)
        if own is None and _STRANDS in name:
            own = JUDGE_FACTORIES.get(name.removesuffix("Evaluator"))
    return own


def _readings(said: str) -> list[tuple[str, dict[str, Any]]]:
    """The ways to read a choice: as a name, as name(options), as name:first option. "" stands for the first option."""
    said = said.strip()
    found: list[tuple[str, dict[str, Any]]] = [(said, {})]
    head, bracket, rest = said.partition("(")
    if bracket and rest.endswith(")") and (options := _literals(rest[:-1])) is not None:
        found.append((head.strip(), options))
        name, colon, first = head.strip().partition(":")
        if colon and "" not in options:
            found.append((name, {"": first, **options}))
    name, colon, first = said.partition(":")
    if colon:
        found.append((name.strip(), {"": first.strip()}))
    return found


def _literals(text: str) -> dict[str, Any] | None:
    """`a=1, b="x"` as a dict; one value alone is the first option. None when it is nothing of the kind."""
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or len(call.args) > 1 or any(each.arg is None for each in call.keywords):
            return None
        found = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        return {"": ast.literal_eval(call.args[0]), **found} if call.args else found
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _with_first(options: Mapping[str, Any], given: object) -> dict[str, Any]:
    """The options with the unnamed one under its name."""
    if "" not in options:
        return dict(options)
    if isinstance(given, EvaluatorFactory):
        first = given.first
    else:
        first = next(iter(inspect.signature(cast("Callable[..., Any]", given)).parameters), "")
    if not first:
        raise ValueError(f"this evaluator has no first option: {options['']!r}")
    return {first: options[""], **{key: value for key, value in options.items() if key}}


def _made(name: str, given: object, options: Mapping[str, Any], plugins: Plugins | None) -> Evaluator:
    if isinstance(given, EvaluatorFactory):
        return cast("Evaluator", given(**{"name": _column(name, options, given), **options}))
    make = cast("Callable[..., Any]", given)
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
        made = plugins.get("evaluators", name, **options)
    else:
        try:
            made = make(**options)
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from error
    if isinstance(made, Evaluator) and not isinstance(made, type):
        return made
    if callable(made):
        return FunctionEvaluator(function=made, name=name, threshold=threshold)
    wrong = f"an evaluator or a function was expected, not {type(made).__name__}"
    raise PluginError(wrong, on=name) if plugins is None else plugins.report("evaluators", name, wrong)


def _is_judging(signature: inspect.Signature, options: Mapping[str, Any]) -> bool:
    """Whether this is the evaluator itself: a function with parameters that no option fills."""
    return any(
        each.default is inspect.Parameter.empty
        and each.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        and each.name not in options
        for each in signature.parameters.values()
    )


def _takes(signature: inspect.Signature, name: str) -> bool:
    kinds = [each.kind for each in signature.parameters.values()]
    return name in signature.parameters or inspect.Parameter.VAR_KEYWORD in kinds


def _column(name: str, options: Mapping[str, Any], maker: EvaluatorFactory) -> str:
    """What the column is called: the same for the same options, whatever the bar."""
    told = {key: value for key, value in sorted(options.items()) if key not in ("threshold", "name")}
    if not told:
        return name
    if list(told) == [maker.first] and isinstance(told[maker.first], (str, int, float)):
        column = f"{name}:{str(told[maker.first]).lower() if maker.first == 'match' else told[maker.first]}"
    else:
        column = f"{name}({', '.join(f'{key}={value!r}' for key, value in told.items())})"
    return column if len(column) <= _LONGEST_NAME else f"{column[: _LONGEST_NAME - 1]}…"


@hookimpl
def loom_evaluators() -> dict[str, Callable[..., Any]]:
    """Return the evaluators and judges of this package."""
    from .judges.factories import JUDGE_FACTORIES

    return {**EVALUATOR_FACTORIES, **STRANDS_FACTORIES, **JUDGE_FACTORIES}
