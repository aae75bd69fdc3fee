"""The agent templates that ship with Loom: folders with an `agent.py`, deployed unchanged locally and to AWS."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from ..errors import LoomError
from ..plugins import load_plugins


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """One template: its folder, what it shows, and prompts worth trying.

    `variant_of` names the blueprint that it is a spoiled copy of, for evaluation exercises; "" for most.
    """

    name: str
    folder: Path
    title: str
    description: str
    prompts: tuple[str, ...] = ()
    variant_of: str = ""


def list_blueprints() -> list[Blueprint]:
    """Every blueprint: built-in ones by name, their variants for evaluation exercises, then those of plugins."""
    built_in = sorted(
        (_read(path.parent) for path in _built_in_folder().glob("*/agent.py")),
        key=lambda found: (found.variant_of != "", found.name),
    )
    plugins = load_plugins()
    foreign = [Path(str(plugins.get("blueprints", name))) for name in plugins.names("blueprints")]
    return [*built_in, *(_read(folder) for folder in foreign)]


def find_blueprint(name: str) -> Blueprint | None:
    """The blueprint of that name, or None."""
    return next((blueprint for blueprint in list_blueprints() if blueprint.name == name), None)


def find_code(what: str | Path) -> Path:
    """The file or folder behind a blueprint's name or a path; `LoomError` names the blueprints when neither fits."""
    if isinstance(what, str) and (blueprint := find_blueprint(what)):
        return blueprint.folder
    path = Path(what).expanduser()
    if path.is_file() or (path / "agent.py").is_file() or (path / "main.py").is_file():
        return path
    known = ", ".join(blueprint.name for blueprint in list_blueprints())
    if path.is_dir():
        raise LoomError(
            "The folder has no agent.py or main.py", on=str(path), try_="naming the file that starts the agent"
        )
    raise LoomError("Nothing to deploy", on=str(what), try_=f"a blueprint ({known}) or the path of your agent.py")


def _built_in_folder() -> Path:
    return Path(__file__).resolve().parent.parent / "blueprints"


def _read(folder: Path) -> Blueprint:
    try:
        about = tomllib.loads((folder / "blueprint.toml").read_text("utf-8"))
    except FileNotFoundError:
        about = {}
    return Blueprint(
        name=folder.name,
        folder=folder,
        title=str(about.get("title", folder.name)),
        description=str(about.get("description", "")),
        prompts=tuple(str(prompt) for prompt in about.get("prompts", ())),
        variant_of=str(about.get("variant_of", "")),
    )
