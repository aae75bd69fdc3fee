"""Reads the options and requirements of pip's and uv's commands that install packages.

Options that change which packages are installed are applied or refused by name; see
https://pip.pypa.io/en/stable/cli/pip_install/ and https://docs.astral.sh/uv/reference/cli/.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

_INSTALLERS: Final = (
    ("pip", "install"), ("pip3", "install"), ("python", "-m", "pip", "install"), ("python3", "-m", "pip", "install"),
    ("uv", "pip", "install"), ("uv", "add"), ("uv", "sync"),
)  # fmt: skip
_SHORT: Final = {
    "-r": "--requirement", "-c": "--constraint", "-e": "--editable", "-i": "--index-url", "-f": "--find-links",
    "-t": "--target", "-p": "--python", "-U": "--upgrade", "-I": "--ignore-installed", "-q": "--quiet",
    "-v": "--verbose", "-n": "--no-cache",
}  # fmt: skip
_OTHER_NAMES: Final = {"--requirements": "--requirement", "--constraints": "--constraint"}
_NO_EFFECT: Final = frozenset(
    {"--upgrade", "--quiet", "--verbose", "--ignore-installed", "--force-reinstall", "--reinstall", "--refresh"}
    | {"--no-cache-dir", "--no-cache", "--disable-pip-version-check", "--no-input", "--prefer-binary", "--isolated"}
    | {"--compile", "--no-compile", "--compile-bytecode", "--no-compile-bytecode", "--system", "--user", "--strict"}
    | {"--break-system-packages", "--no-warn-script-location", "--no-warn-conflicts", "--no-color", "--no-progress"}
    | {"--no-python-version-warning", "--no-python-downloads", "--no-managed-python", "--managed-python"}
    | {"--native-tls", "--system-certs", "--use-pep517", "--no-build-isolation", "--require-virtualenv"}
    | {
        "--frozen",
        "--locked",
        "--no-dev",
        "--no-editable",
        "--no-install-project",
        "--no-install-workspace",
        "--no-default-groups",
    }
    | {"--inexact", "--exact", "--active", "--no-sync", "--debug", "--require-hashes"}
)
"""Options without a value that do not change which packages a new image has."""
_NO_EFFECT_WITH_VALUE: Final = frozenset(
    {"--target", "--prefix", "--root", "--python", "--timeout", "--default-timeout", "--retries", "--cache-dir"}
    | {"--root-user-action", "--progress-bar", "--log", "--exists-action", "--upgrade-strategy", "--src", "--color"}
    | {"--link-mode", "--trusted-host", "--allow-insecure-host", "--proxy", "--cert", "--client-cert"}
    | {"--keyring-provider", "--use-feature", "--use-deprecated", "--python-preference", "--resume-retries"}
)
"""Options with a value that do not change them either: this machine's own network settings apply."""
_FOLLOWED_WITH_VALUE: Final = frozenset({"--requirement", "--editable", "--extra"})
_REFUSED_WITH_VALUE: Final = frozenset({"--constraint", "--index-url", "--find-links"})
_INSTALLER_PACKAGES: Final = frozenset({"pip", "setuptools", "wheel", "uv"})
_CREDENTIALS: Final = re.compile(r"(?<![\w+])(?:\w+\+)?(?!ssh:)\w+://[^/\s]*@")
_ADVICE: Final = {
    "--index-url": "packages come from the index of this machine's pip settings; set it there",
    "--constraint": "write the versions into the requirements",
}
_ADVICE["--extra-index-url"] = _ADVICE["--default-index"] = _ADVICE["--index"] = _ADVICE["--index-url"]


class OptionError(ValueError):
    """An option or requirement that is not supported; the message names it without its value."""


@dataclass(slots=True)
class Installation:
    """The packages that a command installs.

    Attributes:
        requirements: Requirements of the command line.
        files: Files of requirements.
        projects: Folders of projects, each with the names of its extras.
        extras: Extras of the project whose pyproject.toml is among the files, or which uv sync installs.
        all_extras: Whether that project's extras are all installed.
        synchronizes: Whether it is uv sync, which installs the project of the working folder.
    """

    requirements: list[str] = field(default_factory=list[str])
    files: list[str] = field(default_factory=list[str])
    projects: list[tuple[str, tuple[str, ...]]] = field(default_factory=list[tuple[str, tuple[str, ...]]])
    extras: list[str] = field(default_factory=list[str])
    all_extras: bool = False
    synchronizes: bool = False


def read_installation(words: Sequence[str]) -> Installation | None:
    """Return the packages that a command installs; None for a command that is not pip's or uv's.

    Raises:
        OptionError: It has an option or a requirement that is not supported.
    """
    start = next((start for start in _INSTALLERS if tuple(words[: len(start)]) == start), None)
    if start is None:
        return None
    result = Installation(synchronizes=start == ("uv", "sync"))
    queue = list(words[len(start) :])
    while queue:
        word = queue.pop(0)
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            name = _OTHER_NAMES.get(name, name)
            _option(result, name, _value(name, queue) if _takes_value(name) and not equals else value)
        elif word.startswith("-") and len(word) > 1:
            _short_options(result, word, queue)
        else:
            _requirement(result, word)
    return result


def _short_options(result: Installation, word: str, queue: list[str]) -> None:
    """Apply options such as `-q`, `-rFILE` and `-Ur FILE`."""
    for position, letter in enumerate(word[1:], 2):
        name = _SHORT.get(f"-{letter}", f"-{letter}")
        if _takes_value(name):
            _option(result, name, word[position:].removeprefix("=") or _value(name, queue))
            return
        _option(result, name, "")


def _takes_value(name: str) -> bool:
    return name in _NO_EFFECT_WITH_VALUE | _FOLLOWED_WITH_VALUE | _REFUSED_WITH_VALUE


def _value(name: str, queue: list[str]) -> str:
    if not queue:
        raise OptionError(f"the option {name} needs a value")
    return queue.pop(0)


def _option(result: Installation, name: str, value: str) -> None:
    if name == "--requirement":
        result.files.append(value)
    elif name == "--editable":
        _requirement(result, value, is_project="://" not in value)
    elif name == "--extra":
        result.extras.append(value)
    elif name == "--all-extras":
        result.all_extras = True
    elif name not in _NO_EFFECT | _NO_EFFECT_WITH_VALUE:
        advice = f"; {_ADVICE[name]}" if name in _ADVICE else ""
        raise OptionError(f"the option {name} is not supported{advice}")


def _requirement(result: Installation, word: str, *, is_project: bool = False) -> None:
    if _CREDENTIALS.search(word):
        raise OptionError("an address with credentials is not supported, because the package would hold them")
    folder, bracket, extras = word.partition("[")
    if is_project or folder in (".", "./"):
        result.projects.append((folder, tuple(re.findall(r"[\w.-]+", extras)) if bracket else ()))
    elif re.split(r"[<>=!~\[ ;@]", word)[0].lower() not in _INSTALLER_PACKAGES:
        result.requirements.append(word)
