"""The state of a local AgentCore: its options, its address and keys, its lock."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ..errors import LocalServiceError
from ..trust import check_discovered
from .access.keys import bearer_token
from .quotas import Quotas
from .sandbox.isolation import MODES, NETWORKS, Mode, Network
from .sandbox.limits import Limits

ACCOUNT_ID: Final = "123456789012"
"""The account of the service: the one that moto assigns to unknown keys."""

FOREIGN_VARIABLES: tuple[str, ...] = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
)
"""Variables that would make an AWS SDK bypass `ServiceState.environment`: other credentials, other addresses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """How the local AgentCore behaves.

    Attributes:
        model: "scripted", "tiny" (a real small model, of the extra `tiny-model`), or "openai" with `model_url`.
        profile: Latency profile of the scripted model.
        quotas: "none", "aws" or figures such as "sessions_per_minute=5,active_sessions=3" (see `quotas.Quotas`).
        log_delay_s: How long a log line stays invisible, as with CloudWatch's ingestion.
        model_url: Address of an OpenAI-compatible service that answers model requests.
        invoke_timeout_s: Longest time until an agent begins its response, and between two chunks of it, in seconds.
        start_timeout_s: Longest time until an agent answers its first ping, in seconds.
        memory_delay_s: How long a complete turn waits until it is extracted into long-term memory;
            LOOM_MEMORY_DELAY_S takes precedence.
        memory_extractor: "offline" or "model".
        linger_s: How long a service that is not persistent continues to run after the last lease on it, in seconds.
        sandbox: "best" (the strongest isolation of sessions that this machine has), "required" (refuse to start
            without bubblewrap) or "off".
        sandbox_network: "open" (the internet, as in AWS's PUBLIC mode) or "service" (the local AgentCore only).
        limits: "aws", "none" or figures such as "memory=512m,processes=64" (see `sandbox.limits.Limits`).
        sandbox_read: Further files and folders of this machine that isolated sessions may read.
        sandbox_write: Further folders that they may write.
        web_search_folder: The folder of pages that web search searches; without it, web search is refused.
        python: "workbench" (its Python runs all code, whatever version a runtime specifies; the log notes a difference)
            or "machine" (the specified version runs it; a runtime is refused if this machine does not have that
            version).
        platform_default: Platform of new runtimes that do not specify one: "V2", as on AWS since November 2026, or
            "V1".

    Examples:
        >>> ServiceOptions(quotas="aws", log_delay_s=2.0).quotas
        'aws'
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
    linger_s: float = 2.0
    sandbox: Mode = "best"
    sandbox_network: Network = "open"
    limits: str = "aws"
    sandbox_read: tuple[str, ...] = ()
    sandbox_write: tuple[str, ...] = ()
    platform_default: str = "V2"
    python: str = "workbench"
    web_search_folder: str = ""

    def __post_init__(self) -> None:
        if self.log_delay_s < 0 or self.invoke_timeout_s <= 0 or self.start_timeout_s <= 0:
            raise ValueError("log_delay_s must not be negative, and the timeouts must be above zero")
        if self.memory_delay_s < 0 or self.linger_s < 0 or self.memory_extractor not in ("offline", "model"):
            raise ValueError(
                'memory_delay_s and linger_s must not be negative, and memory_extractor is "offline" or "model"'
            )
        if self.sandbox not in MODES or self.sandbox_network not in NETWORKS:
            raise ValueError(
                f"sandbox must be one of {', '.join(MODES)}, and sandbox_network one of {', '.join(NETWORKS)}"
            )
        if self.platform_default not in ("V1", "V2"):
            raise ValueError('platform_default must be "V1" or "V2"')
        if self.python not in ("workbench", "machine"):
            raise ValueError('python must be "workbench" or "machine"')
        Limits.of(self.limits)
        Quotas.of(self.quotas, "")  # raises for an invalid text

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ServiceOptions:
        """Return the options of a state file; unknown names are ignored."""
        field_names = {item.name for item in fields(cls)}
        values: dict[str, Any] = {name: value for name, value in document.items() if name in field_names}
        for name in ("sandbox_read", "sandbox_write"):
            if name in values:
                values[name] = tuple(values[name])  # JSON has lists
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """A local AgentCore: its process, address and keys (which `repr` omits)."""

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
    aws_names_port: int = 0

    @property
    def url(self) -> str:
        """The service's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """The bearer token of the owner's requests to `/_loom/` and `/otlp/`."""
        return bearer_token(self.secret_key)

    def environment(self) -> dict[str, str]:
        """Return the variables that point every client of an AWS SDK in another process at this service.

        `AWS_ENDPOINT_URL` applies to all services, so no call leaves the machine; AgentCore's own SDK and toolkit read
        two variables of their own. Operations that the service does not implement are refused by name.
        """
        return {
            "AWS_ENDPOINT_URL": self.url,
            "BEDROCK_AGENTCORE_CP_ENDPOINT": self.url,
            "BEDROCK_AGENTCORE_DP_ENDPOINT": self.url,
            "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
            "AWS_DISABLE_HOST_PREFIX_INJECTION": "true",
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


def state_file(home: Path) -> Path:
    """Return the file with the state of a home folder's service."""
    return home / "service.json"


