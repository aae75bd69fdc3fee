"""A user's function as an evaluator."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, cast

from ..values.answers import CaseAnswer, CaseFailure
from ..values.cases import EvalCase
from ..values.digests import digest_of
from ..values.evaluator import LEVELS, NotApplicable, Score, reaches
from ..values.judge_error import JudgeFailedError

_PLAIN: Final = (str, int, float, bool, bytes, type(None))


@dataclass(frozen=True, kw_only=True)
class FunctionEvaluator:
    """Judges with a function, plain or async.

    The function takes `(answer_text, case)`, `(answer_text)`, or the whole answer in a parameter annotated
    `CaseAnswer`. It returns a bool, a number, a `Score`, a `NotApplicable`, or scores of parts; anything else, or an
    exception, is recorded as a failure to judge.

    Attributes:
        function: The function.
        name: Name of the score column.
        level: What it judges, one of `LEVELS`.
        threshold: Minimum number that passes, None for a score without a threshold.
        needs_tools: Whether the function needs the trajectory.
        is_quick: Whether the function may run in the event loop's thread.
        version: Part of the digest. The digest covers the function's code, defaults and captured plain values, but not
            the functions it calls: set another version when those change.

    Examples:
        >>> FunctionEvaluator(function=lambda answer: len(answer) < 200, name="short")
    """

    function: Callable[..., Any]
    name: str
    level: str = "answer"
    threshold: float | None = None
    needs_tools: bool = False
    is_quick: bool = False
    version: str = ""

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {self.level!r}")

    @property
    def digest(self) -> str:
        """Hash of the function's code, defaults, captured plain values, threshold and version."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return digest_of("function", _plain(self.function), self.threshold, self.version)

    @cached_property
    def _takes(self) -> tuple[int, bool]:
        """Return how many parameters to pass, and whether the first takes the whole answer."""
        signature = inspect.signature(self.function, eval_str=False)
        positional_kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = signature.parameters.values()
        if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
            return 2, False
        positional = [parameter for parameter in parameters if parameter.kind in positional_kinds]
        first = positional[0].annotation if positional else ""
        return min(len(positional), 2), getattr(first, "__name__", str(first)).strip("'\"").endswith("CaseAnswer")

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Any:
        """Return the function's verdict, or an awaitable of it for an async function."""
        count, whole = self._takes
        arguments = (answer if whole else answer.text, case)[:count]
        verdict = self.function(*arguments)
        return self._awaited(verdict) if inspect.isawaitable(verdict) else self._verdict(verdict)

    async def _awaited(self, verdict: Any) -> Any:
        return self._verdict(await verdict)

    def _verdict(self, verdict: Any) -> object:
        if hasattr(verdict, "item") and getattr(verdict, "ndim", 1) == 0:
            verdict = verdict.item()  # a NumPy scalar
        if isinstance(verdict, (bool, Score, NotApplicable, CaseFailure)):
            return verdict
        if isinstance(verdict, (int, float)):
            value = float(verdict)
            if value - value != 0:
                raise JudgeFailedError(f"{self.name} returned {value}", kind="malformed", try_="return a finite number")
            return Score(value=value, passed=None if self.threshold is None else reaches(value, self.threshold))
        if isinstance(verdict, (list, tuple)):
            parts = cast("Sequence[object]", verdict)
            if all(isinstance(part, Score) for part in parts):
                return parts
        kind = type(cast("object", verdict)).__name__
        raise JudgeFailedError(
            f"{self.name} returned {kind}", kind="malformed", try_="return a bool, a number or a Score"
        )


def _plain(value: object, depth: int = 0) -> Any:
    """Return the values that a function's verdict depends on, in a form that is equal in every process."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if depth > 8:
        return type(value).__qualname__
    if isinstance(value, types.CodeType):
        consts = [_plain(item, depth + 1) for item in value.co_consts]
        return [value.co_code.hex(), consts, list(value.co_names), list(value.co_varnames)]
    if isinstance(value, (tuple, list)):
        return [_plain(item, depth + 1) for item in cast("Sequence[object]", value)]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(item) for item in cast("frozenset[object]", value))
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return sorted([repr(key), repr(_plain(item, depth + 1))] for key, item in items)
    if isinstance(value, partial):
        partial_call = cast("partial[Any]", value)
        return [_plain(part, depth + 1) for part in (partial_call.func, partial_call.args, partial_call.keywords)]
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, types.MethodType):
        return [
            _plain(value.__func__, depth + 1),
            _plain(vars(value.__self__), depth + 1) if hasattr(value.__self__, "__dict__") else "",
        ]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        inside = [value.__code__, value.__defaults__, value.__kwdefaults__, cells]
        return [_plain(part, depth + 1) for part in inside]
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    call = vars(type(value)).get("__call__")
    if isinstance(call, types.FunctionType):
        return [kind, _plain(call, depth + 1), _plain(getattr(value, "__dict__", {}), depth + 1)]
    return kind


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
