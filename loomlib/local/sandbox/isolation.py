"""The isolation of sessions on this machine, and the sentences that describe it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from ...errors import LocalServiceError
from .bubblewrap import View, isolating
from .users import why_not

Mode = Literal["required", "best", "off"]
Level = Literal["bubblewrap", "user", "none"]
Network = Literal["open", "service", "shared"]

MODES = get_args(Mode)
NETWORKS: tuple[Network, ...] = ("open", "service")
"""The network modes that may be requested; "open" becomes "shared" if slirp4netns is missing."""

_PROBE_WITHIN_S = 20.0
_LEVELS: Mapping[Level, str] = {
    "bubblewrap": "bubblewrap: own view of files, processes and users",
    "user": "another user id: agents cannot read your files, but see this machine's processes and public files",
    "none": "none: agents run with your user's permissions and can read your files",
}
_NETWORKS: Mapping[Network, str] = {
    "open": "network open, other ports of this machine's loopback closed",
    "service": "network closed except to the local AgentCore",
    "shared": "network shared with this machine, other ports of its loopback included",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """The isolation of sessions.

    Attributes:
        level: What separates an agent from this machine.
        network: What an agent can reach.
        program: bubblewrap's path; empty for other levels.
        network_program: slirp4netns's path; empty unless the network is "open".
        reason: Why it is not stronger; empty if it is the strongest.
        home: The service's home folder, in which agents with another user id may read the files that were created for
            them.
    """

    level: Level = "none"
    network: Network = "shared"
    program: str = ""
    network_program: str = ""
    reason: str = ""
    home: str = ""

    @property
    def has_own_users(self) -> bool:
        """Whether a session has a user id that only its own processes have."""
        return self.level != "none"

    @property
    def has_own_network(self) -> bool:
        """Whether a session has a network namespace of its own."""
        return self.level == "bubblewrap" and self.network != "shared"

    @property
    def sentence(self) -> str:
        """One line for `loom status`, `loom doctor` and reports."""
        parts = [_LEVELS[self.level]]
        if self.level != "none":
            parts.append(_NETWORKS[self.network])
        return "; ".join(parts) + (f" ({self.reason})" if self.reason else "")

    @property
    def label(self) -> str:
        """A provenance label, such as "sessions: bubblewrap, network open"."""
        if self.level == "none":
            return "sessions: not isolated"
        return f"sessions: {'another user id' if self.level == 'user' else self.level}, network {self.network}"

    def as_document(self) -> dict[str, str]:
        """Return the values for a JSON document."""
        fields = {name: value for name, value in asdict(self).items() if name != "home"}
        return {**fields, "sentence": self.sentence, "label": self.label}


def choose(mode: Mode = "best", network: Network = "open", *, home: Path | None = None) -> Isolation:
    """Return the isolation that this machine offers, after testing it (about 50 ms).

    Args:
        mode: "required" fails without bubblewrap, "best" uses the first that works of bubblewrap, another user id (as
            root) and none, "off" uses none.
        network: "open" or "service".
        home: The service's home folder, which another user id must be able to reach; None to skip this check.

    Raises:
        LocalServiceError: The mode is "required" and bubblewrap is missing or does not work here.
    """
    if mode == "off":
        return Isolation(reason="switched off with --sandbox off")
    program, failure = _find_bubblewrap()
    if not program:
        if mode == "required":
            raise LocalServiceError(
                f"Sessions cannot be isolated as --sandbox required asks: {failure}",
                on=f"bubblewrap on {sys.platform}",
                try_="apt-get install bubblewrap, or start with --sandbox best",
            )
        if sys.platform != "linux" or os.geteuid() != 0:
            return Isolation(reason=failure)
        if obstacle := why_not(home):
            return Isolation(reason=f"{failure}; {obstacle}")
        return Isolation(level="user", reason=failure, home=str(home.absolute()) if home else "")
    if network == "service":
        return Isolation(level="bubblewrap", network="service", program=program)
    slirp = shutil.which("slirp4netns")
    if slirp and os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return Isolation(level="bubblewrap", network="open", program=program, network_program=slirp)
    missing = "this user may not open /dev/net/tun" if slirp else "slirp4netns is not installed"
    return Isolation(level="bubblewrap", network="shared", program=program, reason=missing)


def _find_bubblewrap() -> tuple[str, str]:
    """Return bubblewrap's path, or an empty string and why it cannot be used."""
    if sys.platform != "linux":
        return "", "bubblewrap needs Linux"
    program = shutil.which("bwrap")
    if program is None:
        return "", "bubblewrap is not installed"
    with tempfile.TemporaryDirectory(prefix="loom-probe-") as folder:
        command, descriptors = isolating(program, View(folder=Path(folder)), {}, [sys.executable, "-I", "-S", "-c", ""])
        try:
            tried = subprocess.run(
                command,
                pass_fds=descriptors,
                env={},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_WITHIN_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return "", f"bubblewrap does not work here: {error}"
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
    if tried.returncode:
        words = tried.stderr.decode("utf-8", "replace").strip().splitlines()
        return "", f"bubblewrap does not work here: {words[-1] if words else f'exit code {tried.returncode}'}"
    return program, ""
