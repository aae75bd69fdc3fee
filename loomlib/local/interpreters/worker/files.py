"""File operations of a code interpreter's session, performed in its sandbox."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
from typing import Any

MOST_READ_BYTES = 15_000_000
"""The most bytes that are read at once."""

_MOST_JSON_BYTES = 22_000_000  # what was read, as JSON: an event of a stream has at most 24 MiB in botocore's parser


class FileRefusedError(Exception):
    """A file operation that cannot be performed; the message contains the reason."""


def answer(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Perform a file operation in the working folder, and return its result or its error.

    Args:
        operation: read, list, write or remove.
        arguments: `paths`, `path` or `files`.
    """
    root = os.path.realpath(os.getcwd())
    try:
        if operation == "read":
            return {"files": read(root, arguments["paths"])}
        if operation == "list":
            return {"entries": entries(root, arguments["path"])}
        if operation == "write":
            write(root, arguments["files"])
        else:
            remove(root, arguments["paths"])
    except FileRefusedError as refused:
        return {"failure": str(refused)}
    except OSError as failure:
        subject = os.path.relpath(failure.filename, root) if isinstance(failure.filename, str) else operation
        return {"failure": f"{subject}: {failure.strerror or failure}"}
    return {}


def place(root: str, path: str) -> str:
    """Return the real path of a file, which must be in the working folder after links are resolved."""
    if "\0" in path:
        raise FileRefusedError("a path must not contain a NUL character")
    inside = path.removeprefix("file://").lstrip("/") if path.startswith("file:///") else path
    real = os.path.realpath(os.path.join(root, inside))
    if real != root and not real.startswith(root + os.sep):
        raise FileRefusedError(f"{path} is outside the session's working folder; paths are relative to it")
    return real


def read(root: str, paths: list[str]) -> list[dict[str, Any]]:
    """Return files' contents: `text` where it is UTF-8, else `blob` in base64."""
    contents: list[dict[str, Any]] = []
    bytes_left, json_bytes_left = MOST_READ_BYTES, _MOST_JSON_BYTES
    for path in paths:
        real = place(root, path)
        if not os.path.isfile(real):  # also for a pipe, which would never end
            raise FileRefusedError(f"{path}: {'not a file' if os.path.exists(real) else 'no such file'}")
        with open(real, "rb") as file:
            content = file.read(bytes_left + 1)
        bytes_left -= len(content)
        entry = {"path": os.path.relpath(real, root)}
        try:
            entry["text"] = content.decode()
        except UnicodeDecodeError:
            entry["blob"] = base64.b64encode(content).decode()
        json_bytes_left -= len(json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace"))
        if min(bytes_left, json_bytes_left) < 0:
            raise FileRefusedError(f"{path}: at most {MOST_READ_BYTES:,} bytes can be read at once, fewer with escapes")
        contents.append(entry)
    return contents


def entries(root: str, path: str) -> list[dict[str, Any]]:
    """Return the entries of a folder."""
    real = place(root, path or ".")
    listing: list[dict[str, Any]] = []
    with os.scandir(real) as scanned:
        for entry in sorted(scanned, key=lambda entry: entry.name):
            is_folder, state = entry.is_dir(), entry.stat(follow_symlinks=False)
            listing.append(
                {
                    "path": os.path.relpath(os.path.join(real, entry.name), root),
                    "folder": is_folder,
                    "size": 0 if is_folder else state.st_size,
                    "changed_ns": state.st_mtime_ns,
                }
            )
    return listing


def write(root: str, files: list[dict[str, Any]]) -> None:
    """Write files: all of them, or none."""
    replacements: list[tuple[str, str]] = []
    try:
        for number, file in enumerate(files):
            real = place(root, file["path"])
            if real == root or os.path.isdir(real):
                raise FileRefusedError(f"{file['path']}: is a folder")
            os.makedirs(os.path.dirname(real), exist_ok=True)
            part_path = f"{real}.{os.getpid()}-{number}.part"
            replacements.append((part_path, real))
            content = base64.b64decode(file["blob"]) if file.get("blob") is not None else file["text"].encode()
            with open(part_path, "wb") as part_file:
                part_file.write(content)
        for part_path, real in replacements:
            os.replace(part_path, real)
    finally:
        for part_path, _ in replacements:
            with contextlib.suppress(OSError):
                os.unlink(part_path)


def remove(root: str, paths: list[str]) -> None:
    """Remove files and folders: none of them if one does not exist."""
    real_paths: list[str] = []
    for path in paths:
        # The link itself is removed, so only its folder is resolved.
        folder, name = os.path.split(path.rstrip("/"))
        real = os.path.join(place(root, folder or "."), name)
        if name in ("", ".", ".."):
            raise FileRefusedError(f"{path}: the working folder cannot be removed")
        if not os.path.lexists(real):
            raise FileRefusedError(f"{path}: no such file")
        real_paths.append(real)
    for real in real_paths:
        if os.path.isdir(real) and not os.path.islink(real):
            shutil.rmtree(real)
        else:
            os.unlink(real)
