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

from .dockerfile import Copy, Dockerfile, DockerfileError, Run, changes_packages, read_dockerfile
from .dockerignore import Dockerignore
from .installing import Installation, OptionError, read_installation
from .shell import read_commands

LAUNCHER: Final = "loom_image_entry.py"
"""The file of a built package that starts the image's command."""

_NO_EFFECT: Final = frozenset(
    {"useradd", "adduser", "groupadd", "addgroup", "chown", "chmod", "mkdir", "true", "echo", "printf", "cd", "set"}
)
_NOT_PASSED_ON: Final = re.compile(r"PATH|VIRTUAL_ENV|UV_\w+|PIP_\w+|HOME")
_WILDCARD: Final = re.compile(r"[*?\[]")
_UV_RUN_VALUES: Final = frozenset(
    {"--python", "-p", "--python-platform", "--package", "--project", "--extra", "--no-extra", "--group", "--no-group"}
    | {"--only-group", "--index", "--default-index", "--index-url", "-i", "--extra-index-url", "--find-links", "-f"}
    | {"--index-strategy", "--keyring-provider", "--upgrade-package", "-P", "--upgrade-group", "--reinstall-package"}
    | {"--refresh-package", "--resolution", "--prerelease", "--fork-strategy", "--exclude-newer", "--link-mode"}
    | {"--exclude-newer-package", "--config-setting", "-C", "--config-settings-package", "--no-build-package"}
    | {"--no-build-isolation-package", "--no-binary-package", "--no-sources-package", "--python-preference"}
    | {"--cache-dir", "--config-file", "--color", "--allow-insecure-host"}
)
"""Options of uv run with a value: without effect here, because RUN installs the packages."""
_UV_RUN_REFUSED: Final = frozenset(
    {"--with", "-w", "--with-editable", "--with-requirements", "--env-file", "--directory", "--gui-script"}
)
_CONSOLE_SCRIPTS: Final = frozenset({"uvicorn", "hypercorn", "fastapi", "fastmcp"})


@dataclass(slots=True)
class BuiltImage:
    """A package and its start command.

    Attributes:
        package: A zip file.
        entry_point: AWS's list of one or two items.
        environment: Variables of the image.
        notes: Instructions without an effect here, one line each.
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
        DockerfileError: The Dockerfile is missing, or contains something that is not supported here.
    """
    names = [name for name in context.namelist() if not name.endswith("/")]
    if dockerfile not in names:
        raise DockerfileError(f"the source has no file {dockerfile}")
    plan = read_dockerfile(context.read(dockerfile).decode("utf-8", "replace"), arguments or {})
    files = {name.removeprefix(folder): name for name in names if name.startswith(folder)}
    own = f"{dockerfile}.dockerignore"
    patterns = own if own in names else f"{folder}.dockerignore"
    ignored = Dockerignore(context.read(patterns).decode("utf-8", "replace") if patterns in names else "")
    layers = _Layers(context, {path: name for path, name in files.items() if not ignored.excludes(path)})
    if excluded := len(files) - len(layers.files):
        layers.notes.append(f"{patterns} excludes {excluded:,} of {len(files):,} files")
    for step in plan.steps:
        if isinstance(step, Copy):
            layers.copy(step)
        else:
            layers.run(step)
    return _packed(plan, layers)


