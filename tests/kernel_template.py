"""Fork kernels of tests from one process that has imported what every notebook of Loom imports with its first line.

A kernel starts that way with a tenth of the processor time. Everything else is ipykernel's own: its application, its
sockets, its process, variables, folder and descriptors of its own. What `loom.connect()` imports is there before the
first cell; what a notebook imports beyond it is not.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from service_template import same_start, show

_REPOSITORY = Path(__file__).parents[1]
_LAUNCHER = Path(__file__).with_name("kernel_launcher")
_ROOM_FOR_THE_COMMAND = 2_000
_FIRST_LINE = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "loomlib.workbench.connect",
    "loomlib.presentation.text_frame",
)


def kernel_environment() -> dict[str, str]:
    """The variables of a kernel that is forked from the process at the socket `LOOM_KERNEL_TEMPLATE`."""
    return {"PYTHONPATH": f"{_LAUNCHER}{os.pathsep}{_REPOSITORY}"}


@contextlib.contextmanager
def kernel_template() -> Generator[str]:
    """Start the process, yield the path of its socket, and end it; the kernels that it forked go on."""
    with tempfile.TemporaryDirectory(prefix="loom-kernels-") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address := str(Path(folder) / "socket"))
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno()), " " * _ROOM_FOR_THE_COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(listener.fileno(),),
            env={**os.environ, "PYTHONPATH": str(_REPOSITORY)},
            start_new_session=True,  # Ctrl-C is for the tests
        )
        listener.close()  # without the process, no kernel waits for it
        try:
            assert process.stdout
            assert process.stdout.readline(), "the process cannot be started"  # nbval waits a minute for a kernel
            yield address
        finally:
            process.kill()
            process.communicate()


def main(listener: socket.socket) -> None:
    """Fork a kernel for each request until standard input ends."""
    gc.disable()
    sys.path.remove(str(Path(__file__).parent))  # no kernel finds the modules of the tests
    for name in _FIRST_LINE:
        importlib.import_module(name)
    assert threading.active_count() == 1
    gc.freeze()
    del os.environ["PYTHONPATH"]  # which no kernel has
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    while True:
        readable, _, _ = select.select([0, listener], [], [])
        if 0 in readable:
            return
        connection = listener.accept()[0]
        size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
        with connection.makefile("rb") as rest:
            request = json.loads(rest.read(int.from_bytes(size, "big")))
        pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        is_alike = False
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            is_alike = same_start(request["variables"], pid, uid)
        if is_alike and not os.fork():
            listener.close()
            become(request, descriptors, connection)
            return
        connection.close()
        for descriptor in descriptors:
            os.close(descriptor)


def become(request: Mapping[str, Any], descriptors: list[int], connection: socket.socket) -> None:
    """Make this process a kernel, and run it to its end."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["variables"])
    time.tzset()
    show([sys.executable, "-m", "ipykernel_launcher", *request["arguments"]])
    # It looks for no parent: it ends with the process that stands for it.
    sys.argv = ["ipykernel_launcher.py", *request["arguments"], "--IPKernelApp.parent_handle=1"]
    if numpy := sys.modules.get("numpy.random"):
        numpy.seed()
    connection.sendall(str(os.getpid()).encode())
    if not connection.recv(1):
        return  # nobody stands for this kernel
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    gc.enable()
    importlib.import_module("ipykernel.kernelapp").launch_new_instance()


def _end_with(connection: socket.socket) -> None:
    connection.recv(1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
