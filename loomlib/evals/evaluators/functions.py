"""A function of one's own as an evaluator."""

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
from ..values.evaluator import LEVELS, NotApplicable, Score
from ..values.judge_error import JudgeFailedError

_PLAIN: Final = (str, int, float, bool, bytes, type(None))


@dataclass(frozen=True, kw_only=True)
class FunctionEvaluator:
    """Judges with `function(answer_text, case)`, `function(answer_text)`, or one that names its parameter `answer:
    CaseAnswer`, plain or async.

    It returns a bool, a number, a `Score`, a `NotApplicable`, or Scores of parts; anything else, and raising, is a
    failure to judge. `threshold` is the least number that passes. Its digest is made of its code, its defaults and the
    plain values that it has captured, not of the functions that it calls: give `version` another value when those
    change.
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
            raise ValueError(f"a level is one of {', '.join(LEVELS)}, not {self.level!r}")

    @property
    def digest(self) -> str:
        """Of the function's code, defaults and captured plain values, the bar and the version."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return digest_of("function", _words(self.function), self.threshold, self.version)

    @cached_property
    def _takes(self) -> tuple[int, bool]:
        """How many parameters it takes, and whether the first wants all that the agent answered."""
        signature = inspect.signature(self.function, eval_str=False)
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        found = [each for each in signature.parameters.values() if each.kind in positional]
        if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in signature.parameters.values()):
            return 2, False
        first = found[0].annotation if found else ""
        return min(len(found), 2), getattr(first, "__name__", str(first)).strip("'\"").endswith("CaseAnswer")

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Any:
        """What the function says, as a verdict; an awaitable of it for an async one."""
        count, whole = self._takes
        given = (answer if whole else answer.text, case)[:count]
        found = self.function(*given)
        return self._awaited(found) if inspect.isawaitable(found) else self._verdict(found)

    async def _awaited(self, found: Any) -> Any:
        return self._verdict(await found)

    def _verdict(self, found: Any) -> object:
        if hasattr(found, "item") and getattr(found, "ndim", 1) == 0:
            found = found.item()  # a scalar of NumPy's
        if isinstance(found, (bool, Score, NotApplicable, CaseFailure)):
            return found
        if isinstance(found, (int, float)):
            value = float(found)
            if value - value != 0:
                raise JudgeFailedError(f"{self.name} returned {value}", kind="malformed", try_="a finite number")
            return Score(value=value, passed=None if self.threshold is None else value >= self.threshold)
        if isinstance(found, (list, tuple)):
            parts = cast("Sequence[object]", found)
            if all(isinstance(each, Score) for each in parts):
                return parts
        said = type(cast("object", found)).__name__
        raise JudgeFailedError(
            f"{self.name} returned {said}", kind="malformed", try_="return a bool, a number or a Score"
        )


def _words(value: object, depth: int = 0) -> Any:
    """What of a function its verdict depends on, the same in every process."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if depth > 8:
        return type(value).__qualname__
    if isinstance(value, types.CodeType):
        consts = [_words(each, depth + 1) for each in value.co_consts]
        return [value.co_code.hex(), consts, list(value.co_names), list(value.co_varnames)]
    if isinstance(value, (tuple, list)):
        return [_words(each, depth + 1) for each in cast("Sequence[object]", value)]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(each) for each in cast("frozenset[object]", value))
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return sorted([repr(key), repr(_words(each, depth + 1))] for key, each in items)
    if isinstance(value, partial):
        made = cast("partial[Any]", value)
        return [_words(part, depth + 1) for part in (made.func, made.args, made.keywords)]
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, types.MethodType):
        return [
            _words(value.__func__, depth + 1),
            _words(vars(value.__self__), depth + 1) if hasattr(value.__self__, "__dict__") else "",
        ]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        inside = [value.__code__, value.__defaults__, value.__kwdefaults__, cells]
        return [_words(part, depth + 1) for part in inside]
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    call = vars(type(value)).get("__call__")
    if isinstance(call, types.FunctionType):
        return [kind, _words(call, depth + 1), _words(getattr(value, "__dict__", {}), depth + 1)]
    return kind


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
