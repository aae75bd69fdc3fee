"""Making a plugin to start from: a distribution with an evaluator, a command, and tests that pass.

The template is four small files with places for three names, which `string.Template` fills: a template engine with
questions and a download of its own would be one more dependency for nothing that is asked here.
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
"""Keeps the files of the template from being taken for code of this package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePlugin:
    """A plugin that was made: its folder, the name it is installed by, and the name it is imported by."""

    folder: Path
    distribution: str
    module: str


def make_plugin(name: str, to: str | os.PathLike[str] = ".") -> MadePlugin:
    """Makes the folder `name` in the folder `to`: a plugin that can be installed and tested as it is.

        make_plugin("loom-politeness")

    Raises `PluginError` for a name that no distribution or module can have or that is taken, and for a folder that is
    there already: nothing is overwritten.
    """
    distribution, module = _names(name)
    place = Path(to).expanduser()
    folder = place / distribution
    if os.path.lexists(folder):
        raise PluginError("The folder is there already", on=str(folder), try_="another name, or --to another folder")
    names = {"distribution": distribution, "module": module, "thing": _free_name(module)}
    try:
        place.mkdir(parents=True, exist_ok=True)
        # Made beside it and moved, so that what fails half-way leaves nothing that looks like a plugin.
        with tempfile.TemporaryDirectory(prefix=".loom-plugin-", dir=place) as made:
            whole = Path(made) / distribution
            _fill(resources.files("loomlib.plugins") / "template", whole, names)
            whole.rename(folder)
    except OSError as error:
        raise PluginError(
            f"The plugin could not be written ({error.strerror or error})", on=str(folder), try_="--to another folder"
        ) from error
    return MadePlugin(folder=folder, distribution=distribution, module=module)


def _names(name: str) -> tuple[str, str]:
    """The distribution's and the module's name."""
    if not _NAME.match(name) or len(name) > _LONGEST:
        raise PluginError(
            "No distribution can be called that" if len(name) <= _LONGEST else "The name is too long",
            on=repr(name[: 2 * _LONGEST]),
            try_="letters, digits and single hyphens, beginning with a letter: loom-politeness",
        )
    distribution = re.sub(r"[-_.]+", "-", name).lower()
    module = distribution.replace("-", "_")
    if keyword.iskeyword(module) or keyword.issoftkeyword(module):
        raise PluginError("A module cannot be called that", on=module, try_=f"loom-{distribution}")
    if module in sys.stdlib_module_names or _is_installed(module):
        raise PluginError("A module of that name is installed already", on=module, try_=f"loom-my-{distribution}")
    return distribution, module


def _free_name(module: str) -> str:
    """What the evaluator and the command are called: a name that nobody gives yet."""
    plugins = find_plugins("evaluators", "commands")
    taken = {*plugins.names("evaluators"), *plugins.names("commands")}
    for name in (module.removeprefix("loom_"), module, f"my_{module}"):
        if name not in taken:
            return name
    raise PluginError("An evaluator or a command of that name is there already", on=module, try_="another name")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return True


def _fill(template: Traversable, folder: Path, names: dict[str, str]) -> None:
    folder.mkdir()
    for each in template.iterdir():
        name = each.name.replace("MODULE", names["module"])
        if each.is_dir():
            if each.name != "__pycache__":
                _fill(each, folder / name, names)
        elif name.endswith(_SUFFIX):
            text = Template(each.read_text("utf-8")).substitute(names)
            (folder / name.removesuffix(_SUFFIX)).write_text(text, "utf-8")
