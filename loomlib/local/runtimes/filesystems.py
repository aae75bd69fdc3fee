"""The file systems and the memory of a runtime's sessions: `filesystemConfigurations`, `resourceConfigurations`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..sandbox.isolation import Isolation
from ..sandbox.users import can_mount
from ..wire import invalid


def check_filesystems(document: Mapping[str, Any], isolation: Isolation) -> None:
    """Refuse file systems that the local service cannot provide.

    Args:
        document: The runtime's configuration.
        isolation: What separates sessions from this machine.
    """
    paths = [_storage_path(configuration) for configuration in document.get("filesystemConfigurations") or ()]
    if len(set(paths)) < len(paths):
        raise invalid("filesystemConfigurations must have different mount paths")
    if len(paths) > 1:
        raise invalid("filesystemConfigurations can contain at most one sessionStorage")
    if paths and isolation.level != "bubblewrap" and not (isolation.level == "user" and can_mount()):
        raise invalid(
            f"Session storage at {paths[0]} needs bubblewrap, or root that may mount (CAP_SYS_ADMIN), to be put there: "
            f"{isolation.sentence}. Install bubblewrap (apt-get install bubblewrap), or leave out "
            "filesystemConfigurations"
        )


def check_resources(document: Mapping[str, Any]) -> None:
    """Refuse a memory size below 1 MiB."""
    for configuration in document.get("resourceConfigurations") or ():
        if configuration["minimumMemoryInMiB"] < 1:
            raise invalid("resourceConfigurations[0].minimumMemoryInMiB must be at least 1")


def mount_paths(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the mount paths of the session storage."""
    return tuple(_storage_path(configuration) for configuration in document.get("filesystemConfigurations") or ())


def memory_bytes(document: Mapping[str, Any]) -> int | None:
    """Return the memory of a session in bytes; None if the configuration does not specify it."""
    configurations: Sequence[Mapping[str, Any]] = document.get("resourceConfigurations") or ()
    return configurations[0]["minimumMemoryInMiB"] * 2**20 if configurations else None


def _storage_path(configuration: Mapping[str, Any]) -> str:
    if "sessionStorage" not in configuration:
        kind = next(iter(configuration), "nothing")
        raise invalid(f"The local AgentCore supports only sessionStorage in filesystemConfigurations, not {kind}")
    path = str(configuration["sessionStorage"]["mountPath"]).rstrip("/")
    if Path(path).name in ("", ".", ".."):
        raise invalid(f"filesystemConfigurations: {path} is not a folder under /mnt")
    return path
