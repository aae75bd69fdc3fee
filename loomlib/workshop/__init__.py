"""Workshop: seven lessons with exercises that are checked automatically (notebooks/workshop).

Examples:
    >>> from loomlib import workshop
    >>> check = workshop.lesson(1, bench)
    >>> check.exercise("1.2", answer)
    >>> check.hint("1.2")
"""

from loomlib.deprecation import renamed_names

from .exercise import Exercise, NotSolvedError
from .first_word import FirstWord, first_word
from .lesson import TITLES, Lesson, lesson
from .replies import ExerciseReply, ProgressTable

__all__ = [
    "TITLES",
    "Exercise",
    "ExerciseReply",
    "FirstWord",
    "Lesson",
    "NotSolvedError",
    "ProgressTable",
    "first_word",
    "lesson",
]

__getattr__ = renamed_names(__name__, {"NotYet": "NotSolvedError", "Reply": "ExerciseReply"})
