"""Recorded verdicts: a judge that replays them without a model, and one that records another judge.

A recording is JSON Lines, one verdict per line: {"question": digest, "sample": 0, "judge": key, "values": {…},
"input_tokens": …, "output_tokens": …, "cost": …, "labels": […]}. It contains no text of the agent except what the judge
quoted. If two lines have the same question and sample, the later one is used. A truncated line (its writer was killed)
is skipped, so its verdict is requested again.
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
"""Provenance label of a verdict that was replayed."""


class RecordedJudge:
    """Replays the verdicts of a recording; a question that is not in it fails as "not_recorded".

    Replaying costs nothing: tokens and cost are 0. The labels are those of the recorded judge, and "recorded".
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._verdicts = _read(self._path)

    def __len__(self) -> int:
        return len(self._verdicts)

    @property
    def key(self) -> str:
        """What identifies the recording's content in digests."""
        return f"recorded {digest_of(sorted((*key, _canonical(verdict)) for key, verdict in self._verdicts.items()))}"

    async def ask(self, question: Question, /, *, sample: int = 0) -> JudgeReply:
        """Return the recorded verdict.

        Args:
            question: The question.
            sample: Number of the repetition.

        Raises:
            JudgeFailedError: The verdict was not recorded ("not_recorded"), or the form has changed ("malformed").
        """
        verdict = self._verdicts.get((question.digest, sample))
        if verdict is None:
            raise JudgeFailedError(
                f"The recording has no verdict for this question (sample {sample})",
                kind="not_recorded",
                on=f"{question.digest} in {self._path.name}",
                try_="record it once with RecordingJudge",
            )
        labels = tuple(str(label) for label in verdict.get("labels") or ())
        return JudgeReply(
            values=question.form.checked(verdict.get("values")),
            input_tokens=0,
            output_tokens=0,
            cost=0.0,
            labels=(*(label for label in labels if label != RECORDED), RECORDED),
        )


@dataclass(frozen=True, kw_only=True)
class RecordingJudge:
    """Asks `model` and appends each verdict to the recording at `path`, which is created when it does not exist.

    Raises:
        SettingsError: The recording cannot be written.

    Examples:
        >>> CorrectnessJudge(model=RecordingJudge(model=ConverseJudge(clients=bench.clients), path="verdicts.jsonl"))
    """

    model: JudgeModel
    path: str | os.PathLike[str]
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            Path(self.path).open("ab").close()  # before the model is asked: a verdict that is lost is paid for
        except OSError as error:
            raise SettingsError(
                f"Cannot write the recorded verdicts: {error}",
                on=str(self.path),
                try_="create its directory, or choose another path",
            ) from error

    @property
    def key(self) -> str:
        """The recorded judge's key, since recording does not change a verdict."""
        return self.model.key

    async def ask(self, question: Question, /, *, sample: int = 0) -> JudgeReply:
        """Ask the recorded judge and append its verdict; an error is not recorded.

        Args:
            question: The question.
            sample: Number of the repetition.
        """
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
                    line = f"\n{line}"  # do not append to a line truncated by a killed writer
            file.write(f"{line}\n".encode("ascii"))  # one write of one line, so that a kill leaves whole lines


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _read(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"Cannot read the recorded verdicts: {error}", on=str(path), try_="a file that RecordingJudge wrote"
        ) from error
    verdicts: dict[tuple[str, int], dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            verdict: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines) or (line.startswith("{") and isinstance(error, ValueError)):
                continue
            raise SettingsError(
                f"Line {number} is not valid JSON: {error}", on=str(path), try_="remove the line, or record again"
            ) from error
        entry = cast("dict[str, Any]", verdict) if isinstance(verdict, dict) else {}
        if not isinstance(entry.get("question"), str) or not isinstance(entry.get("values"), dict):
            raise SettingsError(f"Line {number} is not a verdict", on=str(path), try_='{"question": …, "values": {…}}')
        sample: object = entry.get("sample", 0)
        if not isinstance(sample, int) or isinstance(sample, bool):
            raise SettingsError(f"The sample in line {number} is not an integer", on=str(path), try_='"sample": 0')
        verdicts[entry["question"], sample] = entry
    return verdicts
