"""The error tree: its drawing, its messages, and what a program reads from it."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from loomlib import errors
from loomlib.errors import (
    AgentNotFoundError,
    AwsError,
    InvalidArnError,
    InvocationFailedError,
    LoomError,
    StoreFullError,
    ThrottledError,
)

TREE = [
    error_class for _, error_class in inspect.getmembers(errors, inspect.isclass) if issubclass(error_class, LoomError)
]


def test_the_drawing_at_the_top_is_the_tree() -> None:
    drawn: list[tuple[str, str]] = []
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"    ([│├└─ ]*)([A-Z]\w+)", line):
            depth = len(match[1]) // 4
            path = [*path[:depth], match[2]]
            drawn.append((match[2], path[depth - 1] if depth else "Exception"))
    assert sorted(drawn) == sorted((error_class.__name__, error_class.__bases__[0].__name__) for error_class in TREE)


@pytest.mark.parametrize("kind", TREE)
def test_a_message_has_three_parts_and_each_is_an_attribute(kind: type[LoomError]) -> None:
    error = kind("The store cannot grow", on="loom.db", try_="free some space")
    assert str(error) == "The store cannot grow (loom.db). Try: free some space"
    assert (error.what, error.on, error.try_) == ("The store cannot grow", "loom.db", "free some space")
    assert str(kind("It failed")) == "It failed"


def test_a_caller_who_knows_only_the_builtin_errors_can_catch_these() -> None:
    assert issubclass(InvalidArnError, ValueError)
    assert issubclass(AgentNotFoundError, LookupError)


def test_aws_errors_carry_the_code_the_status_and_the_request() -> None:
    error = ThrottledError("Too many requests", code="ThrottlingException", status=429, request_id="r-1")
    assert (error.code, error.status, error.request_id) == ("ThrottlingException", 429, "r-1")
    assert AwsError("No connection").status == 0
    assert InvocationFailedError("It failed", failure="throttle").failure == "throttle"


def test_an_error_survives_the_way_between_processes() -> None:
    original = ThrottledError("Too many", on="calculator", try_="later", code="ThrottlingException", status=429)
    copy = pickle.loads(pickle.dumps(original))
    assert (str(copy), copy.what, copy.on, copy.status) == (str(original), "Too many", "calculator", 429)
    assert str(pickle.loads(pickle.dumps(StoreFullError("Full", on="loom.db")))) == "Full (loom.db)"
