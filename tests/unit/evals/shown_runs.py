"""Two runs of the same sums for tests of what is shown and written: one good, one that fails in every way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn
from loomlib.evals.runs import EvalRun, Silent, evaluate

HOSTILE = (
    "<script>document.title='taken'</script><img src=https://evil.example/x onerror=\"document.title='taken'\">"
    "\x1b[31m\x00 ]]> &amp; \ud800\ufffe"
)


def sums_with_tools(count: int) -> EvalSet:
    """Sums that expect one call of a tool, and one case that expects nothing."""
    cases = [
        EvalCase(
            id=f"sum {n}",
            tags=("odd",) if n % 2 else (),
            turns=(
                Turn(
                    prompt=f"{n}+{n}",
                    expected_answer=str(2 * n),
                    expected_tools=(ExpectedTool(name="add", arguments={"a": n, "b": n}),),
                ),
            ),
        )
        for n in range(count)
    ]
    return EvalSet(name="sums", cases=(*cases, EvalCase(id="small talk", turns=(Turn(prompt="9+0"),))))


def good(prompt: str) -> dict[str, Any]:
    """The sum, by its tool."""
    a, b = map(int, prompt.split("+"))
    return {"text": str(a + b), "tools": [{"name": "add", "arguments": {"a": a, "b": b}}]}


def bad(prompt: str) -> dict[str, Any]:
    """Number 1 is a lucky guess, 2 is hostile, 3 is not an answer, 4 calls a hostile tool."""
    answer = good(prompt)
    if prompt == "1+1":
        answer["tools"] = []
    elif prompt == "2+2":
        answer["text"] = HOSTILE
    elif prompt == "3+3":
        raise RuntimeError(f"boom {HOSTILE}")
    elif prompt == "4+4":
        answer["tools"] = [{"name": HOSTILE, "arguments": {"a": HOSTILE}}]
    return answer


def run_of(function: Any, evalset: EvalSet, place: Path, repeats: int = 1) -> EvalRun:
    """A stored run."""
    return evaluate(
        function, evalset, ["contains", "trajectory"], repeats, store=str(place / "loom.db"), progress=Silent()
    )
