"""The Dockerfile and the buildspec of an agent's image.

Source: AWS, "Get started without the starter toolkit" (AgentCore runs images for Linux on ARM64) and "Build
specification reference for CodeBuild".
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from ...aws.runtime_requests import INSTRUMENT
from ..building import DEFAULT_PYTHON
from ..spec import AgentSpec

DOCKERFILE: Final = "Dockerfile"
PORTS: Final = {"HTTP": 8080, "AGUI": 8080, "MCP": 8000, "A2A": 9000}
"""The port of each protocol."""
BASE_IMAGE: Final = "public.ecr.aws/docker/library/python:{}-slim"
"""Docker's official Python image, from Amazon's public registry, which does not require an account."""

_OF_FOLDER: Final = re.compile(
    r"(?m)^\s*(?:-[rcef]|--(?:requirement|constraint|editable|find-links)\b|\.{0,2}/|\.$)|@\s*file:"
)
"""A line of requirements that refers to another file of the folder."""
_DISTRO: Final = re.compile(r"(?im)^\s*aws[-_]opentelemetry[-_]distro\b")

BUILDSPEC: Final = """\
version: 0.2
phases:
  pre_build:
    commands:
      - aws ecr get-login-password --region $AWS_DEFAULT_REGION | docker login --username AWS --password-stdin $REGISTRY
  build:
    commands:
      - docker build --platform linux/arm64 -t $REPOSITORY_URI:$IMAGE_TAG .
  post_build:
    commands:
      - docker push $REPOSITORY_URI:$IMAGE_TAG
"""
"""The commands of a build; REGISTRY, REPOSITORY_URI and IMAGE_TAG are variables of the build."""


def dockerfile(spec: AgentSpec, folder: Path, *, entry_point: str) -> str:
    """Return an agent's Dockerfile: for ARM64, with its requirements and an unprivileged user.

    If the requirements include `aws-opentelemetry-distro`, `opentelemetry-instrument` starts the agent.

    Args:
        spec: The agent's configuration.
        folder: The agent's folder.
        entry_point: The file that starts the agent.
    """
    requirements = folder / "requirements.txt"
    has_requirements = folder.is_dir() and requirements.is_file()
    start = entry_point.removeprefix(f"{INSTRUMENT} ")
    instrumented = start != entry_point or (has_requirements and bool(_DISTRO.search(_text(requirements))))
    command = [*((INSTRUMENT,) if instrumented else ()), "python", start]
    lines = [
        "# Made by Loom. A Dockerfile of your own beside the agent's code is used instead.",
        f"FROM --platform=linux/arm64 {BASE_IMAGE.format(spec.python or DEFAULT_PYTHON)}",
        "WORKDIR /app",
        "ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 DOCKER_CONTAINER=1",
    ]
    copies_all = has_requirements and bool(_OF_FOLDER.search(_text(requirements)))
    if has_requirements:  # without the rest of the folder, the packages are installed again only if the file changes
        lines += ["COPY . ." if copies_all else "COPY requirements.txt requirements.txt"]
        lines += ["RUN pip install -r requirements.txt"]
    lines += [
        "RUN useradd --create-home --uid 1000 agent",
        *(() if copies_all else ("COPY . .",)),
        "USER agent",
        f"EXPOSE {PORTS[spec.protocol or 'HTTP']}",
        f"CMD {json.dumps(command)}",
    ]
    return "\n".join(lines) + "\n"


def own_dockerfile(folder: Path) -> Path | None:
    """Return the Dockerfile in an agent's folder; None if Loom generates one."""
    file = folder / DOCKERFILE
    return file if folder.is_dir() and file.is_file() else None


def _text(file: Path) -> str:
    return file.read_text("utf-8", "replace")
