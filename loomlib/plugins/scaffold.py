"""Create a plugin project to start from: a distribution with an evaluator, a command, and tests that pass.

The template is four small files with three placeholders, filled by `string.Template`; a template engine would be one
more dependency.
"""

from __future__ import annotations

import keyword
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Final

from ..errors import PluginError
from .loader import find_plugins

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_.][A-Za-z0-9]+)*\Z")
_LONGEST: Final = 60
_SUFFIX: Final = ".template"
"""Suffix of the template's files, so that they are not taken for code of this package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginProject:
    """A plugin project that was created.

    Attributes:
        folder: Its folder.
        distribution: The name under which it is installed.
        module: The name under which it is imported.
    """

    folder: Path
    distribution: str
    module: str


def make_plugin(name: str, to: str | os.PathLike[str] = ".") -> PluginProject:
    """Create the folder `name` in the folder `to`: a plugin that can be installed and tested right away.

        make_plugin("loom-politeness")

    Args:
        name: Name of the distribution.
        to: The parent folder.

    Raises:
        PluginError: The name is invalid or in use, or the folder exists; nothing is overwritten.
    """
    distribution, module = _names(name)
    place = Path(to).expanduser()
    folder = place / distribution
    if os.path.lexists(folder):
        raise PluginError("The folder exists", on=str(folder), try_="another name, or --to another folder")
    names = {"distribution": distribution, "module": module, "thing": _free_name(module)}
    try:
        place.mkdir(parents=True, exist_ok=True)
        # Create it in a temporary folder and move it, so that a failure leaves no incomplete plugin.
        with tempfile.TemporaryDirectory(prefix=".loom-plugin-", dir=place) as temp_dir:
            whole = Path(temp_dir) / distribution
            _fill(resources.files("loomlib.plugins") / "template", whole, names)
            whole.rename(folder)
    except OSError as error:
        raise PluginError(
            f"Cannot write the plugin ({error.strerror or error})", on=str(folder), try_="--to another folder"
        ) from error
    return PluginProject(folder=folder, distribution=distribution, module=module)


def _names(name: str) -> tuple[str, str]:
    """Return the names of the distribution and the module."""
    if not _NAME.match(name) or len(name) > _LONGEST:
        raise PluginError(
            "Not a valid distribution name" if len(name) <= _LONGEST else "The name is too long",
            on=repr(name[: 2 * _LONGEST]),
            try_="letters, digits and single hyphens, starting with a letter, such as loom-politeness",
        )
    distribution = re.sub(r"[-_.]+", "-", name).lower()
    module = distribution.replace("-", "_")
    if keyword.iskeyword(module) or keyword.issoftkeyword(module):
        raise PluginError("Not a valid module name", on=module, try_=f"loom-{distribution}")
    if module in sys.stdlib_module_names or _is_installed(module):
        raise PluginError("A module of that name is installed already", on=module, try_=f"loom-my-{distribution}")
    return distribution, module


def _free_name(module: str) -> str:
    """Return an unused name for the evaluator and the command."""
    plugins = find_plugins("evaluators", "commands")
    used_names = {*plugins.names("evaluators"), *plugins.names("commands")}
    for name in (module.removeprefix("loom_"), module, f"my_{module}"):
        if name not in used_names:
            return name
    raise PluginError("An evaluator or command of this name exists", on=module, try_="another name")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return True


def _fill(template: Traversable, folder: Path, names: dict[str, str]) -> None:
    folder.mkdir()
    for file in template.iterdir():
        name = file.name.replace("MODULE", names["module"])
        if file.is_dir():
            if file.name != "__pycache__":
                _fill(file, folder / name, names)
        elif name.endswith(_SUFFIX):
            text = Template(file.read_text("utf-8")).substitute(names)
            (folder / name.removesuffix(_SUFFIX)).write_text(text, "utf-8")