def log_file(home: Path) -> Path:
    """Return the log of a home folder's service."""
    return home / "service.log"


def read_state(home: Path) -> ServiceState | None:
    """Return the state last written to a home folder, whether or not the service still runs; None if there is none.

    Raises:
        UntrustedError: Another user wrote it.
    """
    try:
        check_discovered(state_file(home))
        document = json.loads(state_file(home).read_text("utf-8"))
        texts = ("access_key", "secret_key", "region", "account_id")
        if not 0 < int(document["port"]) < 2**16 or not all(isinstance(document[name], str) for name in texts):
            return None
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
            aws_names_port=int(document.get("aws_names_port", 0)),
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None  # missing, truncated or of another release


def has_damaged_state(home: Path) -> bool:
    """Whether a home folder has a state file that cannot be read."""
    return state_file(home).exists() and read_state(home) is None


def write_state(state: ServiceState) -> None:
    """Write the state atomically, readable by this user only."""
    document = asdict(state) | {"started_at": state.started_at.isoformat()}
    del document["home"]
    partial = state_file(state.home).with_suffix(f".{os.getpid()}")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
    partial.replace(state_file(state.home))


def make_home(home: Path) -> Path:
    """Create a home folder if needed, restrict it to this user, and return it.

    Raises:
        LocalServiceError: It is a file, or cannot be created or written to.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError):  # another user's folder, whose mode is theirs
            if home.stat().st_mode & 0o066:  # agents with another user id may pass through it
                home.chmod(0o700)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        reason = "it is not a folder" if isinstance(error, (FileExistsError, NotADirectoryError)) else error.strerror
        raise LocalServiceError(
            f"The home folder cannot be used: {reason}",
            on=str(home),
            try_="a folder on a disk with free space that you can write to, as LOOM_HOME or --home",
        ) from error
    return home


class ServiceLock:
    """The lock that a running service holds on its home folder; the kernel releases it when the process ends."""

    def __init__(self, home: Path) -> None:
        self._file = home / "service.lock"

    def take(self, wait_s: float = 2.0) -> None:
        """Hold the lock until this process ends, with its pid in the file; raise `LocalServiceError` after `wait_s`."""
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + wait_s
        # `holder` takes the lock for an instant, so one refusal does not mean that a service runs here.
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise LocalServiceError(
                    "Another local AgentCore runs in this folder", on=str(self._file.parent), try_="loom down"
                )
            time.sleep(0.02)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        # Never closed: the kernel frees the lock when it ends the process.

    def holder(self) -> int | None:
        """Return the pid of the running service, or None."""
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
