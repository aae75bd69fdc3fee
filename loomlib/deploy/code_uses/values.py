"""The AWS calls of an agent's code, as values: operations, with the known arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

SIGNED_REQUEST: Final = "(signed request)"
"""`CodeUse.operation` where the code signs an HTTP request itself, so that the called operation is not visible."""

UNSEEN_CALLS: Final = "(calls that are not visible)"
"""The operation of a use that creates a client whose calls are not visible, because other code makes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableRead:
    """An environment variable that the code reads.

    Attributes:
        name: The variable.
        default: The default if the variable is not set; None without a default.
        is_required: Whether the code fails without it (`os.environ["NAME"]`).
    """

    name: str
    default: str | None = None
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeText:
    """A string that the code assembles from parts.

    Attributes:
        parts: Strings and environment variables in order; None stands for a part that is computed at run time.
    """

    parts: tuple[str | VariableRead | None, ...]

    def resolved(self, variables: Mapping[str, str]) -> str | None:
        """Return the text, or None if a part of it is not known before the code runs.

        Args:
            variables: The environment variables of the agent.
        """
        texts = [_part(part, variables) for part in self.parts]
        return None if None in texts else "".join(part for part in texts if part is not None)

    def pattern(self, variables: Mapping[str, str]) -> str | None:
        """Return the text with `*` for parts that are computed at run time; None if its start is not known."""
        texts = [_part(part, variables) for part in self.parts]
        if not texts or not texts[0] or self.has_wildcard():
            return None
        return "".join("*" if part is None else part for part in texts)

    def has_wildcard(self) -> bool:
        """Return whether the code itself contains an IAM wildcard or policy variable: `*`, `?` or `${`."""
        texts = [part.default if isinstance(part, VariableRead) else part for part in self.parts]
        return any(sign in text for text in texts if text for sign in ("*", "?", "${"))

    def unset(self, variables: Mapping[str, str]) -> tuple[str, ...]:
        """Return the environment variables in the text that do not have a value."""
        read = [part for part in self.parts if isinstance(part, VariableRead)]
        return tuple(part.name for part in read if part.default is None and part.name not in variables)


COMPUTED = CodeText(parts=(None,))
"""A text that is unknown before the code runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeUse:
    """A call of an operation of AWS in the code.

    Attributes:
        service: The service, as named by boto3.
        operation: The operation's name in AWS's API, such as `GetObject`; `SIGNED_REQUEST` or `UNSEEN_CALLS`.
        arguments: The string parameters of the call, each with all values that the code can pass. A
            parameter inside another has a dotted name, such as `guardrailConfig.guardrailIdentifier`.
        is_partial: Whether the call has further parameters that are not visible (`**options`).
        file: The file, relative to the agent's folder.
        line: The line.
        via: The class or function of an SDK that makes the call; "" for a client of boto3.
    """

    service: str
    operation: str
    arguments: Mapping[str, tuple[CodeText, ...]] = field(default_factory=dict[str, tuple[CodeText, ...]])
    is_partial: bool = False
    file: str
    line: int
    via: str = ""

    @property
    def place(self) -> str:
        """The file and line, such as `agent.py:12`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedUse:
    """An AWS call that cannot be determined from the code.

    Attributes:
        file: The file, relative to the agent's folder.
        line: The line; 0 for the whole file.
        what: What is not known.
        try_: How to determine it.
    """

    file: str
    line: int
    what: str
    try_: str

    @property
    def place(self) -> str:
        """The file and line, such as `agent.py:12`."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeUses:
    """The AWS calls of an agent's code.

    Attributes:
        uses: The calls, in the order of files and lines.
        unresolved: The calls that could not be determined.
        files: The files that were read.
    """

    uses: tuple[CodeUse, ...] = ()
    unresolved: tuple[UnresolvedUse, ...] = ()
    files: tuple[str, ...] = ()


def _part(part: str | VariableRead | None, variables: Mapping[str, str]) -> str | None:
    if isinstance(part, VariableRead):
        return variables.get(part.name, part.default)
    return part
