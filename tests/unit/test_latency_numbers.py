"""Numbers as text."""

from __future__ import annotations

import pytest

from loomlib.presentation.formats import milliseconds, number, percent, plural, seconds


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.4249, "0.42"), (6.08, "6.1"), (41.26, "41.3"), (318.4, "318"), (12_345.6, "12\u202f346"), (-3.2, "−3.2"),
     (0.0, "0.00"), (-0.001, "0.00")],
)  # fmt: skip
def test_a_number_has_the_digits_that_it_deserves(value: float, text: str) -> None:
    assert number(value) == text


def test_units_stand_beside_their_numbers() -> None:
    assert milliseconds(6.08) == "6.1 ms"
    assert percent(0.934) == "93 %"
    assert percent(0.002) == "0.2 %"
    assert percent(0) == "0 %"
    assert plural(1, "call") == "1 call"
    assert plural(30, "call") == "30 calls"


@pytest.mark.parametrize(
    ("value", "text"), [(0.41, "0.41 s"), (14.2, "14 s"), (125.0, "2 min 05 s"), (4320.0, "1 h 12 min")]
)
def test_a_long_time_is_told_as_a_person_says_it(value: float, text: str) -> None:
    assert seconds(value) == text
