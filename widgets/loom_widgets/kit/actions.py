"""Actions: a click sends an action's name and the form's content; it runs on a thread other than the main thread."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, TypeVar, cast

from .texts import well_formed

_MARK = "_loom_action"
_F = TypeVar("_F", bound=Callable[..., Any])


class ActionCancelledError(Exception):
    """The user stopped the action; nothing failed."""


class Cancel:
    """A cancel token for an action. Long actions check it between steps or register a callback."""

    def __init__(self) -> None:
        self._event, self._lock, self._then = Event(), Lock(), list[Callable[[], object]]()

    @property
    def is_set(self) -> bool:
        """Whether the action should end."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise `ActionCancelledError` if Stop was clicked.

        Raises:
            ActionCancelledError: Stop was clicked.
        """
        if self.is_set:
            raise ActionCancelledError

    def wait(self, seconds: float) -> bool:
        """Sleep until the timeout or until Stop is clicked; return True for Stop."""
        return self._event.wait(seconds)

    def then(self, callback: Callable[[], object]) -> None:
        """Register a callback for Stop. It runs once on a separate thread, immediately if Stop was clicked already."""
        with self._lock:
            if not self._event.is_set():
                self._then.append(callback)
                return
        callback()

    def set(self) -> None:
        """Set the flag and run the callbacks."""
        with self._lock:
            self._event.set()
            callbacks, self._then = self._then, []
        for callback in callbacks:
            Thread(target=callback, name="loom-stop", daemon=True).start()


class Form(dict[str, Any]):
    """A form's content as sent with a click, read with the expected types.

    Examples:
        >>> form.text("prompt"), form.number("limit", 100), form.flag("refresh")
    """

    def text(self, name: str, default: str = "") -> str:
        """Return a text; `default` if the field is missing."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text, not {type(value).__name__}")
        return well_formed(value)

    def path(self, name: str) -> Path | None:
        """Return the path in a field, with `~` resolved; None if the field is empty."""
        text = self.text(name).strip()
        if "\0" in text:
            raise ValueError("a path must not contain a null character")
        try:
            return Path(text).expanduser() if text else None
        except RuntimeError:
            raise ValueError(f"{text.partition('/')[0]} is not a user of this machine") from None

    def number(self, name: str, default: float = 0.0) -> float:
        """Return a finite number; a text is parsed."""
        value = self.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(f"{name} must be a number, not {type(value).__name__}")
        try:
            number = float(value)
        except ValueError:
            raise ValueError(f"{name} must be a number, not {str(value)[:40]!r}") from None
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError(f"{name} must be a finite number")
        return number

    def count(self, name: str, default: int = 0, *, most: int = 1_000_000) -> int:
        """Return a whole number from 0 to `most`.

        Args:
            name: The field's name.
            default: The number to return for an empty field.
            most: The largest number; larger ones are reduced to it.
        """
        return max(0, min(int(self.number(name, default)), most))

    def flag(self, name: str) -> bool:
        """Return whether a checkbox is ticked."""
        return self.get(name) is True

    def texts(self, name: str) -> list[str]:
        """Return several texts, such as the ticked items of a list."""
        value = self.get(name)
        if value is None:
            return []
        listed = cast("list[object]", value) if isinstance(value, list) else None
        if listed is None or not all(isinstance(item, str) for item in listed):
            raise ValueError(f"{name} must be a list of texts")
        return [well_formed(str(item)) for item in listed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A method that a view may call: its lane, and whether it takes the form and the cancel token."""

    name: str
    lane: str | Callable[[Any, Form], str]
    takes: int


def action(method: Callable[..., Any] | None = None, *, lane: str | Callable[[Any, Form], str] = "main") -> Any:
    """Allow views to call this method by its name: `def name(self)`, `(self, form)` or `(self, form, cancel)`.

    It runs on a thread of the panel. Actions of one `lane` run one after the other, those of different lanes side by
    side; Stop ends all actions of a lane. `lane` may be a function that returns the lane from the object with the
    method and the form. The view's `act(…)` resolves with the result of the method (a mapping of JSON values, or None).

        @action(lane="deploy")
        def deploy(self, form: Form, cancel: Cancel) -> None: ...
    """

    def mark(method: _F) -> _F:
        takes = len(inspect.signature(method).parameters) - 1
        setattr(method, _MARK, Action(name=method.__name__, lane=lane, takes=takes))
        return method

    return mark if method is None else mark(method)


def actions_of(kind: type) -> Mapping[str, Action]:
    """Return the actions of a class by their names."""
    actions: dict[str, Action] = {}
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            marked = getattr(value, _MARK, None)
            if isinstance(marked, Action):
                actions[name] = marked
            else:
                actions.pop(name, None)  # a subclass overrides the action with an attribute that is not an action
    return actions
