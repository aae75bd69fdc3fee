"""Compare two versions of an agent: the files of their packages, their settings, and the names of their variables."""

from __future__ import annotations

import difflib
import hashlib
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from ..agents import RuntimeArn
from ..aws import Clients
from ..aws.versions import VersionDescription, describe_version, read_package
from ..errors import AwsError, NotSupportedError
from ..presentation.formats import plural
from ..redaction import DEFAULT_RULES, Document, Redactor
from .differences import FileChange, FileDifference, SettingDifference, VariableDifference, VersionDifference

SHOWN_BYTES: Final = 200_000
"""Larger files are listed without a diff."""
SHOWN_FILES: Final = 60
"""Further files are listed without a diff."""
_COMPARED_BYTES: Final = 50_000_000
"""Larger files are compared only by size and checksum (CRC-32)."""
# What zipfile raises for damage besides BadZipFile; a RuntimeError if a file is encrypted or its compression unknown.
_DAMAGE: Final = (EOFError, OSError, RuntimeError, ValueError, lzma.LZMAError, struct.error, zlib.error)


def compare_versions(clients: Clients, arn: RuntimeArn, before: str, after: str) -> VersionDifference:
    """Compare two versions of a runtime.

    Args:
        clients: The AWS clients of a connection.
        arn: The runtime's ARN.
        before: The earlier version.
        after: The later version.

    Raises:
        ResourceNotFoundError: There is no such runtime or version.
    """
    old = describe_version(clients, arn.runtime_id, before, region=arn.region)
    new = describe_version(clients, arn.runtime_id, after, region=arn.region)
    document = Redactor(DEFAULT_RULES).document()
    files: tuple[FileDifference, ...] | None = None
    note = ""
    is_same_place = (str(old.place), old.place.version_id) == (str(new.place), new.place.version_id)
    if old.version == new.version or (is_same_place and old.place.is_fixed):
        files = ()
    elif old.place.image or new.place.image:
        note = f"The files of container images are not compared: {old.place}, then {new.place}."
    elif is_same_place:
        note = f"The code cannot be compared: both versions are from {old.place}, which may have changed in between."
    else:
        try:
            packages = [read_package(clients, version.place, region=arn.region) for version in (old, new)]
            files = compare_packages(packages[0], packages[1], document)
        except (AwsError, NotSupportedError) as error:
            note = f"The code cannot be compared: {error}"
        except zipfile.BadZipFile as error:
            note = f"The code cannot be compared, because a package cannot be read as a zip file: {error}"
    unshown = [file for file in files or () if file.reason]
    if unshown:
        note = f"{plural(len(unshown), 'file')} listed without a diff: binary, large, or too many."
    return VersionDifference(
        before=before,
        after=after,
        files=files,
        code_note=note,
        settings=tuple(_settings(old, new, document)),
        variables=tuple(_variables(old.variables, new.variables)),
        redacted=dict(document.counts),
    )


def compare_packages(before: bytes, after: bytes, document: Document) -> tuple[FileDifference, ...]:
    """Compare the files of two packages, by path.

    Args:
        before: The earlier zip file.
        after: The later zip file.
        document: Redacts the diffs.

    Raises:
        zipfile.BadZipFile: One of them is not a zip file, or is damaged.
    """
    if before == after:
        return ()
    try:
        return _compared(before, after, document)
    except _DAMAGE as error:
        raise zipfile.BadZipFile(f"a file in it cannot be read ({error})") from error


def _compared(before: bytes, after: bytes, document: Document) -> tuple[FileDifference, ...]:
    with zipfile.ZipFile(io.BytesIO(before)) as old, zipfile.ZipFile(io.BytesIO(after)) as new:
        old_files = {info.filename: info for info in old.infolist() if not info.is_dir()}
        new_files = {info.filename: info for info in new.infolist() if not info.is_dir()}
        changed: list[tuple[str, FileChange]] = []
        for path in sorted(old_files.keys() | new_files.keys()):
            if path not in new_files:
                changed.append((path, "removed"))
            elif path not in old_files:
                changed.append((path, "added"))
            elif not _is_same(old, old_files[path], new, new_files[path]):
                changed.append((path, "changed"))
        # The agent's own files come before those of its bundled packages, which are in folders.
        listed = set(sorted((path for path, _ in changed), key=lambda path: (path.count("/"), path))[:SHOWN_FILES])
        return tuple(
            _difference(
                path, change, (old, old_files.get(path)), (new, new_files.get(path)), document, is_shown=path in listed
            )
            for path, change in changed
        )


_Member = tuple[zipfile.ZipFile, zipfile.ZipInfo | None]


def _difference(
    path: str, change: FileChange, old: _Member, new: _Member, document: Document, *, is_shown: bool
) -> FileDifference:
    sizes = [0 if info is None else info.file_size for _, info in (old, new)]
    name = document.text(path)
    reason, texts = "", ["", ""]
    if not is_shown:
        reason = "one of many files"
    elif max(sizes) > SHOWN_BYTES:
        reason = "large"
    else:
        for at, (archive, info) in enumerate((old, new)):
            text = "" if info is None else _text(archive, info)
            if text is None:
                reason = "binary"
                break
            texts[at] = document.text(text)
    if reason:
        return FileDifference(path=name, change=change, before=sizes[0], after=sizes[1], reason=reason)
    lines = list(_unified(name, texts[0], texts[1]))
    return FileDifference(
        path=name,
        change=change,
        before=sizes[0],
        after=sizes[1],
        diff="".join(lines),
        lines_added=sum(line.startswith("+") for line in lines[2:]),
        lines_removed=sum(line.startswith("-") for line in lines[2:]),
    )


def _unified(name: str, before: str, after: str) -> Iterator[str]:
    for line in difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"before/{name}", f"after/{name}"
    ):
        yield line if line.endswith("\n") else f"{line}\n"


def _is_same(old: zipfile.ZipFile, one: zipfile.ZipInfo, new: zipfile.ZipFile, other: zipfile.ZipInfo) -> bool:
    if (one.file_size, one.CRC) != (other.file_size, other.CRC):
        return False
    return one.file_size > _COMPARED_BYTES or _sha256(old, one) == _sha256(new, other)


def _sha256(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    digest = hashlib.sha256()
    with archive.open(info) as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.digest()


def _text(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str | None:
    """Return a small file's text, or None if it is binary."""
    with archive.open(info) as file:
        content = file.read(SHOWN_BYTES + 1)
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _settings(old: VersionDescription, new: VersionDescription, document: Document) -> Iterator[SettingDifference]:
    for name in sorted(old.settings.keys() | new.settings.keys()):
        before, after = old.settings.get(name, ""), new.settings.get(name, "")
        if before != after:
            yield SettingDifference(name=name, before=document.text(before), after=document.text(after))


def _variables(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[VariableDifference]:
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            yield VariableDifference(name=name, change="added")
        elif name not in new:
            yield VariableDifference(name=name, change="removed")
        elif old[name] != new[name]:
            yield VariableDifference(name=name, change="changed")
