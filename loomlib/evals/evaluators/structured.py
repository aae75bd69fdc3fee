"""Compare JSON answers field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, cast

from loomlib.presentation.formats import number

from ..matching.assignment import assign
from ..matching.matchers import ABSENT, json_equal, matcher, needs_expected
from ..matching.tool_matching import printable
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .texts import quoted_text
from .turn_by_turn import AnswerEvaluator

_FENCE: Final = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL)
_START: Final = re.compile(r"[{\[]")
_MOST_STARTS: Final = 64
_MOST_FIELDS: Final = 10_000
_MOST_DETAILS: Final = 200
_NOTHING: Final = object()


@dataclass(frozen=True, kw_only=True)
class Structured(AnswerEvaluator):
    """Share of the JSON fields that have the right value; unexpected fields count as wrong unless `extra`.

    Both answers are JSON; the agent's may be surrounded by prose or in a code fence.

    Attributes:
        fields: Matchers (`loomlib.evals.matching.matchers`) by field path, such as "order.date", "items[0].price", or
            "items[].price" for all items of a list.
        extra: Whether fields that are not expected are allowed.
        ordered: False to compare lists as multisets.
    """

    VERSION: ClassVar[int] = 2
    NOTHING: ClassVar[NotApplicable] = NotApplicable("the expected answer is not JSON")

    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    extra: bool = False
    ordered: bool = True

    def __post_init__(self) -> None:
        for spec in self.fields.values():
            matcher(spec)

    def compare(self, expected: str, answer: str) -> Score | None:
        """Return the share of right fields; the details hold each field's verdict by its path.

        Raises:
            JudgeFailedError: There are too many fields to compare ("too_large").
        """
        expected_value = _parsed(expected)
        if expected_value is _NOTHING:
            return None
        actual = json_in(answer)
        if actual is _NOTHING:
            return self.score(0.0, f"the answer contains no JSON: {quoted_text(answer)}")
        verdicts: dict[str, bool] = {}
        self._compare(expected_value, actual, "", verdicts)
        right = sum(verdicts.values())
        listed = sorted(verdicts.items(), key=lambda pair: pair[1])[:_MOST_DETAILS]
        details = {"fields": {printable(path): matches for path, matches in listed}}
        if right == len(verdicts):
            return self.score(1.0, details=details) if verdicts else self.full_score
        wrong = ", ".join(quoted_text(path, 40) for path, matches in listed[:10] if not matches)
        return self.score(right / len(verdicts), f"unexpected values: {wrong}", details=details)

    def _compare(self, expected: Any, actual: Any, root: str, verdicts: dict[str, bool]) -> None:
        waiting: list[tuple[Any, Any, str]] = [(expected, actual, root)]
        while waiting:
            one, other, path = waiting.pop()
            spec = self.fields.get(path) or self.fields.get(re.sub(r"\[\d+\]", "[]", path))
            if spec is not None and not (one is ABSENT and needs_expected(spec)):
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
                raise JudgeFailedError(f"The answers have more than {number(_MOST_FIELDS)} fields", kind="too_large")

    def _of_mapping(self, one: Mapping[str, Any], other: Mapping[str, Any], path: str) -> list[tuple[Any, Any, str]]:
        keys = [*one, *(key for key in other if key not in one)]
        prefix = f"{path}." if path else ""
        return [(one.get(key, ABSENT), other.get(key, ABSENT), f"{prefix}{key}") for key in reversed(keys)]

    def _of_list(self, one: list[Any], other: list[Any], path: str) -> list[tuple[Any, Any, str]]:
        if not self.ordered and max(len(one), len(other)) <= 500:
            matched = assign(len(one), len(other), lambda i, j: json_equal(one[i], other[j]))
            unmatched = [item for index, item in enumerate(other) if index not in set(matched.values())]
            pairs = [
                (item, other[matched[index]] if index in matched else unmatched.pop(0) if unmatched else ABSENT)
                for index, item in enumerate(one)
            ]
            pairs += [(ABSENT, item) for item in unmatched]
        else:
            longest = max(len(one), len(other))
            pairs = [
                (one[i] if i < len(one) else ABSENT, other[i] if i < len(other) else ABSENT) for i in range(longest)
            ]
        return [(a, b, f"{path}[{index}]") for index, (a, b) in reversed(list(enumerate(pairs)))]


def _inside(value: Any, path: str) -> list[tuple[Any, Any, str]]:
    """Compare a missing object field by field, so that every missing field counts."""
    if isinstance(value, Mapping):
        prefix = f"{path}." if path else ""
        return [(item, ABSENT, f"{prefix}{key}") for key, item in cast("Mapping[str, Any]", value).items()]
    return [(item, ABSENT, f"{path}[{index}]") for index, item in enumerate(cast("list[Any]", value))]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOTHING


def json_in(text: str) -> Any:
    """Return the JSON value in a text.

    The whole text, or the first JSON code fence, or the largest JSON value in its prose.
    """
    whole = _parsed(text.strip())
    if whole is not _NOTHING:
        return whole
    for match in _FENCE.finditer(text):
        fenced = _parsed(match.group(1))
        if fenced is not _NOTHING:
            return fenced
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