class _Layers:
    """The files of an image and its requirements, step by step."""

    def __init__(self, context: zipfile.ZipFile, files: Mapping[str, str]) -> None:
        self.context, self.files = context, files
        self.content: dict[str, str] = {}
        self.requirements: list[str] = []
        self.notes: list[str] = []

    def copy(self, step: Copy) -> None:
        """Copy files of the context into the image."""
        for source in step.sources:
            pattern = posixpath.normpath(source.lstrip("/"))
            matches = {name: rest for name in self.files if (rest := _below(pattern, name)) is not None}
            if not matches and not _WILDCARD.search(pattern):
                raise DockerfileError(f"COPY {source}: the source has no such file, or .dockerignore excludes it")
            if not matches:
                self.notes.append(f"COPY {source}: no file matches")
            is_folder = step.target.endswith("/") or any(_below(step.target, path) for path in self.content)
            if not is_folder and sum(not rest for rest in matches.values()) > 1:
                raise DockerfileError(f"COPY {source}: several files need a target that ends with a slash")
            for name, rest in matches.items():
                below = rest or (posixpath.basename(name) if is_folder else "")
                self.content[posixpath.normpath(f"{step.target.rstrip('/')}/{below}")] = self.files[name]

    def run(self, step: Run) -> None:
        """Apply the commands of a RUN instruction."""
        folder, is_skipped = step.folder, False
        for command in read_commands(step):
            # Every command that is applied here succeeds, so a command after || does not run.
            is_skipped = command.operator == "||" or (is_skipped and command.operator.startswith("|"))
            if is_skipped:
                self.notes.append(f"not run, because the command before it succeeds: {command.text}")
                continue
            words = command.words
            if command.files:
                raise DockerfileError(
                    f"RUN {' '.join(words[:1])} … {', '.join(command.files)}: redirections to or from files are not "
                    "supported; put the file into the source, or quote < and > of a requirement"
                )
            if setting := next(filter(changes_packages, command.variables), None):
                raise DockerfileError(f"RUN {setting}=…: this setting of the installer is not supported")
            if words[:1] == ["cd"] and len(words) == 2:
                folder = folder / words[1]
            elif words:
                self._command(words, folder, command.text)

    def _command(self, words: Sequence[str], folder: PurePosixPath, text: str) -> None:
        try:
            installation = read_installation(words)
            if installation is not None:
                self._install(installation, folder, text)
                return
        except OptionError as error:
            raise DockerfileError(f"RUN {text}: {error}") from error
        if words[0] in ("apt-get", "apt"):
            self._system_packages(words, text)
        elif words[0] == "rm":
            self._remove(words[1:], folder, text)
        elif words[0] in _NO_EFFECT:
            self.notes.append(f"without effect here: {text}")
        else:
            raise DockerfileError(f"RUN {text}: the command {words[0]} is not supported")

    def _install(self, installation: Installation, folder: PurePosixPath, text: str) -> None:
        self.requirements += installation.requirements
        projects = list(installation.projects)
        extras = None if installation.all_extras else tuple(installation.extras)
        has_project = installation.synchronizes
        if installation.synchronizes:
            self._project(folder, extras, text)
            if posixpath.normpath(folder / "uv.lock") in self.content:
                self.notes.append("uv.lock is not read: the versions are those that pyproject.toml allows")
        for name in installation.files:
            path = folder / name
            if path.name == "pyproject.toml":
                has_project = True
                self._project(path.parent, extras, text)
            else:
                self._read_requirements(posixpath.normpath(path), text, set())
        for name, own_extras in projects:
            self._project(folder / name, own_extras, text)
        if extras != () and not has_project:
            raise OptionError("the option --extra is supported only with a pyproject.toml")

    def _read_requirements(self, path: str, text: str, seen_paths: set[str]) -> None:
        """Add the lines of a requirements file, and of the files that it includes."""
        seen_paths.add(path)
        for line in re.sub(r"\\\r?\n", " ", self._read(path, text).removeprefix("\ufeff")).splitlines():
            requirement = re.sub(r"(?:^|\s)#.*", "", line).strip()
            if match := re.fullmatch(r"(?:-r|--requirement)[\s=]*(.+)", requirement):
                other = posixpath.normpath(PurePosixPath(path).parent / match[1].strip())
                if other not in seen_paths:
                    self._read_requirements(other, text, seen_paths)
            elif re.match(r"-c|--constraint", requirement):
                read_installation(("pip", "install", "--constraint", path))  # refuses it
            elif requirement:
                self.requirements.append(re.sub(r"\s+", " ", requirement))

    def _project(self, folder: PurePosixPath, extras: Sequence[str] | None, text: str) -> None:
        """Add a project's dependencies, and those of some of its extras, or of all."""
        path = posixpath.normpath(folder / "pyproject.toml")
        try:
            project = tomllib.loads(self._read(path, text))["project"]
            optional = project.get("optional-dependencies", {})
            self.requirements += list(project.get("dependencies", ()))
            for name in optional if extras is None else extras:
                if name not in optional:
                    raise DockerfileError(f"RUN {text}: {path} has no extra {name}")
                self.requirements += list(optional[name])
        except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
            raise DockerfileError(f"RUN {text}: {path} has no readable section [project]") from error

    def _remove(self, words: Sequence[str], folder: PurePosixPath, text: str) -> None:
        options = {letter for word in words if word.startswith("-") for letter in word.lstrip("-")}
        removed: set[str] = set()
        for word in words:
            if word.startswith("-"):
                continue
            pattern = posixpath.normpath(folder / word)
            matches = {path: rest for path in self.content if (rest := _below(pattern, path, hides=True)) is not None}
            if any(matches.values()) and not options & {"r", "R"}:
                raise DockerfileError(f"RUN {text}: {word} is a folder, which rm removes only with -r")
            removed |= matches.keys()
        for path in removed:
            del self.content[path]
        self.notes.append(f"{'removed from the package' if removed else 'without effect here'}: {text}")

    def _read(self, path: str, text: str) -> str:
        if path not in self.content:
            raise DockerfileError(f"RUN {text}: {path} was not copied before, or was removed")
        return self.context.read(self.content[path]).decode("utf-8", "replace")

    def _system_packages(self, words: Sequence[str], text: str) -> None:
        if "install" in words:
            packages = [word for word in words[words.index("install") + 1 :] if not word.startswith("-")]
            missing = [name for name in packages if name != "ca-certificates" and shutil.which(name) is None]
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
                    f"{path} is outside the working folder {plan.folder}; only files in it can run here"
                )
            if path != f"{root}requirements.txt":
                package.writestr(_entry(path.removeprefix(root)), layers.context.read(name))
        package.writestr(_entry("requirements.txt"), "\n".join(dict.fromkeys(layers.requirements)) + "\n")
        package.writestr(_entry(LAUNCHER), launcher)
    environment = {name: value for name, value in plan.environment.items() if not _NOT_PASSED_ON.fullmatch(name)}
    ignored = sorted(plan.environment.keys() - environment.keys())
    if search_path := environment.pop("PYTHONPATH", ""):
        environment["PYTHONPATH"] = _search_path(search_path, plan.folder)
    notes = [*plan.notes, *layers.notes, *(f"the variable {name} is not passed on" for name in ignored)]
    return BuiltImage(buffer.getvalue(), entry_point, environment, notes)


