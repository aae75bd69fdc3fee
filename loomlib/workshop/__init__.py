"""The workshop: five lessons whose exercises check themselves (notebooks/workshop).

from loomlib import workshop

check = workshop.lesson(1, bench)
check.exercise("1.2", answer)
check.hint("1.2")
"""

from .exercise import Exercise, NotYet
from .lesson import TITLES, Lesson, lesson
from .replies import ProgressTable, Reply

__all__ = ["TITLES", "Exercise", "Lesson", "NotYet", "ProgressTable", "Reply", "lesson"]
