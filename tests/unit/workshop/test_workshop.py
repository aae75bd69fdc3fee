"""Exercises check themselves: whatever is handed over gets a sentence, and what was done is kept."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loomlib import workshop
from loomlib.cli.launcher import FOLDER
from loomlib.errors import LoomError
from loomlib.settings import Settings
from loomlib.workshop.exercise import Exercise, NotSolvedError
from loomlib.workshop.homes import clear_home, is_home, learner_homes, standing
from loomlib.workshop.lesson import Lesson
from loomlib.workshop.progress import LessonProgress, progress_file, read_progress

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks" / "workshop"


class BenchWithoutService:
    """A workbench of which only the settings are asked; anything else is an error of the test's own."""

    def __init__(self, home: Path) -> None:
        self.context = SimpleNamespace(settings=Settings(home=home))


def bench_at(home: Path) -> Any:
    return cast("Any", BenchWithoutService(home))


def hostile(answer: object, bench: object) -> str:
    if answer == "loom":
        raise LoomError("No such thing", on="<b>here</b>", try_="another")
    if answer == "bug":
        raise RuntimeError("<script>alert(1)</script> at /secret/path")
    if answer != "right":
        raise NotSolvedError("this is <img src=x onerror=alert(1)>.")
    return "it is <b>so</b>."


def small_lesson(home: Path) -> Lesson:
    exercise = Exercise(id="1.1", title="One & only", hints=("first", "second"), judge=hostile)
    return Lesson(1, [exercise], bench_at(home), LessonProgress(progress_file(home, 1)))


@pytest.mark.parametrize("number", workshop.TITLES)
def test_no_answer_at_all_and_any_wrong_object_get_a_kind_sentence(number: int, tmp_path: Path) -> None:
    check = workshop.lesson(number, bench_at(tmp_path))
    for _, exercise in enumerate(import_module(f"loomlib.workshop.lesson_{number}").EXERCISES):
        assert check.exercise(exercise.id).state == "open"
        for answer in (object(), 3j, [], [1, "two"], {"a": 1}, True, Exception("x"), lambda: 1):
            reply = check.exercise(exercise.id, answer)
            assert reply.state == "not yet"
            assert "Traceback" not in repr(reply)
            assert "object at 0x" not in repr(reply)
    assert not check.is_done


@pytest.mark.parametrize("number", workshop.TITLES)
def test_every_exercise_stands_in_its_lesson_and_its_solution_and_has_hints_that_end(
    number: int, tmp_path: Path
) -> None:
    exercises = import_module(f"loomlib.workshop.lesson_{number}").EXERCISES
    assert 4 <= len(exercises) <= 6
    for folder in (NOTEBOOKS, NOTEBOOKS / "solutions"):
        (path,) = folder.glob(f"{number}_*.ipynb")
        cells = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
        for exercise in exercises:
            assert sum(f'check.exercise("{exercise.id}"' in cell for cell in cells) == 1
    check = workshop.lesson(number, bench_at(tmp_path))
    for exercise in exercises:
        assert len(exercise.hints) >= 2
        hints = [repr(check.hint(exercise.id)) for _ in range(len(exercise.hints) + 2)]
        for hint, display in zip(exercise.hints, hints, strict=False):
            assert display.endswith(hint)  # as it is written: code can be copied from it
        assert "This is the last hint" in hints[-1]
        assert hints[-1] == hints[-2]


def test_an_answer_is_right_not_yet_or_could_not_be_inspected_and_never_markup(tmp_path: Path) -> None:
    check = small_lesson(tmp_path)
    for answer, state in (("right", "right"), ("wrong", "not yet"), ("loom", "not yet"), ("bug", "not yet")):
        reply = check.exercise("1.1", answer)
        assert reply.state == state
        page = reply._repr_html_()
        assert "<script" not in page
        assert "<img" not in page
        assert "<b>" not in page
    assert "/secret/path" not in repr(check.exercise("1.1", "bug"))
    assert check.exercise("9.9", 1).sentence == "This lesson has the exercises 1.1."
    assert "1.1" in check.hint("9.9").sentence


