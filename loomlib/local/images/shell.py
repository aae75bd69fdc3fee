"""Reads the command of a RUN instruction as a shell would: commands, words, operators, redirections. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from .dockerfile import DockerfileError, Run, replace_variables

_TOKEN: Final = re.compile(
    r"""(?P<space>[^\S\n]+)
    |(?P<redirection>\d*(?:>>|>\||>&|<<<|<<|<>|<&|<|>)|&>>|&>)
    |(?P<operator>&&|\|\||\|&|[;|&\n])
    |(?P<word>(?:[^\s'"\\;|&<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)""",
    re.VERBOSE | re.DOTALL,
)
_PIECE: Final = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>[^'"\\]+)""", re.DOTALL
)
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=.*", re.DOTALL)
_SUBSTITUTION: Final = re.compile(r"(?<!\\)(?:`|\$[({][^\s})]*[})]?)")
_USER_INFO: Final = re.compile(r"(?<=://)[^\s'\"]*@")
_QUERY: Final = re.compile(r"(://[^\s'\"?]*\?)[^\s'\"]+")


@dataclass(slots=True)
class Command:
    """One command of a shell command line.

    Attributes:
        operator: The operator before it: `&&`, `||`, `|`, `;` or another; empty for the first.
        words: Its words, with variables replaced.
        variables: The names of the variables that are set for it alone.
        files: The files that its redirections read or write.
        text: The command as it is written, for messages: without values of variables and credentials of addresses.
    """

    operator: str = ""
    words: list[str] = field(default_factory=list[str])
    variables: list[str] = field(default_factory=list[str])
    files: list[str] = field(default_factory=list[str])
    text: str = ""


def read_commands(run: Run) -> Iterator[Command]:
    """Yield the commands of a RUN instruction.

    Raises:
        DockerfileError: The shell's syntax is wrong, or needs a shell.
    """
    command, redirection, position, comment = Command(), "", 0, False
    while position < len(run.command):
        token = _TOKEN.match(run.command, position)
        if token is None:
            reason = "subshells are not supported" if run.command[position] in "()" else "no closing quotation"
            raise DockerfileError(f"RUN {without_credentials(run.command)}: {reason}")
        position, raw = token.end(), token[0]
        comment = raw != "\n" and (comment or (token.lastgroup == "word" and raw.startswith("#")))
        if comment or token.lastgroup == "space":
            continue
        if token.lastgroup == "operator":
            if command.text:
                yield command
            command, redirection = Command(operator=raw), ""
            continue
        assignment = None if command.words or redirection else _ASSIGNMENT.fullmatch(raw)
        if assignment is None:
            command.text += f"{' ' if command.text else ''}{without_credentials(raw)}"
        if token.lastgroup == "redirection":
            redirection = raw
        elif redirection:
            target = "".join(_words(raw, run.values))
            if not (redirection.endswith("&") or target in ("/dev/null", "/dev/stdout", "/dev/stderr")):
                command.files.append(target)
            redirection = ""
        elif assignment is not None:
            command.variables.append(assignment[1])
        else:
            command.words += _words(raw, run.values)
    if command.text:
        yield command


def without_credentials(text: str) -> str:
    """Return a text without the user names, passwords and queries of the addresses in it."""
    return _QUERY.sub(r"\1***", _USER_INFO.sub("***@", text))


def _words(raw: str, values: Mapping[str, str]) -> list[str]:
    """Return the words of a token: without quotation marks, and split where an unquoted variable has spaces."""
    words = [""]
    for piece in _PIECE.finditer(raw):
        if piece.lastgroup in ("single", "escaped"):
            words[-1] += piece[piece.lastgroup]
            continue
        text = piece["bare"] or piece["double"] or ""
        replaced = replace_variables(text, values)
        if substitution := _SUBSTITUTION.search(replace_variables(text, {})):
            raise DockerfileError(
                f"RUN {without_credentials(raw)}: the substitution {substitution[0]} is not supported"
            )
        if piece["bare"] is None:
            words[-1] += re.sub(r'\\([$`"\\])', r"\1", replaced)
            continue
        first, *others = re.split(r"\s+", replaced)
        words[-1] += first
        words += others
    return [word for word in words if word]
