"""Reads a Dockerfile into instructions, with its variables replaced.

Syntax: https://docs.docker.com/reference/dockerfile/. Only the instructions that an agent's image usually needs are
supported; any other is refused by name, so that an image never differs from its Dockerfile unnoticed.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, cast

_VARIABLE: Final = re.compile(r"(?<!\\)\$(?:\{(\w+)(?::([-+])([^}]*))?\}|(\w+))")
_WORD: Final = re.compile(r"""(?:\$\{[^}]*\}|[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""")
_PIECE: Final = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<braces>\$\{[^}]*\})|(?P<bare>\$\w+|[^'"\\$]+|\$)"""
)
_DOUBLE_QUOTED: Final = re.compile(r"""\\([$`"\\])|((?:[^\\]|\\(?![$`"\\]))+)""")
_BY_WORDS: Final = frozenset({"ARG", "ENV", "COPY", "ADD", "RUN", "CMD", "ENTRYPOINT"})
"""Instructions whose variables are replaced after they are split into words."""

_PYTHON_IMAGE: Final = re.compile(
    r"(?:(?:[\w.-]+/)*python(?::[\w.-]+)?|(?:[\w.-]+/)*uv:(?:[\w.]+-)?python[\w.-]*)(?:@sha256:[0-9a-f]{64})?"
)
_NO_EFFECT: Final = {
    "LABEL": "",
    "MAINTAINER": "",
    "HEALTHCHECK": "AgentCore does not use it",
    "STOPSIGNAL": "the service ends a session's process itself",
    "USER": "a session runs as the user of the service, behind the sandbox",
    "EXPOSE": "the runtime's protocol decides the port",
    "SHELL": "no shell runs; RUN is read by sh's rules",
}
"""Instructions that do not change what runs here, each with its reason; labels need none."""

_COPY_OPTIONS: Final = frozenset({"--chown", "--chmod", "--link"})
_ARCHIVE: Final = re.compile(r".*\.(?:tar(?:\.\w+)?|tgz|tbz2?|txz)")
_CHOOSES_PACKAGES: Final = re.compile(
    r"(?:PIP|UV)_(?:\w*INDEX\w*|FIND_LINKS|\w*CONSTRAINTS?|OVERRIDES?|PRE|PRERELEASE|RESOLUTION|EXCLUDE_NEWER|NO_DEPS"
    r"|ONLY_BINARY|NO_BINARY|NO_BUILD|REQUIREMENT|PLATFORM|CONFIG_FILE|UPLOADED_PRIOR_TO)"
)


class DockerfileError(ValueError):
    """An instruction that is not supported here; the message names its line."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy files of the build's context.

    Attributes:
        sources: Paths in the context, with wildcards.
        target: Path in the image; a folder if it ends with a slash.
    """

    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class Run:
    """Run a shell command.

    Attributes:
        command: The command as it is written.
        folder: The working folder.
        values: The variables that it may use.
    """

    command: str
    folder: PurePosixPath
    values: Mapping[str, str]


@dataclass(slots=True)
class Dockerfile:
    """The contents of a Dockerfile.

    Attributes:
        steps: Files to copy and commands to run, in order.
        folder: The working folder at its end.
        environment: Variables of the image.
        command: The words that start the agent: ENTRYPOINT, then CMD.
        notes: Instructions without an effect here, one line each.
    """

    steps: list[Copy | Run] = field(default_factory=list[Copy | Run])
    folder: PurePosixPath = field(default_factory=lambda: PurePosixPath("/"))
    environment: dict[str, str] = field(default_factory=dict[str, str])
    command: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list[str])


