"""Finds the images that a buildspec builds and pushes. Its shell is not run: only its `docker` lines count."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

_PHASES: Final = ("install", "pre_build", "build", "post_build")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
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
        "cd",
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


def read_buildspec(text: str, environment: Mapping[str, str], predefined: Mapping[str, str] | None = None) -> Buildspec:
    """Read a buildspec (version 0.2).

    Args:
        text: Its YAML.
        environment: The variables of the project and of StartBuild, which precede those of the buildspec.
        predefined: The variables that CodeBuild sets, which the buildspec may replace.

    Raises:
        BuildspecError: It is not YAML, pushes no image, or has a command that is not supported.
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
    values = {**(predefined or {}), **own, **environment}
    result = Buildspec()
    for words in _commands(spec, values):
        if words[:2] == ["docker", "build"] or words[:3] == ["docker", "buildx", "build"]:
            _read_build(words[2:] if words[1] == "build" else words[3:], result)
        elif words[:2] == ["docker", "push"]:
            result.pushed += [word for word in words[2:] if not word.startswith("-")]
        elif words[:2] not in (["docker", "tag"], ["docker", "login"], ["docker", "buildx"]):
            raise BuildspecError(f"the command {shlex.join(words)} of the buildspec is not supported")
    if not result.dockerfile:
        raise BuildspecError("the buildspec builds no image: it has no docker build")
    if not result.pushed:
        raise BuildspecError("the buildspec pushes no image: it has no docker push")
    return result


def _commands(spec: Mapping[str, Any], values: dict[str, str]) -> Iterator[list[str]]:
    """Yield the words of the docker commands of all phases, with variables replaced."""
    for phase in _PHASES:
        for command in _mapping(spec, "phases", phase).get("commands") or ():
            text = str(command).replace("\\\n", " ")
            for part in re.split(r"&&|\|\||[;\n|]|&(?!\d)", text):
                line = re.sub(r"\d?>\S*|^\s*(?:then|else|do)\s+", " ", part).strip()
                if not line or line.startswith("#"):
                    continue
                if match := _ASSIGNMENT.fullmatch(line):
                    values[match[1]] = _replaced(match[2].strip("\"'"), values)
                    continue
                try:
                    words = shlex.split(_replaced(line, values))
                except ValueError:
                    words = line.split()
                if words and words[0] not in _NO_EFFECT:
                    if words[0] != "docker":
                        raise BuildspecError(f"the command {line} of the buildspec is not supported")
                    yield words


def _read_build(words: list[str], result: Buildspec) -> None:
    context, dockerfile, pushes, tags = ".", "", False, list[str]()
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
                result.arguments[name] = content
            elif word == "--target":
                raise BuildspecError("docker build --target is not supported")
        elif word == "--push":
            pushes = True
        elif not word.startswith("-"):
            context = word
    folder = context.removeprefix("./").strip("/")
    result.folder = "" if folder in ("", ".") else f"{folder}/"
    result.dockerfile = dockerfile.removeprefix("./") or f"{result.folder}Dockerfile"
    result.pushed += tags if pushes else []


def _mapping(spec: Mapping[str, Any], *names: str) -> dict[str, Any]:
    value: Any = spec
    for name in names:
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _replaced(text: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: values.get(match[1] or match[3], match[2] or ""), text)
