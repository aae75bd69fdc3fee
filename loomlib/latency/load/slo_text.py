"""Service level objectives as text: `p90 TTFT < 800 ms, errors < 1 %, cost < $0.02`.

    text       = condition ("," | ";" | "and") condition …
    condition  = ["p90" | "median"] ("TTFT" | "duration" | "chunk gap") limit ("ms" | "s" | "min")
               | "errors" limit "%"
               | "cost" limit "$"… ["per call" | "per 1000 calls"]
    limit      = ("<" | "<=" | "≤" | "below" | "under" | "at most") number

Case and spaces do not matter. `<` and `<=` mean the same: a measured time is never exactly a limit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from loomlib.errors import InvalidSloError

from .objectives import DURATION, GAP, TTFT, CostObjective, ErrorObjective, LatencyObjective, Objective

EXAMPLE: Final = "p90 TTFT < 800 ms, errors < 1 %, cost < $0.02"

_METRICS: Final = {
    "ttft": TTFT,
    "time to first token": TTFT,
    "time to first byte": TTFT,
    "duration": DURATION,
    "chunk gap": GAP,
    "gap": GAP,
}
_MS: Final = {"ms": 1.0, "s": 1e3, "sec": 1e3, "second": 1e3, "seconds": 1e3, "min": 6e4}
_ERRORS: Final = ("errors", "error rate", "failures")

_SEPARATOR: Final = re.compile(r"\s*(?:,(?!\d{3}(?!\d))|;|\band\b)\s*", re.IGNORECASE)
_SUBJECT: Final = re.compile(
    r"[^<>=≤≥]*?(?=\s*(?:[<>=≤≥]|\b(?:below|under|at most|above|over|at least)\b|$))", re.IGNORECASE
)
_RELATION: Final = re.compile(r"\s*(<=|<|≤|>=|>|≥|==?|below|under|at most|above|over|at least)\s*", re.IGNORECASE)
_AMOUNT: Final = re.compile(r"(\$|USD\s*)?\s*(\d[\d,\s]*(?:\.\d+)?|\.\d+)(e-?\d+)?\s*", re.IGNORECASE)
_PERCENTILE: Final = re.compile(r"(?:p\s*(\d+(?:\.\d+)?)|(median))\s+", re.IGNORECASE)
_PER: Final = re.compile(r"(?:USD|\$)?\s*(?:(?:per|a|/)\s*(?:(1[ ,]?000|1k|thousand)\s+)?calls?)?", re.IGNORECASE)
_AT_MOST: Final = ("<", "<=", "≤", "below", "under", "at most")


def parse_objectives(text: str) -> tuple[Objective, ...]:
    """Return the objectives of a text.

    Args:
        text: Conditions, separated by commas.

    Raises:
        InvalidSloError: The text is not an SLO; the message says why, where, and what to try.
    """
    objectives: list[Objective] = []
    start = 0
    for separator in [*_SEPARATOR.finditer(text), None]:
        end = len(text) if separator is None else separator.start()
        objectives.append(_Condition(text, start, end).objective())
        start = end if separator is None else separator.end()
    return tuple(objectives)


@dataclass(slots=True)
class _Condition:
    """The part of the text from `at` to `end`, and how far it has been read."""

    text: str
    at: int
    end: int

    def objective(self) -> Objective:
        self._skip_spaces()
        if self.at == self.end:
            raise self._error("A condition is missing", EXAMPLE)
        subject_at = self.at
        percentile = self._take(_PERCENTILE)
        metric_at = self.at
        subject_match = self._take(_SUBJECT)
        name = " ".join(subject_match.group().lower().split()) if subject_match else ""
        if name in _METRICS:
            return self._latency(_METRICS[name], percentile, subject_at)
        if name not in (*_ERRORS, "cost"):
            self.at = metric_at
            raise self._error(
                f"Unknown metric {name!r}" if name else "The metric is missing",
                "TTFT, duration, chunk gap, errors or cost",
            )
        if percentile is not None:
            self.at = subject_at
            raise self._error(
                f"{name.capitalize()} have no percentile" if name != "cost" else "The limit on cost limits the mean",
                f"{name} without it",
            )
        return self._errors() if name in _ERRORS else self._cost()

    def _latency(self, metric: str, percentile: re.Match[str] | None, subject_at: int) -> LatencyObjective:
        if percentile is None:
            self.at = subject_at
            raise self._error(f"The limit on {metric} needs a percentile", f"p90 {metric}, or p99 {metric}")
        p = 0.5 if percentile.group(1) is None else float(percentile.group(1)) / 100
        if not 0 < p < 1:
            self.at = subject_at
            raise self._error("A percentile must be above 0 and below 100", f"p99 {metric}")
        self._relation()
        amount_at = self.at
        amount, sign = self._amount("800 ms")
        unit_at = self.at
        unit = self._rest().lower()
        if sign or unit not in _MS:
            self.at = unit_at
            raise self._error("The limit on a time needs the unit ms, s or min", "800 ms, or 1.5 s")
        limit_ms = amount * _MS[unit]
        if not 0 < limit_ms < math.inf:
            self.at = amount_at
            raise self._error(f"A limit on a time must be {'finite' if limit_ms else 'above 0'}", "800 ms")
        return LatencyObjective(metric=metric, p=p, limit_ms=limit_ms)

    def _errors(self) -> ErrorObjective:
        self._relation()
        amount_at = self.at
        amount, sign = self._amount("1 %")
        unit_at = self.at
        if sign or self._rest() not in ("%", "percent"):
            self.at = unit_at
            raise self._error("The limit on errors is a share of all calls and needs the unit %", "errors < 1 %")
        if amount >= 100:
            self.at = amount_at
            raise self._error("The limit on errors must be below 100 %", "errors < 1 %")
        return ErrorObjective(limit=amount / 100)

    def _cost(self) -> CostObjective:
        self._relation()
        amount_at = self.at
        amount, sign = self._amount("$0.02")
        unit_at = self.at
        rest = self._rest()
        match = _PER.fullmatch(rest)
        if match is None or not (sign or rest.upper().startswith(("USD", "$"))):
            self.at = unit_at
            raise self._error("The limit on cost is in US dollars a call", "cost < $0.02, or cost < $20 per 1000 calls")
        limit_usd = amount / 1000 if match.group(1) else amount
        if not 0 < limit_usd < math.inf:
            self.at = amount_at
            raise self._error(f"A limit on cost must be {'finite' if limit_usd else 'above 0'}", "cost < $0.02")
        return CostObjective(limit_usd=limit_usd)

    def _relation(self) -> None:
        relation_at = self.at
        relation = self._take(_RELATION)
        if relation is None:
            raise self._error("The limit is missing", "< 800 ms, < 1 % or < $0.02 after the metric")
        if relation.group(1).lower() not in _AT_MOST:
            self.at = relation_at
            self._skip_spaces()
            raise self._error(f"An objective must set an upper limit; {relation.group(1)!r} does not", "<")

    def _amount(self, example: str) -> tuple[float, bool]:
        amount = self._take(_AMOUNT)
        if amount is None:
            raise self._error("The limit is not a number", example)
        digits = re.sub(r"[,\s]", "", amount.group(2))
        return float(digits + (amount.group(3) or "")), amount.group(1) is not None

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at, self.end)
        if match is not None:
            self.at = match.end()
        return match

    def _rest(self) -> str:
        rest = self.text[self.at : self.end].strip()
        self.at = self.end
        return rest

    def _skip_spaces(self) -> None:
        while self.at < self.end and self.text[self.at].isspace():
            self.at += 1

    def _error(self, message: str, try_: str) -> InvalidSloError:
        near = self.text[self.at : self.at + 20].strip()
        place = f"at {near!r}, character {self.at + 1} of {self.text!r}" if near else f"at the end of {self.text!r}"
        return InvalidSloError(message, on=place, try_=try_, position=self.at)
