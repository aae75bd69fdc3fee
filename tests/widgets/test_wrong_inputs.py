"""Whatever a form may carry by mistake, in every action of every panel: what is said is a sentence that helps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import loom_widgets
import loomlib as loom

from .conftest import Watched, wait_until

TEXTS = [
    "actor", "after", "agent", "alert", "approval", "arn", "baseline", "before", "blueprint", "branch", "case",
    "evaluators", "frame", "gate", "id", "limit", "memory", "message", "name", "namespace", "new", "notify", "number",
    "path", "payload", "prompt", "qualifier", "query", "question", "range", "run", "session", "set", "side", "since",
    "source", "strategy", "tags", "text", "theme", "typed", "until", "what",
]  # fmt: skip
NUMBERS = [
    "actors", "count", "days", "from", "hours", "invocation", "least", "limit", "margin", "min_n", "money", "place",
    "repeat", "repeats", "seconds", "seed", "time_s", "tokens", "top_k", "turn", "view",
]  # fmt: skip
LISTS = ("agents", "allow", "strategies")
FORMS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "numbers for texts": dict.fromkeys([*TEXTS, *LISTS], 5),
    "texts for numbers": dict.fromkeys(NUMBERS, "some"),
    "lists for all": {key: [1, {}] for key in [*TEXTS, *NUMBERS, *LISTS]},
    "long texts": dict.fromkeys(TEXTS, "x" * 300),
    "half a character": {**dict.fromkeys(TEXTS, "\ud800 x"), "agents": ["\ud800"], "set": "file:"},
    "a null": {**dict.fromkeys(TEXTS, "\0"), "agents": ["\0"], "set": "file:"},
    "too much": {**dict.fromkeys(NUMBERS, 1e308), "number": "error_rate", "limit": 1e308},
    "too little": {**dict.fromkeys(NUMBERS, -1), "name": "m", "limit": -1, "number": "cost", "agents": ["echo"]},
    "what is not there": {
        **dict.fromkeys(TEXTS, "nope"), "agents": ["nope"], "set": "file:", "path": "/nowhere/at/all.json",
        "range": "between", "since": "yesterday", "number": "error_rate", "side": "above",
    },
    "nobody's home": {"path": "~no-such-person/x", "what": "~no-such-person/x", "agents": ["echo"], "set": "file:"},
    "what cannot be": {
        "path": "/", "what": "/", "agents": ["echo"], "set": "shipped:calculator", "evaluators": "nope", "days": 1,
        "name": "not a name!", "actor": "not an actor!", "namespace": "no space", "query": "x" * 20_000, "place": 7,
        "agent": "echo", "session": "short", "prompt": "hi", "number": "error_rate", "limit": 5000, "notify": "http://x",
        "range": "between", "since": "2026-02-02T00:00:00+00:00", "until": "2026-01-01T00:00:00+00:00",
    },
}  # fmt: skip
LONG = {
    **{key: {"lists for all", "a null"} for key in ("health", "snapshot", "export", "catch_up", "after", "refresh")},
    "isolation": {"lists for all"},
}
"""What takes its time where the form is not a reason to refuse it is asked with what it can refuse."""
RAW = re.compile(r"Errno|codec|Traceback|Parameter validation|none was expected|<class|object at 0x|KeyError|^'|^\W*$")


@pytest.mark.parametrize("name", ["build", "test", "operate", "evaluate", "memory", "tools"])
def test_no_wrong_input_ends_in_raw_words_and_the_panel_lives_on(
    name: str, bench: loom.Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some of what is named here is a file that can be written
    bench.agent("echo", deploy=True)
    if name == "memory" and not len(bench.memories.table()):
        bench.memories.create("assistant", strategies=["semantic"])
    watched = Watched(getattr(loom_widgets, name)(bench))
    wait_until(lambda: not watched.panel.busy)
    poor: list[tuple[str, str, dict[str, str]]] = []
    attempts = 0
    for action in sorted(watched.panel._actions):
        for kind, form in FORMS.items():
            if kind not in LONG.get(action, FORMS):
                continue
            attempts += 1
            if watched.ask(action, **form) == {"failed": True}:
                error = dict(watched.panel.error)
                if not error["what"] or RAW.search(error["what"]) or not error["try"]:
                    poor.append((action, kind, error))
    assert poor == []
    assert attempts >= 50
    wait_until(lambda: not watched.panel.busy)
    assert watched.ask("dismiss") == {}
    assert watched.panel.error == {}
    watched.panel.close()
