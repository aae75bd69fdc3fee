"""Owner checks on folders and settings files that Loom discovers, like git's safe.directory.

Loom looks for `.loom` and `loom.toml` in the working folder and above it, and both decide where data is stored and
which address is called. One that another user owns or can write to is refused, unless this user trusts it (`loom trust
FOLDER`). A path that the user names (`LOOM_HOME`, `LOOM_CONFIG`, `--home`) is not discovered and not checked. The list
of trusted folders is in the user's own configuration folder, one path a line.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from .errors import SettingsError, UntrustedError


def check_discovered(path: Path) -> Path:
    """Return `path` if only this user or root controls its content, or if its folder is trusted.

    For a link, its own owner and its target's are checked. A file or folder that a group may write passes when the
    group is the user's private one: the primary group, of the user's name, with no other member.

    Raises:
        UntrustedError: Another user owns the path or can write to it.
    """
    reason = _reason(path)
    if reason is None or _is_trusted(path):
        return path
    folder = path if path.is_dir() else path.parent
    raise UntrustedError(
        f"The {'folder' if path.is_dir() else 'file'} is not used, because {reason}",
        on=str(path),
        try_=f"loom trust {folder}, if everyone who can write there may decide what Loom does for you; "
        "or name your own with LOOM_HOME or LOOM_CONFIG",
    )


def trusted_folders(environ: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Return the folders that this user trusts, in the order in which they were added."""
    file = trust_file(environ)
    try:
        if (reason := _reason(file)) is not None:
            raise SettingsError(
                f"The list of trusted folders is not used, because {reason}",
                on=str(file),
                try_=f"make it your own: chown and chmod 600 {file}",
            )
        lines = file.read_text("utf-8", "surrogateescape").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise SettingsError(
            f"The list of trusted folders cannot be read: {error.strerror}",
            on=str(file),
            try_="make it readable for you, or set XDG_CONFIG_HOME",
        ) from error
    return tuple(Path(line) for line in lines if line)


def trust(folder: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Trust what is in `folder` and below it; return its resolved path.

    Raises:
        SettingsError: There is no such folder, or the list cannot be written.
    """
    resolved = folder.expanduser().resolve()
    if not resolved.is_dir():
        raise SettingsError("There is no such folder", on=str(resolved), try_="the folder that the error names")
    folders = trusted_folders(environ)
    if resolved not in folders:
        _write([*folders, resolved], environ)
    return resolved


def distrust(folder: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Remove `folder` from the trusted folders; return False if it was not one."""
    resolved = folder.expanduser().resolve()
    folders = trusted_folders(environ)
    if resolved not in folders:
        return False
    _write([item for item in folders if item != resolved], environ)
    return True


def trust_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return the file with the trusted folders: `loom/trusted-folders` in `XDG_CONFIG_HOME` or `~/.config`."""
    variables = os.environ if environ is None else environ
    base = variables.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "loom" / "trusted-folders"


def _write(folders: list[Path], environ: Mapping[str, str] | None) -> None:
    file = trust_file(environ)
    partial = file.with_suffix(f".{os.getpid()}")
    if any("\n" in str(folder) for folder in folders):
        raise SettingsError(
            "A folder with a line break in its name cannot be trusted",
            on=repr(str(folders[-1])),
            try_="rename the folder",
        )
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        content = "".join(f"{folder}\n" for folder in folders).encode("utf-8", "surrogateescape")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as output:
            output.write(content)
        partial.replace(file)
    except OSError as error:
        raise SettingsError(
            f"The list of trusted folders cannot be written: {error.strerror}",
            on=str(file),
            try_="make its folder writable, or set XDG_CONFIG_HOME",
        ) from error


def _is_trusted(path: Path) -> bool:
    resolved = path.resolve()
    return any(resolved.is_relative_to(folder) for folder in trusted_folders())


def _reason(path: Path) -> str | None:
    """Return why others control the content of `path`; None if nobody else does, or if it does not exist."""
    try:
        link, target = path.lstat(), path.stat()
    except FileNotFoundError:
        return None
    own = set(_own_ids())
    for owner in (link.st_uid, target.st_uid):
        if owner not in own:
            return f"it belongs to {_user_name(owner)}"
    if target.st_mode & stat.S_IWOTH:
        return "every user can write to it"
    if target.st_mode & stat.S_IWGRP and not _is_private_group(target.st_gid):
        return f"the group {_group_name(target.st_gid)} can write to it"
    return None


def _own_ids() -> Iterator[int]:
    """Yield the users whose files count as this user's: this user, root, and the user who called sudo."""
    yield os.geteuid()
    yield 0
    if os.geteuid() == 0:
        with suppress(ValueError):
            yield int(os.environ.get("SUDO_UID", ""))


def _is_private_group(gid: int) -> bool:
    import grp
    import pwd

    if gid == 0:
        return True  # root's own group
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _user_name(uid: int) -> str:
    import pwd

    with suppress(KeyError):
        return f"the user {pwd.getpwuid(uid).pw_name}"
    return f"another user (uid {uid})"


def _group_name(gid: int) -> str:
    import grp

    with suppress(KeyError):
        return grp.getgrgid(gid).gr_name
    return str(gid)
