"""Where a local AgentCore is and how to talk to it: its options, its state file, its lock."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import LocalServiceError
from .quotas import Quotas

SERVICES: tuple[str, ...] = (
    "BEDROCK_AGENTCORE",
    "BEDROCK_AGENTCORE_CONTROL",
    "BEDROCK_RUNTIME",
    "BEDROCK_AGENT",
    "CLOUDWATCH_LOGS",
    "CLOUDWATCH",
    "S3",
    "SECRETS_MANAGER",
    "COGNITO_IDENTITY_PROVIDER",
    "DYNAMODB",
    "STS",
    "XRAY",
)
"""Services that the local AgentCore answers, as boto3 spells them in `AWS_ENDPOINT_URL_<SERVICE>`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """How the local AgentCore behaves.

    `quotas` is "none", "aws" or figures such as "sessions_per_minute=5,active_sessions=3" (see `quotas.Quotas`).
    `log_delay_s` is how long a log line stays invisible, as CloudWatch's ingestion would have it. `model_url` is an
    OpenAI-compatible address to pass model calls to. `memory_delay_s` is how long a closed turn waits until it is
    extracted into long-term memory (LOOM_MEMORY_DELAY_S goes before it); `memory_extractor` is "offline" or "model".
    """

    model: str = "scripted"
    profile: str = "instant"
    quotas: str = "none"
    log_delay_s: float = 0.0
    model_url: str | None = field(default=None, repr=False)
    invoke_timeout_s: float = 900.0
    start_timeout_s: float = 120.0
    memory_delay_s: float = 1.0
    memory_extractor: str = "offline"

    def __post_init__(self) -> None:
        if self.log_delay_s < 0 or self.invoke_timeout_s <= 0 or self.start_timeout_s <= 0:
            raise ValueError("log_delay_s must not be negative, and the timeouts must be above zero")
        if self.memory_delay_s < 0 or self.memory_extractor not in ("offline", "model"):
            raise ValueError('memory_delay_s must not be negative, and memory_extractor is "offline" or "model"')
        Quotas.of(self.quotas, "")  # says what is wrong with the text

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ServiceOptions:
        """Options from a state file; names of another release are left out."""
        known = {item.name for item in fields(cls)}
        return cls(**{name: value for name, value in document.items() if name in known})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """A local AgentCore: its process, its address and its keys (which `repr` leaves out)."""

    home: Path
    pid: int
    port: int
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    region: str
    account_id: str
    persistent: bool
    options: ServiceOptions
    started_at: datetime

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        """The variables that point any AWS SDK in another process at this service."""
        return {
            **{f"AWS_ENDPOINT_URL_{service}": self.url for service in SERVICES},
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


def state_file(home: Path) -> Path:
    return home / "service.json"


def log_file(home: Path) -> Path:
    return home / "service.log"


def read_state(home: Path) -> ServiceState | None:
    """The state last written in `home`, of a service that lives or of one that has ended."""
    try:
        document = json.loads(state_file(home).read_text("utf-8"))
        return ServiceState(
            home=home,
            pid=int(document["pid"]),
            port=int(document["port"]),
            access_key=document["access_key"],
            secret_key=document["secret_key"],
            region=document["region"],
            account_id=document["account_id"],
            persistent=bool(document["persistent"]),
            options=ServiceOptions.of(document["options"]),
            started_at=datetime.fromisoformat(document["started_at"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing, cut short or of another release: as good as no state


def write_state(state: ServiceState) -> None:
    """Write the state for this user's eyes only, whole or not at all."""
    document = asdict(state) | {"started_at": state.started_at.isoformat()}
    del document["home"]
    partial = state_file(state.home).with_suffix(f".{os.getpid()}")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
    partial.replace(state_file(state.home))


def make_home(home: Path) -> Path:
    """The folder itself, made if need be and closed to other users."""
    home.mkdir(parents=True, exist_ok=True)
    with suppress(PermissionError):  # someone else's folder that we may write to: theirs to guard
        home.chmod(0o700)
    return home


class ServiceLock:
    """The lock that a living service holds on its home. The kernel lets go of it however the process ends."""

    def __init__(self, home: Path) -> None:
        self._file = home / "service.lock"

    def take(self, wait_s: float = 2.0) -> None:
        """Hold the lock for the life of this process, with its id written inside."""
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + wait_s
        # `holder` tries the lock for an instant, so one refusal does not yet mean that somebody lives here.
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise LocalServiceError(
                    "Another local AgentCore runs in this folder", on=str(self._file.parent), try_="loom down"
                )
            time.sleep(0.02)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        # Never closed: whoever sees the lock free may rely on it that the process is gone too.

    def holder(self) -> int | None:
        """Process id of the living service, None when there is none."""
        try:
            descriptor = os.open(self._file, os.O_RDONLY)
        except OSError:
            return None
        try:
            if _try_lock(descriptor, fcntl.LOCK_SH):
                return None
            return int(os.pread(descriptor, 32, 0) or b"0") or None
        except ValueError:
            return None
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