def test_progress_is_kept_in_the_learners_home_and_what_was_right_stays_right(tmp_path: Path) -> None:
    check = small_lesson(tmp_path)
    check.exercise("1.1", "wrong")
    check.hint("1.1")
    check.exercise("1.1", "right")
    check.exercise("1.1", "wrong")
    again = small_lesson(tmp_path)
    assert again.is_done
    (row,) = again.progress().rows
    assert (row[2].right, row[2].tries, row[2].hints) == (True, 3, 1)
    assert not small_lesson(tmp_path / "other").is_done
    assert "1 of 1 done" in again.progress()._repr_html_()


@pytest.mark.parametrize(
    "content", ["", "[]", '{"1.1": 3}', '{"1.1": {"tries": "many", "right": 1}}', "\x00", "[" * 200_000]
)
def test_a_file_of_progress_that_nobody_can_read_is_a_lesson_not_begun(content: str, tmp_path: Path) -> None:
    file = tmp_path / "lesson_1.json"
    file.write_text(content)
    assert not any(progress.right or progress.tries for progress in read_progress(file).values())


def test_a_named_pipe_and_a_huge_file_of_progress_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").write_text(json.dumps({"1.1": {"right": True}}) + " " * 2_000_000)
    assert read_progress(tmp_path / "pipe") == {}
    assert read_progress(tmp_path / "huge") == {}


def test_there_is_no_eighth_lesson(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1, 2, 3, 4, 5, 6, 7"):
        workshop.lesson(8, bench_at(tmp_path))


def test_a_home_starts_over_without_what_is_not_looms(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("kept")
    for home in (tmp_path / "learners" / "ada", tmp_path / "learners" / "ben" / ".loom"):
        check = small_lesson(home)
        check.exercise("1.1", "right")
        (home / "loom.db").write_text("x")
        (home / "notes.txt").write_text("mine")
        (home / "runtimes").symlink_to(outside)
        (home / FOLDER).mkdir()  # what `loom lab` writes
    (tmp_path / "learners" / "no_home").mkdir()
    homes = learner_homes(tmp_path / "learners")
    assert [standing(home).right[1] for home in homes] == [1, 1]
    for home in homes:
        cleared = clear_home(home)
        assert cleared.deleted == ("loom.db", "loom_lab", "runtimes", "workshop")
        assert cleared.kept == ("notes.txt",)
        assert not is_home(home)
    assert (outside / "precious").read_text() == "kept"
    assert learner_homes(tmp_path / "learners") == []


def test_a_reset_deletes_the_exported_history_and_damaged_files_and_keeps_folders_of_the_same_name(
    tmp_path: Path,
) -> None:
    names = (
        "functions/5e/package.zip", "history/loom-history.json", "identity.key", "load-tests/one/journal.jsonl",
        "logs.db.corrupt-20261128T120000Z", "session-tenants.jsonl",
    )  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert clear_home(tmp_path).kept == ()
    for folder in ("functions", "history"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text("kept")
    assert clear_home(tmp_path).kept == ("functions", "history")


@pytest.mark.parametrize("link", ["ben", "ben/.loom"])
def test_a_learners_link_to_another_home_is_no_home_of_a_learner(link: str, tmp_path: Path) -> None:
    for name in ("teacher", "class/ada"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "loom.db").write_text("x")
    place = tmp_path / "class" / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(tmp_path / "teacher")
    assert learner_homes(tmp_path / "class") == [tmp_path / "class" / "ada"]


def test_a_learners_own_folder_is_no_home_and_other_databases_stay(tmp_path: Path) -> None:
    own = tmp_path / "ada"
    for name in ("workshop", "sessions", "environments"):
        (own / name).mkdir(parents=True)
        (own / name / "mine.txt").write_text("kept")
    (own / "thesis.db").write_text("kept")
    assert not is_home(own)
    assert learner_homes(tmp_path) == []
    home = own / ".loom"
    home.mkdir()
    for name in ("loom.db", "loom.db-wal", "memory-records.sqlite", "thesis.sqlite"):
        (home / name).write_text("x")
    assert learner_homes(tmp_path) == [home]
    assert clear_home(home).kept == ("thesis.sqlite",)
    assert (own / "workshop" / "mine.txt").read_text() == "kept"
