"""The open network of a session: slirp4netns, which passes its connections to the internet but not to this machine.

slirp4netns is a user-mode network stack that needs no privilege. With `--disable-host-loopback` the ports of this
machine's loopback stay closed. Loopback inside the session is the session's own.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

_NS_GET_USERNS = 0xB701  # ioctl_ns(2): the user namespace that owns another namespace

RESOLVER = "nameserver 10.0.2.3\n"
"""The content of /etc/resolv.conf: slirp4netns answers there and asks this machine's own resolver."""


class OpenNetwork:
    """One session's slirp4netns; `ready` becomes readable when the network is up, and it ends with `close`.

    Args:
        program: slirp4netns's path.
        pid: A process of the session.

    Raises:
        OSError: The session's network cannot be entered; it may have ended.
    """

    def __init__(self, program: str, pid: int) -> None:
        network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.ready, tell = os.pipe()
        follow, self._alive = os.pipe()
        descriptors = [network, tell, follow]
        try:
            owner = fcntl.ioctl(network, _NS_GET_USERNS)
            descriptors.append(owner)
            self._popen = subprocess.Popen(
                [
                    *(program, "--configure", "--mtu=65520", "--disable-host-loopback", "--netns-type=path"),
                    *(f"--ready-fd={tell}", f"--exit-fd={follow}", f"--userns-path=/proc/self/fd/{owner}"),
                    *(f"/proc/self/fd/{network}", "tap0"),
                ],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=Path("/"),
                env={},
                start_new_session=True,
            )
        except BaseException:
            os.close(self.ready)
            os.close(self._alive)
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def close(self) -> None:
        """Stop it and wait until it has ended."""
        os.close(self._alive)
        os.close(self.ready)
        self._popen.kill()
        self._popen.wait()
