"""Finds the images that a buildspec builds and pushes. Only `docker` and `cd` commands are read; no shell is run."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

_PHASES: Final = ("install", "pre_build", "build", "post_build")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SOURCE_FOLDER: Final = "CODEBUILD_SRC_DIR"
_SYNTAX: Final = re.compile(
    r"""(?P<kept>'[^']*'|"(?:[^"\\]|\\.)*"|\\.)
    |(?P<dropped>(?<![^\s;|&])\#[^\n]*|\d?>>?&?[^\S\n]*(?:'[^']*'|"[^"]*"|[^\s;|&'"])*)
    |(?P<operator>&&|\|\||[;\n|]|&(?!\d))""",
    re.VERBOSE | re.DOTALL,
)
"""The tokens of a script: quoted text is kept, comments and redirections are dropped, operators separate commands."""

_NO_EFFECT: Final = frozenset(
    {
        "echo",
        "printf",
        "aws",
        "wait",
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "exit",
        "set",
        "ls",
        "cat",
        "true",
        "pwd",
    }
    | {"sleep", "date", "export", "[", "test"}
)


class BuildspecError(ValueError):
    """A buildspec that is not supported here."""


@dataclass(slots=True)
class Buildspec:
    """The images of a buildspec.

    Attributes:
        dockerfile: Path of the Dockerfile in the source.
        folder: The context's folder in the source: empty, or with a slash at its end.
        arguments: Values of `--build-arg`.
        pushed: The names under which the image is pushed.
    """

    dockerfile: str = ""
    folder: str = ""
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    pushed: list[str] = field(default_factory=list[str])


def read_buildspec(
    text: str,
    environment: Mapping[str, str],
    predefined: Mapping[str, str] | None = None,
    *,
    stored: Collection[str] = (),
) -> Buildspec:
    """Read a buildspec (version 0.2).

    Args:
        text: Its YAML.
        environment: The variables of the project and of StartBuild, which precede those of the buildspec.
        predefined: The variables that CodeBuild sets, which the buildspec may replace.
        stored: The names of the project's and StartBuild's variables whose values are in Parameter Store or Secrets
            Manager. They are not read: a build may have them, but no image may depend on them.

    Raises:
        BuildspecError: It is not YAML, builds no image or several, pushes none, has a command that is not supported,
            or needs a stored variable.
    """
    import yaml  # takes 20 ms to import, which only builds need

    try:
        document: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BuildspecError(f"the buildspec is not YAML: {error}") from error
    if not isinstance(document, dict):
        raise BuildspecError("the buildspec is not a mapping")
    spec = cast("dict[str, Any]", document)
    own = {str(name): str(value) for name, value in _mapping(spec, "env", "variables").items()}
    unread = {str(name) for kind in ("parameter-store", "secrets-manager") for name in _mapping(spec, "env", kind)}
    unread = (unread - set(environment)) | set(stored)
    # An unread variable stays as it is written, so that a command that needs it is recognized.
    left = {name: f"${{{name}}}" for name in unread}
    values = {_SOURCE_FOLDER: "/.", **(predefined or {}), **own, **environment, **left}
    result, folder = Buildspec(), "/"
    for words in _commands(spec, values):
        if words[:2] not in (["docker", "tag"], ["docker", "login"]):
            _check_read(words, unread)
        if words[0] == "cd":
            folder = _folder_after(words, folder)
        elif words[:2] == ["docker", "build"] or words[:3] == ["docker", "buildx", "build"]:
            _read_build(words[2:] if words[1] == "build" else words[3:], folder, result)
        elif words[:2] == ["docker", "push"]:
            result.pushed += [word for word in words[2:] if not word.startswith("-")]
        elif words[:2] not in (["docker", "tag"], ["docker", "login"], ["docker", "buildx"]):
            raise BuildspecError(f"the command {shlex.join(words)} of the buildspec is not supported")
    if not result.dockerfile:
        raise BuildspecError("the buildspec builds no image: it has no docker build")
    if not result.pushed:
        raise BuildspecError("the buildspec pushes no image: it has no docker push")
    for name in result.pushed:
        _check_no_substitution(name)
    return result


def _commands(spec: Mapping[str, Any], values: dict[str, str]) -> Iterator[list[str]]:
    """Yield the words of the docker and cd commands of all phases, with variables replaced."""
    for phase in _PHASES:
        for command in _mapping(spec, "phases", phase).get("commands") or ():
            text = str(command).replace("\\\n", " ")
            text = _SYNTAX.sub(lambda match: match["kept"] or ("\0" if match["operator"] else " "), text)
            for part in text.split("\0"):
                line = re.sub(r"^\s*(?:then|else|do)\s+", "", part).strip()
                if not line or line.split()[0] in _NO_EFFECT - {"export"}:
                    continue
                if match := _ASSIGNMENT.fullmatch(line):
                    values[match[1]] = _replaced(match[2].strip("\"'"), values)
                    continue
                try:
                    words = shlex.split(_replaced(line, values))
                except ValueError as error:
                    raise BuildspecError(f"the command {line} of the buildspec cannot be read: {error}") from error
                if words and words[0] not in _NO_EFFECT:
                    if words[0] not in ("docker", "cd"):
                        raise BuildspecError(f"the command {line} of the buildspec is not supported")
                    yield words


def _check_read(words: list[str], unread: Collection[str]) -> None:
    """Refuse a command that needs a variable whose value is not read here."""
    text = " ".join(words)
    if name := next((name for match in _VARIABLE.finditer(text) if (name := match[1] or match[3]) in unread), None):
        raise BuildspecError(
            f"the command {text} of the buildspec needs {name} from Parameter Store or Secrets Manager, which builds do"
            f" not read here; set {name} as a PLAINTEXT variable of the build"
        )


def _check_no_substitution(text: str) -> None:
    if "$(" in text or "`" in text:
        raise BuildspecError(
            f"{text} of the buildspec needs the output of another command, which is not run here;"
            " set the value as a variable of the build"
        )


def _folder_after(words: list[str], folder: str) -> str:
    """Return the working folder after a `cd`; that of the source is `/`."""
    _check_no_substitution(shlex.join(words))
    paths = [word for word in words[1:] if word != "--"]
    if len(paths) > 1 or (paths and paths[0][:1] in ("-", "~")):
        raise BuildspecError(f"the command {shlex.join(words)} of the buildspec is not supported")
    return posixpath.normpath(posixpath.join(folder, paths[0])) if paths else "/"


def _read_build(words: list[str], folder: str, result: Buildspec) -> None:
    """Read the arguments of a `docker build` that runs in a folder of the source."""
    context, dockerfile, pushes, tags = ".", "", False, list[str]()
    arguments: dict[str, str] = {}
    queue = list(words)
    while queue:
        word, has_value, value = queue.pop(0).partition("=")
        if word in (
            "-t",
            "--tag",
            "-f",
            "--file",
            "--build-arg",
            "--platform",
            "--target",
            "--cache-from",
            "--progress",
        ):
            if not has_value:
                value = queue.pop(0) if queue else ""
            if word in ("-t", "--tag"):
                tags.append(value)
            elif word in ("-f", "--file"):
                dockerfile = value
            elif word == "--build-arg":
                name, _, content = value.partition("=")
                arguments[name] = content
            elif word == "--target":
                raise BuildspecError("docker build --target is not supported")
        elif word == "--push":
            pushes = True
        elif not word.startswith("-"):
            context = word
    source = posixpath.normpath(posixpath.join(folder, context)).strip("/")
    source = f"{source}/" if source else ""
    path = posixpath.normpath(posixpath.join(folder, dockerfile)).strip("/") if dockerfile else f"{source}Dockerfile"
    if result.dockerfile and (path, source, arguments) != (result.dockerfile, result.folder, result.arguments):
        raise BuildspecError(
            f"the buildspec builds several images, of {result.dockerfile} and of {path}; give each a project of its own"
        )
    result.dockerfile, result.folder, result.arguments = path, source, arguments
    result.pushed += tags if pushes else []


def _mapping(spec: Mapping[str, Any], *names: str) -> dict[str, Any]:
    value: Any = spec
    for name in names:
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _replaced(text: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: values.get(match[1] or match[3], match[2] or ""), text)
