"""The destination of a report: a local folder or a folder in S3. Files appear complete or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from loomlib.errors import AwsError, ReportError

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

_TAKEN = (409, 412)
"""S3's error codes for a conditional write that came second (PutObject, *If-None-Match*)."""
_S3 = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")


class NameTakenError(Exception):
    """Another process wrote a file of that name first; the caller tries another name."""


class Destination(Protocol):
    """Stores finished files by name."""

    def exists(self, name: str) -> bool:
        """Return whether a file of that name exists."""
        ...

    def write(self, name: str, content: bytes, content_type: str, *, new: bool = False) -> str:
        """Store one file and return its full path or address.

        Args:
            name: The file's name.
            content: The file's content.
            content_type: Its media type, such as "text/html; charset=utf-8".
            new: Refuse to replace a file of that name.

        Raises:
            NameTakenError: The file exists and `new` is set.
        """
        ...


def open_destination(
    out: str, *, region: str | None = None, profile: str | None = None, environment: Mapping[str, str] | None = None
) -> Destination:
    """Check and open the destination of reports before anything runs.

    Args:
        out: A folder or `s3://bucket/prefix`.
        region: The region of S3; a folder does not need this or the following arguments.
        profile: The AWS profile.
        environment: The environment variables that S3's connection reads (see `loomlib.aws.Connection`).
    """
    if "://" not in out:
        folder = Path(out).expanduser()
        if folder.exists() and not folder.is_dir():
            raise ReportError("The destination is a file", on=out, try_="a folder, or s3://bucket/prefix")
        return Folder(path=folder)
    match = _S3.fullmatch(out)
    if match is None:
        raise ReportError("Not a destination", on=out, try_="a folder, or s3://bucket/prefix")
    from loomlib.aws.connection import Clients, Connection

    clients = Clients(Connection(region=region, profile=profile, environment=environment or {}))
    bucket = Bucket(bucket=match["bucket"], prefix=(match["prefix"] or "").strip("/"), clients=clients)
    bucket.check()
    return bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder on disk, created when the first file is written."""

    path: Path

    def exists(self, name: str) -> bool:
        """Return whether the folder has a file of that name."""
        return (self.path / name).exists()

    def write(self, name: str, content: bytes, content_type: str, *, new: bool = False) -> str:
        """Write a temporary file and rename it, so that a reader sees the old file or the new one.

        Args:
            name: The file's name in the folder.
            content: The file's content.
            content_type: Not used: a file on disk has no media type.
            new: Refuse to replace a file of that name.

        Raises:
            NameTakenError: The file exists and `new` is set.
            ReportError: The file cannot be written.
        """
        del content_type  # on disk, the file name implies it
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self.path, prefix=f".{name}.")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                Path(temporary).chmod(0o644)
                if new:
                    self._take(name)
                Path(temporary).replace(self.path / name)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            message = f"The report cannot be written: {error.strerror}"
            raise ReportError(message, on=str(self.path / name), try_="another --out") from error
        return str(self.path / name)

    def _take(self, name: str) -> None:
        """Claim a name; the file system gives it to only one of two concurrent writers."""
        try:
            os.close(os.open(self.path / name, os.O_CREAT | os.O_EXCL))
        except FileExistsError as error:
            raise NameTakenError(name) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A folder in S3. An object appears when its upload is complete."""

    bucket: str
    prefix: str
    clients: Clients = field(repr=False)

    def check(self) -> None:
        """Raise Loom's error for a missing or inaccessible bucket, before the report runs."""
        from loomlib.aws.errors import translated

        with translated("Looking for the report's bucket", on=self.bucket):
            self.clients.s3().head_bucket(Bucket=self.bucket)

    def exists(self, name: str) -> bool:
        """Return whether the bucket has an object of that name."""
        from loomlib.aws.errors import translated

        with translated("Listing the report's folder", on=self._address(name)):
            answer = self.clients.s3().list_objects_v2(Bucket=self.bucket, Prefix=self._key(name), MaxKeys=1)
        return bool(answer.get("KeyCount"))

    def write(self, name: str, content: bytes, content_type: str, *, new: bool = False) -> str:
        """Upload one file.

        Args:
            name: The object's name below the prefix.
            content: The object's content.
            content_type: Its media type.
            new: Refuse to replace an object of that name (a conditional PutObject).

        Raises:
            NameTakenError: The object exists and `new` is set.
            AwsError: The object cannot be written.
        """
        from loomlib.aws.errors import translated

        client = self.clients.s3()
        where = {"Bucket": self.bucket, "Key": self._key(name)}
        try:
            with translated("Writing the report", on=self._address(name)):
                if new:
                    client.put_object(**where, Body=content, ContentType=content_type, IfNoneMatch="*")
                else:
                    client.put_object(**where, Body=content, ContentType=content_type)
        except AwsError as error:
            if new and error.status in _TAKEN:
                raise NameTakenError(name) from error
            raise
        return self._address(name)

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def _address(self, name: str) -> str:
        return f"s3://{self.bucket}/{self._key(name)}"
