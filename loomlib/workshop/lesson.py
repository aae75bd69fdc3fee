"""A lesson as used in its notebook: `check.exercise("1.2", answer)`, `check.hint("1.2")`, `check.progress()`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import LoomError
from .exercise import Exercise, NotSolvedError
from .progress import FOLDER, LessonProgress, progress_file
from .replies import ExerciseReply, ProgressTable, progress_html

if TYPE_CHECKING:
    from ..workbench import Workbench

TITLES: Final = {
    1: "Your first agent",
    2: "Why is it slow?",
    3: "Is it any good?",
    4: "What does it remember?",
    5: "Ship it",
    6: "Four protocols",
    7: "Move a Bedrock agent",
}
"""The titles of the lessons, by number."""


class Lesson:
    """One lesson's exercises and a learner's progress with them; returned by `lesson()`.

    A wrong answer never raises an exception: the reply says what is missing.
    """

    def __init__(self, number: int, exercises: Sequence[Exercise], bench: Workbench, progress: LessonProgress) -> None:
        self.number, self._bench, self._progress = number, bench, progress
        self._exercises = {exercise.id: exercise for exercise in exercises}

    @property
    def folder(self) -> Path:
        """The learner's folder for the agents that are written in the lessons."""
        folder = self._bench.context.settings.home / FOLDER / "agents"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def is_done(self) -> bool:
        """Whether all exercises are solved."""
        return all(self._progress.of(id).right for id in self._exercises)

    def exercise(self, id: str, answer: object = None) -> ExerciseReply:
        """Check an answer; the reply says why it is right, or what is missing.

        Examples:
            >>> check.exercise("1.2", agent.invoke("What is 2+2?"))
        """
        exercise = self._exercises.get(str(id))
        if exercise is None:
            return self._unknown(id)
        if answer is None:
            return self._reply(exercise, "open", f'Replace None with your answer. Hint: check.hint("{exercise.id}").')
        try:
            because = exercise.judge(answer, self._bench)
        except NotSolvedError as missing:
            return self._tried(exercise, str(missing))
        except LoomError as error:
            return self._tried(exercise, f"the answer could not be checked. {error}")
        except Exception as error:  # noqa: BLE001 - an answer can be any object, and may run a learner's agent
            return self._tried(
                exercise, f"this could not be checked ({type(error).__name__}). Is it what the exercise asks for?"
            )
        self._progress.tried(exercise.id, right=True)
        return self._reply(exercise, "right", because[:1].upper() + because[1:])

    def hint(self, id: str) -> ExerciseReply:
        """Return the next hint; each reveals more, the last one nearly everything."""
        exercise = self._exercises.get(str(id))
        if exercise is None:
            return self._unknown(id)
        hint_number = min(self._progress.hinted(exercise.id), len(exercise.hints))
        last = (
            ""
            if hint_number < len(exercise.hints)
            else "This is the last hint; the solutions are in the folder `solutions`. "
        )
        return self._reply(
            exercise, f"hint {hint_number} of {len(exercise.hints)}", last + exercise.hints[hint_number - 1]
        )

    def progress(self) -> ProgressTable:
        """Return your progress in this lesson."""
        rows = [(exercise.id, exercise.title, self._progress.of(exercise.id)) for exercise in self._exercises.values()]
        return ProgressTable(title=f"Lesson {self.number}: {TITLES[self.number]}", rows=rows)

    def _tried(self, exercise: Exercise, missing: str) -> ExerciseReply:
        self._progress.tried(exercise.id, right=False)
        hint = f' Hint: check.hint("{exercise.id}").' if self._progress.of(exercise.id).hints == 0 else ""
        sentence = missing if missing.endswith((".", "?", "!")) else f"{missing}."
        return self._reply(exercise, "not yet", sentence[:1].upper() + sentence[1:] + hint)

    def _reply(self, exercise: Exercise, state: str, sentence: str) -> ExerciseReply:
        solved_count = sum(self._progress.of(id).right for id in self._exercises)
        return ExerciseReply(
            id=exercise.id,
            title=exercise.title,
            state=state,
            sentence=sentence,
            done=solved_count,
            of=len(self._exercises),
        )

    def _unknown(self, id: object) -> ExerciseReply:
        ids = ", ".join(self._exercises)
        return ExerciseReply(
            id=str(id)[:20],
            title="",
            state="not yet",
            sentence=f"This lesson has the exercises {ids}.",
            done=0,
            of=0,
        )

    def __repr__(self) -> str:
        return f"<Lesson {self.number}: {TITLES[self.number]}, {len(self._exercises)} exercises>"

    def _repr_html_(self) -> str:
        return progress_html(self.progress())


def lesson(number: int, bench: Workbench, *, keep: bool = True) -> Lesson:
    """Return a lesson, whose exercises are checked against a workbench.

        check = workshop.lesson(1, bench)

    Args:
        number: The lesson's number, 1 to 7.
        bench: The learner's workbench.
        keep: Store the progress in the home folder, so that a learner can continue later.
    """
    if number not in TITLES:
        raise ValueError(f"unknown lesson {number!r}: the workshop has the lessons {', '.join(map(str, TITLES))}")
    exercises: Sequence[Exercise] = import_module(f".lesson_{number}", __package__).EXERCISES
    file = progress_file(bench.context.settings.home, number) if keep else None
    return Lesson(number, exercises, bench, LessonProgress(file))