def read_dockerfile(text: str, arguments: Mapping[str, str]) -> Dockerfile:
    """Read a Dockerfile.

    Args:
        text: Its content.
        arguments: Values of `--build-arg`.

    Raises:
        DockerfileError: An instruction is not supported here.
    """
    result = Dockerfile()
    values: dict[str, str] = {}
    entry: tuple[str, ...] = ()
    takes_arguments = True
    for line, name, rest in _instructions(text):
        variables = {**values, **result.environment}
        if name not in _BY_WORDS:
            rest = replace_variables(rest, variables)
        if name in ("RUN", "COPY", "ADD") and re.search(r"(?:^|\s)\d*<<-?[\w'\"]", rest):
            raise DockerfileError(f"line {line}: {name} with a here-document (<<) is not supported")
        if name == "FROM":
            _check_base(line, rest, has_base=bool(values.get("FROM ")))
            values["FROM "] = rest  # no variable has a space
        elif name == "ARG":
            for variable, default in _pairs(line, name, rest, variables):
                values[variable] = arguments.get(variable, default)
                _check_installer(line, name, variable, values[variable])
        elif name == "ENV":
            for variable, value in _pairs(line, name, rest, variables):
                _check_installer(line, name, variable, value)
                result.environment[variable] = value
        elif name == "WORKDIR":
            result.folder = PurePosixPath(posixpath.normpath(result.folder / rest.strip("\"'")))
        elif name in ("COPY", "ADD"):
            if step := _copy(line, name, rest, result.folder, variables):
                result.steps.append(step)
        elif name == "RUN":
            result.steps.append(Run(_run_text(rest), result.folder, variables))
        elif name in ("CMD", "ENTRYPOINT"):
            words = _command(line, rest, variables)
            if name == "CMD":
                result.command = words
            else:
                entry, takes_arguments = words, rest.startswith("[")  # a shell does not pass CMD on
        elif name not in _NO_EFFECT:
            raise DockerfileError(f"line {line}: the instruction {name} is not supported")
        elif reason := _NO_EFFECT[name]:
            result.notes.append(f"without effect here: {name} {rest} ({reason})")
    result.command = (*entry, *result.command) if takes_arguments else entry
    if not result.command:
        raise DockerfileError("the Dockerfile has no CMD or ENTRYPOINT that starts the agent")
    return result


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line number, instruction and the rest, with continued lines joined and comments removed."""
    parts: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or (not line.strip() and parts):
            continue
        first = first if parts else number
        if line.rstrip().endswith("\\"):
            parts.append(line.rstrip()[:-1])
            continue
        parts.append(line)
        joined = " ".join(part.strip() for part in parts).strip()
        parts = []
        if joined:
            name, _, rest = joined.partition(" ")
            yield first, name.upper(), rest.strip()
    if parts:
        raise DockerfileError(f"line {first}: the last line ends with a continuation")


def _check_base(line: int, rest: str, *, has_base: bool) -> None:
    words = [word for word in rest.split() if not word.startswith("--platform")]
    if has_base or len(words) > 1:
        raise DockerfileError(f"line {line}: builds in several stages (FROM … AS …) are not supported")
    if not words or not _PYTHON_IMAGE.fullmatch(words[0]):
        raise DockerfileError(f"line {line}: the base image {rest} is not supported, only python and uv images")


def _check_installer(line: int, name: str, variable: str, value: str) -> None:
    """Refuse a setting of pip or uv that changes which packages are installed."""
    if value and changes_packages(variable):
        raise DockerfileError(
            f"line {line}: {name} {variable} is not supported, it changes which packages are installed"
        )


def changes_packages(variable: str) -> bool:
    """Return whether a variable is a setting of pip or uv that changes which packages are installed."""
    return bool(_CHOOSES_PACKAGES.fullmatch(variable))


def _pairs(line: int, name: str, rest: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    words = _words(line, rest, values)
    if name == "ENV" and len(words) > 1 and "=" not in words[0]:
        yield words[0], _unquoted(rest.partition(" ")[2].strip(), values)  # the old form: ENV NAME value
        return
    for word in words:
        variable, has_value, value = word.partition("=")
        if not variable.isidentifier() or (name == "ENV" and not has_value):
            raise DockerfileError(f"line {line}: {word} is not NAME=value")
        yield variable, value


def _words(line: int, rest: str, values: Mapping[str, str]) -> list[str]:
    """Split an instruction as Docker does: into words first, so that a variable's value never becomes several."""
    if _WORD.sub("", rest).strip():
        raise DockerfileError(f"line {line}: {rest} has no closing quotation")
    return [_unquoted(word, values) for word in _WORD.findall(rest)]


