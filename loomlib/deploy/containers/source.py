"""The source of an image: the agent's files and a Dockerfile in one reproducible zip file."""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from ...aws.packages import make_package
from ...aws.runtime_requests import INSTRUMENT
from ...errors import DeployError
from ..spec import AgentSpec
from .dockerfile import DOCKERFILE, dockerfile, own_dockerfile

_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSource:
    """The source of an image.

    Attributes:
        data: A zip file.
        dockerfile: The Dockerfile in it.
        is_own: Whether the Dockerfile is the agent's own.
        entry_point: The file that starts the agent.
    """

    data: bytes = field(repr=False)
    dockerfile: str
    is_own: bool
    entry_point: str

    @property
    def tag(self) -> str:
        """The tag of its image: the first 16 digits of the source's SHA-256."""
        return hashlib.sha256(self.data).hexdigest()[:16]


def image_source(spec: AgentSpec, code: Path) -> ImageSource:
    """Return the source of an agent's image.

    Args:
        spec: The agent's configuration.
        code: The agent's folder, or its one file.

    Raises:
        DeployError: There is no file to start, or the source exceeds AgentCore's quota for packages.
    """
    start = spec.entry_point.removeprefix(f"{INSTRUMENT} ").strip() or None
    try:
        package = make_package(code, start)
    except ValueError as error:
        raise DeployError(
            f"The agent cannot be packaged: {error}", on=spec.name, try_="correct the stated cause"
        ) from error
    own = own_dockerfile(code)
    if own is not None:
        text = own.read_text("utf-8", "replace")
        return ImageSource(data=package.data, dockerfile=text, is_own=True, entry_point=package.entry_point)
    text = dockerfile(spec, code, entry_point=spec.entry_point or package.entry_point)
    packed = io.BytesIO(package.data)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(DOCKERFILE, _EPOCH)
        entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
        entry.external_attr = (stat.S_IFREG | 0o644) << 16
        archive.writestr(entry, text)
    return ImageSource(data=packed.getvalue(), dockerfile=text, is_own=False, entry_point=package.entry_point)
