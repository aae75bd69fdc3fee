"""Verdicts written down and read back: a judge that needs no model, and one that records another.

A recording is JSON Lines, one verdict a line: {"question": digest, "sample": 0, "judge": key, "values": {…},
"input_tokens": …, "output_tokens": …, "cost": …, "labels": […]}. It holds no text of the agent's but what the judge
quoted. Of two lines for one question and sample the later one counts. A line whose end is missing (its writer was
killed) is passed over: its verdict will be asked for again.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from loomlib.errors import SettingsError

from ..values.digests import digest_of
from ..values.judge_error import JudgeFailedError
from .model import JudgeModel, JudgeReply
from .question import Question

RECORDED = "recorded"
"""The label of a verdict that was read back."""


class RecordedJudge:
    """Replays the verdicts of a recording; a question that is not in it fails as "not_recorded".

    Replaying costs nothing: tokens and cost are 0; labels are those of the recorded judge, and "recorded".
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._verdicts = _read(self._path)

    def __len__(self) -> int:
        return len(self._verdicts)

    @property
    def key(self) -> str:
        """Names the content: another recording is another judge."""
        return f"recorded {digest_of(sorted((*key, _canonical(v)) for key, v in self._verdicts.items()))}"

    async def ask(self, question: Question, /, *, sample: int = 0) -> JudgeReply:
        """The recorded verdict. Raises `JudgeFailedError`: "not_recorded", or "malformed" when the form has changed."""
        found = self._verdicts.get((question.digest, sample))
        if found is None:
            raise JudgeFailedError(
                f"No recorded verdict answers this question (sample {sample})",
                kind="not_recorded",
                on=f"{question.digest} in {self._path.name}",
                try_="record it once with RecordingJudge",
            )
        labels = tuple(str(each) for each in found.get("labels") or ())
        return JudgeReply(
            values=question.form.checked(found.get("values")),
            input_tokens=0,
            output_tokens=0,
            cost=0.0,
            labels=(*(each for each in labels if each != RECORDED), RECORDED),
        )


@dataclass(frozen=True, kw_only=True)
class RecordingJudge:
    """Asks `model` and appends each verdict to the recording at `path` before giving it.

    >>> CorrectnessJudge(model=RecordingJudge(model=ConverseJudge(clients=bench.clients), path="verdicts.jsonl"))
    """

    model: JudgeModel
    path: str | os.PathLike[str]
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    @property
    def key(self) -> str:
        """That of the judge behind it: being written down changes no verdict."""
        return self.model.key

    async def ask(self, question: Question, /, *, sample: int = 0) -> JudgeReply:
        """The verdict of the judge behind it; what it raises is not recorded."""
        reply = await self.model.ask(question, sample=sample)
        line = _canonical(
            {
                "question": question.digest,
                "sample": sample,
                "judge": self.model.key,
                "values": dict(reply.values),
                "input_tokens": reply.input_tokens,
                "output_tokens": reply.output_tokens,
                "cost": reply.cost,
                "labels": list(reply.labels),
            }
        )
        await asyncio.to_thread(self._append, line)
        return reply

    def _append(self, line: str) -> None:
        with self._lock, Path(self.path).open("ab+") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    line = f"\n{line}"  # what a killed writer left behind stays a line of its own
            file.write(f"{line}\n".encode("ascii"))  # one write of one line, so that a kill leaves whole lines


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _read(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The recorded verdicts cannot be read: {error}", on=str(path)) from error
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            verdict: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines) or (line.startswith("{") and isinstance(error, ValueError)):
                continue
            raise SettingsError(f"Line {number} is no JSON: {error}", on=str(path)) from error
        told = cast("dict[str, Any]", verdict) if isinstance(verdict, dict) else {}
        if not isinstance(told.get("question"), str) or not isinstance(told.get("values"), dict):
            raise SettingsError(f"Line {number} is no verdict", on=str(path), try_='{"question": …, "values": {…}}')
        sample: object = told.get("sample", 0)
        if not isinstance(sample, int) or isinstance(sample, bool):
            raise SettingsError(f"Line {number} has a sample that is no whole number", on=str(path))
        found[told["question"], sample] = told
    return found
