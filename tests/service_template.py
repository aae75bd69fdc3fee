"""Fork services of tests from one process that has imported the service, which is most of the work of a start.

`lifecycle` asks the process at the socket `LOOM_SERVICE_TEMPLATE`. What is forked runs `loomlib.local` as its command
would: command line, standard input, variables, folder, descriptors and process group are the same. Where something
differs that only a new interpreter can have (Python's own variables, the user, limits of resources), the request is
refused, and `lifecycle` runs the command. Tests of the start itself delete the variable.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

_READ_AT_THE_START = ("PYTHON", "COVERAGE", "LD_", "DYLD_", "LC_", "LANG")
_ROOM_FOR_THE_COMMAND = 2_000
_LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_NPROC)


@contextlib.contextmanager
def service_template() -> Generator[str]:
    """Start the process, yield the path of its socket, and end it; the services that it forked go on."""
    from loomlib.local.lifecycle import service_variables

    with tempfile.TemporaryDirectory(prefix="loom-template-") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address := str(Path(folder) / "socket"))
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(listener.fileno()), " " * _ROOM_FOR_THE_COMMAND],
            stdin=subprocess.PIPE,
            pass_fds=(listener.fileno(),),
            env=service_variables(),
            start_new_session=True,  # Ctrl-C is for the tests
        )
        try:
            yield address
        finally:
            process.kill()  # it may still import
            process.communicate()


def main(listener: socket.socket) -> None:
    """Fork a service for each request until standard input ends."""
    gc.disable()
    importlib.import_module("loomlib.local.deferred_packages").defer_service_packages()
    importlib.import_module("loomlib.local.serve")
    importlib.import_module("loomlib.local.moto_application")  # loaded with the first request to moto

    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    while True:
        readable, _, _ = select.select([0, listener], [], [])
        if 0 in readable:
            return
        connection = listener.accept()[0]
        with connection:
            begin, descriptors, _, _ = socket.recv_fds(connection, 1, 2)
            with connection.makefile("rb") as rest:
                request = json.loads(begin + rest.read())
            pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if same_start(request["variables"], pid, uid):
                if not os.fork():
                    connection.close()
                    listener.close()
                    become(request, *descriptors)
                    return
                with contextlib.suppress(ConnectionError):
                    connection.sendall(b"forked")
            for descriptor in descriptors:
                os.close(descriptor)


def same_start(variables: Mapping[str, str], pid: int, uid: int) -> bool:
    """Whether an interpreter that the asking process starts would be like this one."""
    chosen = [
        {name: value for name, value in all_.items() if name.startswith(_READ_AT_THE_START)}
        for all_ in (variables, os.environ)
    ]
    if chosen[0] != chosen[1] or uid != os.getuid():
        return False
    try:
        return all(resource.prlimit(0, limit) == resource.prlimit(pid, limit) for limit in _LIMITS)
    except ProcessLookupError:
        return False  # nobody waits for the service


def become(request: Mapping[str, Any], log: int, notify: int) -> None:
    """Run the service of the command in this process, until it ends."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    input_fd = os.memfd_create("input")
    os.write(input_fd, request["input"].encode())
    os.lseek(input_fd, 0, os.SEEK_SET)
    for descriptor, place in ((input_fd, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, place)
    os.close(input_fd)
    os.close(log)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["variables"])
    time.tzset()
    command: list[str] = request["command"]
    command[command.index("--ready-fd") + 1] = str(notify)
    show(command)
    sys.argv = command[command.index("-m") + 1 :]
    gc.enable()
    runpy.run_module("loomlib.local", run_name="__main__", alter_sys=True)


def show(command: list[str]) -> None:
    """Show the command as this process's own, in `ps` and in /proc: tests look for services by their home folder."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5)
    text = "\0".join(command).encode()[: end - begin - 1]
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(begin)
        memory.write(text.ljust(end - begin, b"\0"))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
