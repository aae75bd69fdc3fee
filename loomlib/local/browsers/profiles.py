"""Saved profiles: the cookies and the local storage of a session, which another session starts with.

Cookies come from the browser itself. Local storage is copied from the files of the profile's folder. A page that has
broken out of the browser may have created a link there, so links are not followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from .session import PROFILE, BrowserSession

_STORAGE: Final = ("Default", "Local Storage", "leveldb")
_COOKIES: Final = "cookies.json"
_MOST_BYTES: Final = 50_000_000
_WRITTEN_AFTER_S: Final = 6.0
"""Chromium writes local storage to its files at most five seconds after a page has changed it."""


class ProfileTooLargeError(Exception):
    """A session's local storage is larger than a profile may be."""


async def save_profile(session: BrowserSession, file: Path) -> None:
    """Write a session's cookies and local storage to a file.

    Raises:
        BrowserGoneError: The session ended.
        ProfileTooLargeError: They are too large.
        OSError: The file cannot be written.
    """
    await asyncio.sleep(_WRITTEN_AFTER_S)
    channel = await session.channel()
    try:
        cookies = (await channel.command("Storage.getCookies"))["cookies"]
    finally:
        await channel.close()
    folder = session.folder / PROFILE
    await asyncio.to_thread(_write, file, folder, cookies)


async def restore_cookies(session: BrowserSession, file: Path) -> None:
    """Give a session the cookies of a saved profile.

    Raises:
        BrowserGoneError: The session ended.
        CommandError: The browser refused them.
    """
    channel = await session.channel()
    try:
        await channel.command("Storage.setCookies", cookies=await asyncio.to_thread(_cookies, file))
    finally:
        await channel.close()


def fill_profile(file: Path, folder: Path) -> None:
    """Write the local storage of a saved profile into the folder of a new one."""
    target = folder.joinpath(*_STORAGE)
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            if name != _COOKIES:
                target.mkdir(parents=True, exist_ok=True)
                (target / Path(name).name).write_bytes(archive.read(name))


def _write(file: Path, folder: Path, cookies: list[dict[str, Any]]) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_COOKIES, json.dumps(cookies))
        for name, data in _files(folder):
            archive.writestr(name, data)
    file.parent.mkdir(parents=True, exist_ok=True)
    new_file = file.with_suffix(".new")
    new_file.write_bytes(content.getvalue())
    new_file.replace(file)


def _cookies(file: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(file) as archive:
        cookies: list[dict[str, Any]] = json.loads(archive.read(_COOKIES))
    return [{name: value for name, value in item.items() if name != "expires" or value > 0} for item in cookies]


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the plain files of the local storage, none of them through a link."""
    with contextlib.ExitStack() as stack:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, descriptor)
        try:
            for part in _STORAGE:
                descriptor = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
                stack.callback(os.close, descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return  # no page has stored anything
        bytes_left = _MOST_BYTES
        for name in os.listdir(descriptor):
            if name == "LOCK":
                continue
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor)
            with open(file, "rb") as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
                    continue
                data = stream.read(bytes_left + 1)
            bytes_left -= len(data)
            if bytes_left < 0:
                raise ProfileTooLargeError(f"The local storage is larger than {_MOST_BYTES:,} bytes")
            yield name, data
