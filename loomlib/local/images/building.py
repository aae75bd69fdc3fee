"""Builds a runnable package from a Dockerfile and its context: no container, the same code, packages and command."""

from __future__ import annotations

import fnmatch
import io
import posixpath
import re
import shlex
import shutil
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from .dockerfile import Copy, Dockerfile, DockerfileError, Run, read_dockerfile

LAUNCHER: Final = "loom_image_entry.py"
"""The file of a built package that starts the image's command."""

_INSTALLERS: Final = (
    ("pip", "install"), ("pip3", "install"), ("python", "-m", "pip", "install"), ("python3", "-m", "pip", "install"),
    ("uv", "pip", "install"), ("uv", "add"),
)  # fmt: skip
_WITH_VALUE: Final = frozenset({"--target", "-t", "--python", "-p", "--prefix", "--timeout", "--retries", "--extra"})
_INSTALLER_PACKAGES: Final = frozenset({"pip", "setuptools", "wheel", "uv"})
_NO_EFFECT: Final = frozenset(
    {"useradd", "adduser", "groupadd", "addgroup", "chown", "chmod", "mkdir", "rm", "true", "echo", "cd"}
)
_NOT_PASSED_ON: Final = re.compile(r"PATH|VIRTUAL_ENV|UV_\w+|PIP_\w+|HOME|PYTHONPATH")
_RUNNERS: Final = ("opentelemetry-instrument", "exec")
_CONSOLE_SCRIPTS: Final = frozenset({"uvicorn", "hypercorn", "fastapi", "fastmcp"})


@dataclass(slots=True)
class BuiltImage:
    """A package and how it starts.

    Attributes:
        package: A zip file.
        entry_point: AWS's list of one or two items.
        environment: Variables of the image.
        notes: What had no effect here, one line each.
    """

    package: bytes = field(repr=False)
    entry_point: tuple[str, ...]
    environment: dict[str, str]
    notes: list[str]


def build_image(
    context: zipfile.ZipFile,
    dockerfile: str = "Dockerfile",
    folder: str = "",
    arguments: Mapping[str, str] | None = None,
) -> BuiltImage:
    """Build a package.

    Args:
        context: The source.
        dockerfile: The Dockerfile's path in the source.
        folder: The context's folder in the source.
        arguments: Values of `--build-arg`.

    Raises:
        DockerfileError: The Dockerfile is missing, or asks for something that cannot be done here.
    """
    names = [name for name in context.namelist() if not name.endswith("/")]
    if dockerfile not in names:
        raise DockerfileError(f"the source has no file {dockerfile}")
    plan = read_dockerfile(context.read(dockerfile).decode("utf-8", "replace"), arguments or {})
    files = {name.removeprefix(folder): name for name in names if name.startswith(folder)}
    layers = _Layers(context, files)
    for step in plan.steps:
        if isinstance(step, Copy):
            layers.copy(step)
        else:
            layers.run(step)
    return _packed(plan, layers)


class _Layers:
    """The files of an image and its requirements, step by step."""

    def __init__(self, context: zipfile.ZipFile, files: Mapping[str, str]) -> None:
        self.context, self._files = context, files
        self.content: dict[str, str] = {}
        self.requirements: list[str] = []
        self.notes: list[str] = []

    def copy(self, step: Copy) -> None:
        """Copy files of the context into the image."""
        for source in step.sources:
            pattern = posixpath.normpath(source.lstrip("/"))
            matches = [name for name in self._files if fnmatch.fnmatch(name, pattern)]
            inside = [name for name in self._files if pattern == "." or name.startswith(f"{pattern}/")]
            if not matches and not inside:
                raise DockerfileError(f"COPY {source}: the source has no such file")
            for name in matches:
                target = step.target + posixpath.basename(name) if step.target.endswith("/") else step.target
                self.content[posixpath.normpath(target)] = self._files[name]
            for name in inside:
                below = name if pattern == "." else name.removeprefix(f"{pattern}/")
                self.content[posixpath.normpath(f"{step.target}/{below}")] = self._files[name]

    def run(self, step: Run) -> None:
        """Follow the commands of a RUN instruction."""
        folder = step.folder
        for text in re.split(r"&&|;|\|\||\n", step.command):
            try:
                words = [word for word in shlex.split(text) if word != "\\"]
            except ValueError as error:
                raise DockerfileError(f"RUN {text.strip()}: {error}") from error
            if words[:1] == ["cd"] and len(words) == 2:
                folder = folder / words[1]
            elif words:
                self._command(words, folder, text.strip())

    def _command(self, words: Sequence[str], folder: PurePosixPath, text: str) -> None:
        installer = next((start for start in _INSTALLERS if tuple(words[: len(start)]) == start), None)
        if installer is not None:
            self._install(words[len(installer) :], folder, text)
        elif tuple(words[:2]) == ("uv", "sync"):
            self._project(folder, text)
        elif words[0] in ("apt-get", "apt"):
            self._system_packages(words, text)
        elif words[0] in _NO_EFFECT:
            self.notes.append(f"without effect here: {text}")
        else:
            raise DockerfileError(f"RUN {text}: the command {words[0]} is not supported")

    def _install(self, words: Sequence[str], folder: PurePosixPath, text: str) -> None:
        queue = list(words)
        while queue:
            word = queue.pop(0)
            if word in ("-r", "--requirement", "-c", "--constraint"):
                path = posixpath.normpath(str(folder / queue.pop(0)))
                if word in ("-r", "--requirement"):
                    self.requirements += self._read(path, text).splitlines()
            elif word in ("-e", "--editable", "."):
                self._project(folder if word == "." or not queue else folder / queue.pop(0), text)
            elif word in _WITH_VALUE and queue:
                queue.pop(0)
            elif not word.startswith("-") and re.split(r"[<>=!~\[ ]", word)[0].lower() not in _INSTALLER_PACKAGES:
                self.requirements.append(word)

    def _project(self, folder: PurePosixPath, text: str) -> None:
        path = posixpath.normpath(str(folder / "pyproject.toml"))
        try:
            project = tomllib.loads(self._read(path, text))["project"]
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            raise DockerfileError(f"RUN {text}: {path} has no readable section [project]") from error
        self.requirements += list(project.get("dependencies", ()))

    def _read(self, path: str, text: str) -> str:
        if path not in self.content:
            raise DockerfileError(f"RUN {text}: {path} was not copied before")
        return self.context.read(self.content[path]).decode("utf-8", "replace")

    def _system_packages(self, words: Sequence[str], text: str) -> None:
        if "install" in words:
            asked = [word for word in words[words.index("install") + 1 :] if not word.startswith("-")]
            missing = [name for name in asked if name != "ca-certificates" and shutil.which(name) is None]
            if missing:
                raise DockerfileError(f"RUN {text}: this machine has no {', '.join(missing)}; install it here")
        self.notes.append(f"without effect here: {text}")


