"""What `python -m ipykernel_launcher` runs with this folder in `PYTHONPATH`: a kernel that `kernel_template` forks.

This process stands for the kernel: it passes signals on, ends with it, and the kernel ends with this process. Where no
kernel can be forked that is like the one that was asked for, ipykernel starts here.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from pathlib import Path

OWN = Path(__file__).parent
_LOOK_MS = 1_000


def forked(address: str) -> int | None:
    """Return the exit code of the kernel that was forked, or None if there is none."""
    parent = os.getppid()
    request = {"arguments": sys.argv[1:], "variables": dict(os.environ), "folder": os.getcwd()}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        text = json.dumps(request).encode()
        socket.send_fds(connection, [len(text).to_bytes(4, "big")], [0, 1, 2])
        connection.sendall(text)
        if not (answer := connection.recv(16)):
            return None
        pid = int(answer)
        kernel = os.pidfd_open(pid)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.killpg(pid, number))
        connection.sendall(b"!")  # from now on the kernel ends with this process
        watched = select.poll()
        watched.register(kernel, select.POLLIN)
        while not watched.poll(_LOOK_MS):
            if os.getppid() != parent:
                os.killpg(pid, signal.SIGKILL)
    return 0


if __name__ == "__main__":
    if sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
    sys.path.remove(str(OWN))
    # As in a user's shell: a service that the kernel starts is then like others. Loom itself stays in `sys.path`.
    del os.environ["PYTHONPATH"]
    if (address := os.environ.get("LOOM_KERNEL_TEMPLATE")) and (code := forked(address)) is not None:
        sys.exit(code)
    from ipykernel import kernelapp

    kernelapp.launch_new_instance()
