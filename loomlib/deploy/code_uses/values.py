"""What an agent's code does with AWS, as values: calls of operations, with what is known of their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

SIGNED_REQUEST: Final = "(signed request)"
"""The operation of a use that signs an HTTP request itself: which operation it calls is not visible."""

UNSEEN_CALLS: Final = "(calls that are not visible)"
"""The operation of a use that makes a client whose calls are not visible: something else makes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableRead:
    """An environment variable that the code reads.

    Attributes:
        name: The variable.
        default: What the code uses where the variable is not set; None where it has no default.
        is_required: Whether the code fails without it (`os.environ["NAME"]`).
    """

    name: str
    default: str | None = None
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeText:
    """A text that the code puts together from its parts.

    Attributes:
        parts: Texts and environment variables in order; None stands for what is computed at run time.
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
        """Return the text with `*` for what is computed at run time; None if nothing is known at its start."""
        texts = [_part(part, variables) for part in self.parts]
        if not texts or not texts[0] or self.has_wildcard():
            return None
        return "".join("*" if part is None else part for part in texts)

    def has_wildcard(self) -> bool:
        """Return whether the code itself writes what IAM takes for other texts: `*`, `?` or a variable of policies."""
        texts = [part.default if isinstance(part, VariableRead) else part for part in self.parts]
        return any(sign in text for text in texts if text for sign in ("*", "?", "${"))

    def unset(self, variables: Mapping[str, str]) -> tuple[str, ...]:
        """Return the environment variables that the text needs and that have no value."""
        read = [part for part in self.parts if isinstance(part, VariableRead)]
        return tuple(part.name for part in read if part.default is None and part.name not in variables)


COMPUTED = CodeText(parts=(None,))
"""A text of which nothing is known before the code runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeUse:
    """A call of an operation of AWS in the code.

    Attributes:
        service: The service, as boto3 names it.
        operation: The operation's name in AWS's API, such as `GetObject`; `SIGNED_REQUEST` or `UNSEEN_CALLS`.
        arguments: The parameters of the call that are texts, each with all values that the code can give it. A
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
    """Something that the code does with AWS and that cannot be read from it.

    Attributes:
        file: The file, relative to the agent's folder.
        line: The line; 0 for the whole file.
        what: What is not known.
        try_: What makes it known.
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
    """What the code of an agent does with AWS.

    Attributes:
        uses: The calls, in the order of files and lines.
        unresolved: What could not be read from the code.
        files: The files that were read.
    """

    uses: tuple[CodeUse, ...] = ()
    unresolved: tuple[UnresolvedUse, ...] = ()
    files: tuple[str, ...] = ()


def _part(part: str | VariableRead | None, variables: Mapping[str, str]) -> str | None:
    if isinstance(part, VariableRead):
        return variables.get(part.name, part.default)
    return part