def _below(pattern: str, path: str, *, hides: bool = False) -> str | None:
    """Return a path below the file or folder that matches a pattern; empty for itself, None if it does not match.

    Args:
        pattern: A path whose parts may have wildcards.
        path: The path of a file.
        hides: Whether a wildcard leaves out names that begin with a dot, as in a shell.
    """
    if pattern in (".", "/"):
        return path
    pattern_parts, parts = pattern.rstrip("/").replace("[^", "[!").split("/"), path.split("/")
    if len(pattern_parts) > len(parts):
        return None
    for part, name in zip(pattern_parts, parts, strict=False):
        if not fnmatch.fnmatchcase(name, part) or (hides and name.startswith(".") and not part.startswith(".")):
            return None
    return "/".join(parts[len(pattern_parts) :])


def _search_path(value: str, folder: PurePosixPath) -> str:
    """Return PYTHONPATH relative to the working folder, in which the agent starts."""
    result: list[str] = []
    for name in filter(None, value.split(":")):
        path = posixpath.relpath(folder / name, folder)
        if path.split("/")[0] == "..":
            raise DockerfileError(
                f"ENV PYTHONPATH: {name} is outside the working folder {folder}, which is all that runs here"
            )
        result.append(path)
    return ":".join(result)


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same source produces the same package
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _run_by_uv(words: Sequence[str], command: Sequence[str]) -> list[str]:
    """Return the command that uv run starts: the words after its own options."""
    queue, interpreter = list(words), list[str]()
    while queue and queue[0].startswith("-") and queue[0] != "-":
        option, has_value, _ = queue.pop(0).partition("=")
        if option == "--":
            break
        if option in _UV_RUN_REFUSED:
            raise DockerfileError(
                f"CMD {shlex.join(command)}: the option {option} of uv run is not supported; "
                "use RUN for packages, ENV for variables and WORKDIR for the folder"
            )
        if option in ("-m", "--module"):
            interpreter = ["python", "-m"]
        elif option in _UV_RUN_VALUES and not has_value:
            del queue[:1]
    return [*interpreter, *queue]


def _start(command: Sequence[str], plan: Dockerfile, content: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Return the entry point, and the source of the file that runs the command's module or script."""
    words = list(command)
    prefix: tuple[str, ...] = ()
    while words[:1] in (["exec"], ["opentelemetry-instrument"]) or words[:2] == ["uv", "run"]:
        runner = words.pop(0)
        if runner == "opentelemetry-instrument":
            prefix = (runner,)
        elif runner == "uv":
            words = _run_by_uv(words[1:], command)
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
