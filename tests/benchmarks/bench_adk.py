"""Loom's `trajectory` and `rouge1` beside ADK's own evaluators on random cases: how many scores differ.

It is a check and no race, and stands here because google-adk is only in the environment of the benchmarks
(`make bench-others`). Where both state what they expect, ADK's semantics are Loom's. Known and meant differences are
left out of the cases: true is not 1 in JSON (in Python it is), and a call whose arguments nobody recorded is a failure
to judge (in ADK they are other ones).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loomlib.evals import CaseAnswer, EvalCase, ExpectedTool, Score, ToolUse, Turn, TurnAnswer
from loomlib.evals.registry import make_evaluator

from .bench_evals import OTHERS
from .table import Row

MATCHES = ("EXACT", "IN_ORDER", "ANY_ORDER")
_SCRIPT = Path(__file__).parent / "others" / "adk_evaluators.py"
_NAMES = ("look", "book", "pay")
_VALUES: tuple[Any, ...] = (1, 1.0, 2, 0.5, "Paris", "paris", "", None, [1, 2], [2, 1], {"a": {"b": [1]}}, "né")
_TEXT = (
    "order orders ordered ordering is shipped Shipped! shipping, running ran ponies caresses relational hopefulness "
    "the a 7 7.5 12:30 it's e-mail naïve café Straße 東京 タワー 서울 สวัสดี дом ﬁne １２ $3,000 \u0301 _x_ …"
)
_WORDS = _TEXT.split()


def rows(count: int = 5_000, seed: int = 1) -> Iterator[Row]:
    """One row an evaluator: scores that differ from ADK's by more than 1e-9."""
    if not OTHERS.exists():
        yield Row(what="ADK's evaluators on random cases", ours="not measured: run `make bench-others`")
        return
    drawn = random.Random(seed)
    cases = [_case(drawn) for _ in range(count)]
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
        path = Path(folder) / "cases.json"
        path.write_text(json.dumps(cases))
        process = subprocess.run(
            [str(OTHERS.absolute()), str(_SCRIPT), str(path)],
            capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, "LOOM_HOME": folder},
        )  # fmt: skip
    if process.returncode:
        raise RuntimeError(process.stderr[-2000:])
    adk_scores: list[dict[str, float]] = json.loads(process.stdout.splitlines()[-1])
    for name in adk_scores[0]:
        loom_scores = [_ours(name, case) for case in cases]
        differing = [n for n, (a, b) in enumerate(zip(loom_scores, adk_scores, strict=True)) if abs(a - b[name]) > 1e-9]
        first = f"; first: {json.dumps(cases[differing[0]])[:300]}" if differing else ""
        met_count = sum(value == 1.0 for value in loom_scores)
        yield Row(
            what=f"{name}: scores that differ from ADK's",
            ours=f"{len(differing)}{first}",
            reference=f"{met_count} of {count} cases are met",
            aim="0",
            met=not differing,
            n=count,
        )


def _case(drawn: random.Random) -> list[dict[str, Any]]:
    return [_turn(drawn) for _ in range(drawn.choice((1, 1, 1, 2, 3)))]


def _turn(drawn: random.Random) -> dict[str, Any]:
    """What came is what was expected with a few changes, or something else altogether."""
    expected = [_call(drawn) for _ in range(drawn.randrange(5))]
    actual = list(expected)
    for _ in range(drawn.choice((0, 0, 1, 1, 2, 4))):
        change = drawn.randrange(4)
        if change == 0:
            actual.insert(drawn.randrange(len(actual) + 1), _call(drawn))
        elif change == 1 and actual:
            actual.pop(drawn.randrange(len(actual)))
        elif change == 2:
            drawn.shuffle(actual)
        elif actual:
            actual.insert(drawn.randrange(len(actual) + 1), drawn.choice(actual))
    words = [drawn.choice(_WORDS) for _ in range(drawn.randrange(12))]
    answer_words = [word for word in words if drawn.random() < 0.8] + [
        drawn.choice(_WORDS) for _ in range(drawn.choice((0, 0, 1, 4)))
    ]
    drawn.shuffle(answer_words)
    return {
        "expected": {"tools": expected, "text": _text(drawn, words)},
        "actual": {"tools": actual, "text": _text(drawn, answer_words)},
    }


def _text(drawn: random.Random, words: list[str]) -> str:
    return drawn.choice((" ", " ", "", ", ", "\n")).join(words)


def _call(drawn: random.Random) -> tuple[str, dict[str, Any]]:
    return drawn.choice(_NAMES), {
        drawn.choice("ab"): drawn.choice(_VALUES) for _ in range(drawn.choice((0, 0, 1, 1, 2)))
    }


def _ours(name: str, turns: list[dict[str, Any]]) -> float:
    match, _, option = name.partition(" ")
    choice = "rouge1" if name == "rouge1" else f"trajectory(match={match!r}, arguments={option == 'arguments'})"
    case = EvalCase(
        id="case",
        turns=tuple(
            Turn(
                prompt="p",
                expected_answer=turn["expected"]["text"],
                expected_tools=tuple(ExpectedTool(name=n, arguments=a) for n, a in turn["expected"]["tools"]),
            )
            for turn in turns
        ),
    )
    answer = CaseAnswer(
        turns=tuple(
            TurnAnswer(
                text=turn["actual"]["text"],
                tools=tuple(ToolUse(name=n, arguments=a) for n, a in turn["actual"]["tools"]),
            )
            for turn in turns
        )
    )
    judgement: Any = make_evaluator(choice).judge(case, answer)
    score = judgement[0] if isinstance(judgement, list) else judgement
    assert isinstance(score, Score)
    return score.value
