"""The answer as JSON, field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, cast

from ..matching.assignment import assign
from ..matching.matchers import ABSENT, json_equal, matcher
from ..matching.tool_matching import printable
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .texts import shown
from .turn_by_turn import PASSED, AnswerJudgement

_FENCE: Final = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL)
_START: Final = re.compile(r"[{\[]")
_MOST_STARTS: Final = 64
_MOST_FIELDS: Final = 10_000
_MOST_TOLD: Final = 200
_NOTHING: Final = object()


@dataclass(frozen=True, kw_only=True)
class Structured(AnswerJudgement):
    """The share of fields with the right value, of those that are expected and (unless `extra`) those that came along.

    Both answers are JSON; the agent's may lie within words or a code fence. `fields` names matchers
    (`loomlib.evals.matching.matchers`) for fields by path ("order.date", "items[0].price", or "items[].price" for all
    of a list); `ordered=False` compares lists as sets with repetition.
    """

    VERSION: ClassVar[int] = 2
    NOTHING: ClassVar[NotApplicable] = NotApplicable("the expected answer is no JSON")

    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    extra: bool = False
    ordered: bool = True

    def __post_init__(self) -> None:
        for spec in self.fields.values():
            matcher(spec)

    def compare(self, expected: str, answer: str) -> Score | None:
        """Each field's verdict is in the details, by its path. Of too many fields: `JudgeFailedError` ("too_large")."""
        wanted = _parsed(expected)
        if wanted is _NOTHING:
            return None
        given = json_in(answer)
        if given is _NOTHING:
            return self.score(0.0, f"the answer holds no JSON: {shown(answer)}")
        verdicts: dict[str, bool] = {}
        self._compare(wanted, given, "", verdicts)
        right = sum(verdicts.values())
        told = sorted(verdicts.items(), key=lambda pair: pair[1])[:_MOST_TOLD]
        details = {"fields": {printable(path): fits for path, fits in told}}
        if right == len(verdicts):
            return self.score(1.0, details=details) if verdicts else PASSED
        wrong = ", ".join(shown(path, 40) for path, fits in told[:10] if not fits)
        return self.score(right / len(verdicts), f"not as expected: {wrong}", details=details)

    def _compare(self, wanted: Any, given: Any, where: str, verdicts: dict[str, bool]) -> None:
        waiting: list[tuple[Any, Any, str]] = [(wanted, given, where)]
        while waiting:
            one, other, path = waiting.pop()
            spec = self.fields.get(path) or self.fields.get(re.sub(r"\[\d+\]", "[]", path))
            if spec is not None:
                if spec != "ignore":
                    verdicts[path or "$"] = matcher(spec)(one, other)
            elif isinstance(one, Mapping) and isinstance(other, Mapping) and (one or other):
                waiting.extend(self._of_mapping(cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other), path))
            elif isinstance(one, list) and isinstance(other, list) and (one or other):
                waiting.extend(self._of_list(cast("list[Any]", one), cast("list[Any]", other), path))
            elif one is ABSENT:
                if not self.extra:
                    verdicts[path] = False
            elif isinstance(one, (Mapping, list)) and one and other is ABSENT:
                waiting.extend(_inside(cast("Any", one), path))
            else:
                verdicts[path or "$"] = other is not ABSENT and json_equal(cast("object", one), cast("object", other))
            if len(verdicts) > _MOST_FIELDS:
                raise JudgeFailedError(f"There are more than {_MOST_FIELDS:,} fields to compare", kind="too_large")

    def _of_mapping(self, one: Mapping[str, Any], other: Mapping[str, Any], path: str) -> list[tuple[Any, Any, str]]:
        keys = [*one, *(key for key in other if key not in one)]
        prefix = f"{path}." if path else ""
        return [(one.get(key, ABSENT), other.get(key, ABSENT), f"{prefix}{key}") for key in reversed(keys)]

    def _of_list(self, one: list[Any], other: list[Any], path: str) -> list[tuple[Any, Any, str]]:
        if not self.ordered and max(len(one), len(other)) <= 500:
            met = assign(len(one), len(other), lambda i, j: json_equal(one[i], other[j]))
            left = [each for place, each in enumerate(other) if place not in set(met.values())]
            pairs = [
                (each, other[met[place]] if place in met else left.pop(0) if left else ABSENT)
                for place, each in enumerate(one)
            ]
            pairs += [(ABSENT, each) for each in left]
        else:
            longest = max(len(one), len(other))
            pairs = [
                (one[i] if i < len(one) else ABSENT, other[i] if i < len(other) else ABSENT) for i in range(longest)
            ]
        return [(a, b, f"{path}[{place}]") for place, (a, b) in reversed(list(enumerate(pairs)))]


def _inside(value: Any, path: str) -> list[tuple[Any, Any, str]]:
    """All that is missing is missing field by field, so that a lost object costs as much as its fields."""
    if isinstance(value, Mapping):
        prefix = f"{path}." if path else ""
        return [(each, ABSENT, f"{prefix}{key}") for key, each in cast("Mapping[str, Any]", value).items()]
    return [(each, ABSENT, f"{path}[{place}]") for place, each in enumerate(cast("list[Any]", value))]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOTHING


def json_in(text: str) -> Any:
    """The JSON value that a text is, or that lies in its code fence or among its words (then the largest)."""
    whole = _parsed(text.strip())
    if whole is not _NOTHING:
        return whole
    for match in _FENCE.finditer(text):
        found = _parsed(match.group(1))
        if found is not _NOTHING:
            return found
    best: Any = _NOTHING
    longest = tried = end = 0
    for match in _START.finditer(text):
        if match.start() < end:
            continue
        tried += 1
        if tried > _MOST_STARTS:
            break
        try:
            value, end = json.JSONDecoder().raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if end - match.start() > longest:
            best, longest = value, end - match.start()
    return best
