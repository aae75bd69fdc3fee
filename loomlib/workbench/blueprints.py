"""The agent templates that ship with Loom: folders with an `agent.py`, deployed unchanged locally and to AWS."""

from __future__ import annotations

import tomllib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ..aws.packages import ENTRY_POINTS
from ..deploy.agent_file import AGENT_FILE
from ..errors import AwsError, LoomError
from ..plugins import find_plugins
from ..presentation.formats import join


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """One agent template.

    `prompts` are sample prompts. `variant_of` names the original if this blueprint is a copy with planted faults for
    evaluation exercises; otherwise it is "". `protocol` is the protocol of its server.
    """

    name: str
    folder: Path
    title: str
    description: str
    prompts: tuple[str, ...] = ()
    variant_of: str = ""
    protocol: str = "HTTP"

    @property
    def non_http_protocol(self) -> str | None:
        """The protocol to deploy with; None for HTTP, AgentCore's default."""
        return None if self.protocol == "HTTP" else self.protocol


def list_blueprints() -> list[Blueprint]:
    """Return all blueprints: built-in ones by name, their variants, then those of plugins.

    A plugin's blueprint that cannot be loaded is omitted; `loom plugins` lists it.
    """
    plugins = find_plugins("blueprints").usable("blueprints")
    return sorted(
        (_read(name, Path(folder)) for name, folder in plugins.items()),
        key=lambda blueprint: (not _is_own(blueprint.folder), blueprint.variant_of != "", blueprint.name),
    )


def find_blueprint(name: str) -> Blueprint | None:
    """Return the blueprint with that name, or None.

    Raises:
        PluginError: The plugin that provides it is broken.
    """
    plugins = find_plugins("blueprints")
    return _read(name, Path(plugins.get("blueprints", name))) if name in plugins.names("blueprints") else None


def find_code(what: str | Path) -> Path:
    """Return the file or folder for a blueprint's name or a path.

    Raises:
        LoomError: There is no such blueprint or path; the message lists the blueprints.
    """
    if isinstance(what, str) and (blueprint := find_blueprint(what)):
        return blueprint.folder
    try:
        path = Path(what).expanduser()
        is_file = path.is_file()
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # a name too long, an unknown user's home, characters that a path cannot contain
        raise LoomError("This is not a path", on=str(what)[:80], try_="the path of your agent.py") from error
    if is_file and path.suffix != ".py":
        raise LoomError(
            "The agent file must be a Python file", on=str(path), try_="the path of your agent.py, or of its folder"
        )
    if is_file or any((path / name).is_file() for name in (*ENTRY_POINTS, AGENT_FILE)):
        return path
    if path.is_dir():
        raise LoomError(
            f"The folder has no {join(ENTRY_POINTS, 'or')}",
            on=str(path),
            try_=f'entry_point = "…" in its {AGENT_FILE}, for the file that starts the agent',
        )
    plugins = find_plugins("blueprints")
    if len(path.parts) == 1 and plugins.may_have("blueprints", str(what)):
        plugins.get("blueprints", str(what))  # raises the plugin's error with its fix
    names = ", ".join(blueprint.name for blueprint in list_blueprints())
    raise LoomError("Nothing to deploy", on=str(what), try_=f"a blueprint ({names}) or the path of your agent.py")


@contextmanager
def advising_folder(code: Path) -> Generator[None]:
    """Run the block; if a file that is deployed alone lacks a module, advise to deploy its folder."""
    try:
        yield
    except AwsError as error:
        if code.is_file() and "ModuleNotFoundError" in error.what:
            beside = f"deploying the folder {code.parent}, with the modules and requirements.txt beside {code.name}"
            raise type(error)(error.what, on=error.on, try_=beside, code=error.code) from error
        raise


def _is_own(folder: Path) -> bool:
    return Path(__file__).resolve().parent.parent in folder.parents


def _read(name: str, folder: Path) -> Blueprint:
    try:
        about = tomllib.loads((folder / "blueprint.toml").read_text("utf-8"))
    except FileNotFoundError:
        about = {}
    except (OSError, ValueError) as error:
        about = {"description": f"its blueprint.toml could not be read ({error})"}
    raw_prompts: object = about.get("prompts", ())
    prompts = cast("Iterable[object]", raw_prompts) if isinstance(raw_prompts, list) else ()
    return Blueprint(
        name=name,
        folder=folder,
        title=str(about.get("title", name)),
        description=str(about.get("description", "")),
        prompts=tuple(str(prompt) for prompt in prompts),
        variant_of=str(about.get("variant_of", "")),
        protocol=str(about.get("protocol", "HTTP")),
    )