def _unquoted(text: str, values: Mapping[str, str]) -> str:
    """Return a text without its quotation marks, and with its variables replaced outside single quotes."""
    return _PIECE.sub(lambda piece: _piece_value(piece, values), text)


def _piece_value(piece: re.Match[str], values: Mapping[str, str]) -> str:
    kind = str(piece.lastgroup)
    if kind in ("single", "escaped"):
        return piece[kind]
    if kind == "double":
        return _DOUBLE_QUOTED.sub(lambda part: part[1] or replace_variables(part[2], values), piece[kind])
    replaced, variable = replace_variables(piece[0], values), _VARIABLE.fullmatch(piece[0])
    if variable and variable[3] and replaced == variable[3]:
        return _unquoted(replaced, values)  # the other value of ${NAME:-other}, which may have quotation marks
    return replaced


def _copy(line: int, name: str, rest: str, folder: PurePosixPath, values: Mapping[str, str]) -> Copy | None:
    words = [replace_variables(word, values) for word in _json_words(rest)] or _words(line, rest, values)
    flags, paths = [word for word in words if word.startswith("--")], [word for word in words if word[:2] != "--"]
    if origin := next((flag for flag in flags if flag.startswith("--from=")), None):
        if "astral-sh/uv" in origin and all(path.rpartition("/")[2] in ("uv", "uvx") for path in paths[:-1]):
            return None  # uv itself: requirements are installed by the service
        raise DockerfileError(f"line {line}: COPY {origin} is not supported")
    if option := next((flag for flag in flags if flag.partition("=")[0] not in _COPY_OPTIONS), None):
        raise DockerfileError(f"line {line}: {name} {option} is not supported")
    if len(paths) < 2:
        raise DockerfileError(f"line {line}: {name} needs a source and a target")
    if any("://" in path for path in paths[:-1]):
        raise DockerfileError(f"line {line}: ADD of an address is not supported; put the file into the source")
    if archive := next((path for path in paths[:-1] if name == "ADD" and _ARCHIVE.fullmatch(path)), None):
        raise DockerfileError(f"line {line}: ADD {archive}: archives are not unpacked; put their files into the source")
    target = posixpath.normpath(folder / paths[-1])
    if paths[-1].endswith("/") or len(paths) > 2 or target == str(folder):
        target = target.rstrip("/") + "/"
    return Copy(tuple(paths[:-1]), target)


def _run_text(rest: str) -> str:
    words = _json_words(rest)
    text = shlex.join(words) if words else rest
    return re.sub(r"^(?:--(?:mount|network|security)=\S+\s+)+", "", text)


def _command(line: int, rest: str, values: Mapping[str, str]) -> tuple[str, ...]:
    if (words := _json_words(rest)) or re.fullmatch(r"\[\s*\]", rest):
        return tuple(words)
    text = replace_variables(rest, values)
    if re.search(r"[;&|<>`$]", text):
        raise DockerfileError(f"line {line}: the shell command {rest} is not supported; write it as a JSON list")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise DockerfileError(f"line {line}: the shell command {rest} cannot be read: {error}") from error


def _json_words(rest: str) -> list[str]:
    if not rest.startswith("["):
        return []
    try:
        words = json.loads(rest)
    except ValueError:
        return []
    return [str(word) for word in cast("list[object]", words)] if isinstance(words, list) else []


def replace_variables(text: str, values: Mapping[str, str]) -> str:
    """Return a text with `$NAME`, `${NAME}`, `${NAME:-other}` and `${NAME:+other}` replaced.

    Args:
        text: The text.
        values: The variables; any other is empty.
    """

    def value(match: re.Match[str]) -> str:
        name, sign, other = match[1] or match[4], match[2], match[3] or ""
        if sign == "+":
            return other if values.get(name) else ""
        return values.get(name) or (other if sign == "-" else "")

    return _VARIABLE.sub(value, text)