def _packed(plan: Dockerfile, layers: _Layers) -> BuiltImage:
    entry_point, launcher = _start(plan.command, plan, layers.content)
    buffer = io.BytesIO()
    root = f"{plan.folder}/" if str(plan.folder) != "/" else "/"
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for path, name in sorted(layers.content.items()):
            if not path.startswith(root):
                raise DockerfileError(
                    f"{path} is outside the working folder {plan.folder}, which is all that runs here"
                )
            if path != f"{root}requirements.txt":
                package.writestr(_entry(path.removeprefix(root)), layers.context.read(name))
        package.writestr(_entry("requirements.txt"), "\n".join(dict.fromkeys(layers.requirements)) + "\n")
        package.writestr(_entry(LAUNCHER), launcher)
    environment = {name: value for name, value in plan.environment.items() if not _NOT_PASSED_ON.fullmatch(name)}
    ignored = sorted(plan.environment.keys() - environment.keys())
    notes = [*layers.notes, *(f"the variable {name} is not passed on" for name in ignored)]
    return BuiltImage(buffer.getvalue(), entry_point, environment, notes)


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same source makes the same package
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _start(command: Sequence[str], plan: Dockerfile, content: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Return the entry point, and the source of the file that runs the command's module or script."""
    words = list(command)
    prefix: tuple[str, ...] = ()
    while words and words[0] in _RUNNERS:
        if words.pop(0) == "opentelemetry-instrument":
            prefix = ("opentelemetry-instrument",)
    if words[:2] == ["uv", "run"]:
        words = [word for word in words[2:] if not word.startswith("--")]
    program = posixpath.basename(words[0]) if words else ""
    if re.fullmatch(r"python[0-9.]*", program):
        words = words[1:]
        while words and words[0] in ("-u", "-O", "-B", "-W"):
            words.pop(0)
        if words[:1] == ["-m"] and len(words) > 1:
            how, target, rest = "module", words[1], words[2:]
        elif words and words[0].endswith(".py"):
            how, target, rest = "path", words[0], words[1:]
        else:
            raise DockerfileError(f"CMD {shlex.join(command)}: python needs -m module or a .py file")
    elif program in _CONSOLE_SCRIPTS:
        how, target, rest = "module", program, words[1:]
    elif program.endswith(".py"):
        how, target, rest = "path", words[0], words[1:]
    else:
        raise DockerfileError(f"CMD {shlex.join(command)}: the program {program or 'of no name'} is not supported")
    if how == "path":
        path = posixpath.normpath(str(plan.folder / target))
        if path not in content:
            raise DockerfileError(f"CMD {shlex.join(command)}: {path} was not copied")
        target = posixpath.relpath(path, str(plan.folder))
    run = f"run_{how}({target!r}, run_name='__main__'" + (", alter_sys=True)" if how == "module" else ")")
    source = f"import runpy\nimport sys\n\nsys.argv[:] = {[target, *rest]!r}\nrunpy.{run}\n"
    return (*prefix, LAUNCHER), source
