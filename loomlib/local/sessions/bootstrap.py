"""The entry point of a session's process: it turns `python bootstrap.py … agent.py` into `python agent.py`.

It runs in the agent's interpreter, so it uses the standard library only, imports almost nothing, and does not leave
names in the agent's `__main__`. Arguments: the descriptors of the listening socket and of the lifeline, the mark, the
limits, the service's port, the descriptor of the socket on which sessions forked from this process are requested, and
the script. The port is `-` without a sandbox and `0` if loopback is this machine's own; it ends with `+` if the
network comes up while the agent is imported. The last descriptor is `-` if no session is forked.
"""

from __future__ import annotations

import io
import os
import sys
from _frozen_importlib_external import PathFinder
from _thread import LockType, allocate_lock, start_new_thread
from time import monotonic_ns

TYPE_CHECKING = False  # `typing` itself takes two milliseconds
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import FrameType, ModuleType
    from typing import Any

    from uvicorn.server import Server

    from .snapshots import Freezer
    from .spans import Spans

# Optional format checkers that jsonschema imports when they happen to be installed. JupyterLab brings them, AWS's image
# does not, and `rfc3987_syntax` alone compiles a grammar for 1.3 s on two cores (`python -X importtime`).
OPTIONAL_CHECKERS = frozenset(
    {"fqdn", "isoduration", "jsonpointer", "rfc3339_validator", "rfc3986_validator", "rfc3987", "rfc3987_syntax"}
    | {"uri_template", "webcolors"}
)


NETWORK_WITHIN_S = 10.0
"""How long the first import of `socket` waits for the network, which comes up while the interpreter starts."""


class StartHook:
    """An import hook for the agent's process.

    It blocks slow optional modules, makes uvicorn serve on the session's socket, and exports the agent's spans once it
    creates any.

    Args:
        listener_fd: The session's socket.
        package_path: Folders of the package and its requirements.
        spans: The agent's spans.
        server: The runtime's protocol, port and path.
        on_ready: Called when the agent's server accepts connections.
    """

    def __init__(
        self,
        listener_fd: int,
        package_path: list[str],
        spans: Spans | None,
        server: list[str],
        on_ready: Callable[[], object],
    ) -> None:
        self.listener_fd, self.package_path, self.spans, self.is_taken = listener_fd, package_path, spans, False
        self.on_ready = on_ready
        self.freezer: Freezer | None = None
        self.protocol, self.port = server[0], int(server[1])
        self.after: dict[str, Callable[[ModuleType], object]] = {
            "uvicorn.server": self.patch,
            "uvicorn.protocols.utils": lambda module: load_beside("uvicorn_changes").give_addresses(module),
        }
        if spans is not None:
            self.after |= spans.hooks()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a module's spec, raise for one that is blocked, or return None to leave it to the other finders."""
        if name in OPTIONAL_CHECKERS and importing_module() == "jsonschema._format":
            # The package's own copy is imported, as on AWS.
            spec = PathFinder.find_spec(name, self.package_path)
            if spec is None:
                raise ModuleNotFoundError(f"{name} is not imported when a session starts", name=name)
            return spec
        if name not in self.after:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            execute, act = spec.loader.exec_module, self.after[name]

            def execute_and_act(module: ModuleType) -> None:
                execute(module)
                act(module)

            spec.loader.exec_module = execute_and_act  # pyright: ignore[reportAttributeAccessIssue]
        return spec

    def patch(self, module: ModuleType) -> None:
        """Make the agent's first server listen on the session's socket, whatever address it requests."""
        server_class: type[Server] = module.Server
        serve = server_class.serve

        async def serve_on_session_socket(server: Server, sockets: list[socket.socket] | None = None) -> None:
            # Another server, such as a tool server in a thread, keeps its own address.
            port = server.config.port
            if not self.is_taken and (port == self.port or (on_main_thread() and self.takes_any_port)):
                import socket

                self.is_taken = True
                sockets = [socket.socket(fileno=self.listener_fd)]
                # The pool reuses idle connections; uvicorn's 5 s could close one just as a request is sent on it.
                server.config.timeout_keep_alive = 86_400
                self.report_start(server)
                load_beside("uvicorn_changes").look_once_a_second(server)
                if self.spans is not None:
                    self.spans.watch(server)
                if self.freezer is not None:
                    self.freezer.watch(server)
            elif not self.is_taken and on_main_thread():
                sys.stderr.write(
                    f"Loom: this server listens on port {port}, but the runtime speaks {self.protocol} "
                    f"on port {self.port}\n"
                )
            await serve(server, sockets)

        server_class.serve = serve_on_session_socket  # pyright: ignore[reportAttributeAccessIssue]

    def report_start(self, server: Server) -> None:
        """Report when the server has started."""
        startup = server.startup

        async def start_up_and_report(sockets: list[socket.socket] | None = None) -> None:
            await startup(sockets)
            if server.started:
                self.on_ready()

        server.startup = start_up_and_report

    @property
    def takes_any_port(self) -> bool:
        """Whether the first server is the agent's whatever its port: locally an HTTP agent may choose a free one."""
        return self.protocol == "HTTP" and self.port == 8080


class OutputStream(io.TextIOWrapper):
    """stdout or stderr; both share a pipe, and neither writes into the other's unfinished line.

    Strands prints tokens without a line break; without this the SDK's next JSON log line would be appended to them.
    """

    unfinished: OutputStream | None = None

    def write(self, text: str, /) -> int:
        """Write text, after a line break if the other stream's line is unfinished."""
        if text:
            before, OutputStream.unfinished = OutputStream.unfinished, None if text.endswith("\n") else self
            super().write("\n" + text if before is not None and before is not self else text)
        return len(text)


def share_output() -> None:
    """Replace stdout and stderr by streams that do not interleave within a line."""
    for name in ("stdout", "stderr"):
        plain: io.TextIOWrapper = getattr(sys, name)
        encoding, errors, lines, through = plain.encoding, plain.errors, plain.line_buffering, plain.write_through
        stream = OutputStream(plain.detach(), encoding, errors, line_buffering=lines, write_through=through)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def load_beside(name: str, file: str = "") -> Any:
    """Load a module next to this file, under a name that cannot clash with an agent's module."""
    from _frozen_importlib import _load  # pyright: ignore
    from _frozen_importlib_external import spec_from_file_location  # pyright: ignore

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), file or f"{name}.py")
    return _load(spec_from_file_location(f"_loom_{name}", path))  # pyright: ignore


def load_spans(lifeline_fd: int, invoked_at: str) -> Spans:
    """Load the module `spans`."""

    def notify(signal: bytes) -> int:
        try:
            return os.write(lifeline_fd, signal)
        except OSError:
            return 0  # the service has ended, and this process is about to

    return load_beside("spans").Spans(os.environ.pop("LOOM_SPANS"), notify, invoked_at)


def load_freezer(control_fd: int, listener_fd: int, lifeline_fd: int, spans: Spans | None) -> Freezer:
    """Load the package `snapshots`, for a process that sessions are forked from."""

    def follow_service(mark: str) -> None:
        start_new_thread(follow_the_service, (lifeline_fd, mark, held_lock()))
        send_times(lifeline_fd, monotonic_ns())

    os.set_inheritable(control_fd, False)
    package = load_beside("snapshots", os.path.join("snapshots", "__init__.py"))
    return package.Freezer(control_fd, listener_fd, lifeline_fd, spans, announce, follow_service)


def held_lock() -> LockType:
    """Return a new lock in the acquired state."""
    lock = allocate_lock()
    lock.acquire()
    return lock


def importing_module() -> str:
    """Return the name of the module whose import statement is running."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name != __name__ and not name.startswith(("importlib.", "_frozen_importlib")):
            return name
        frame = frame.f_back
    return ""


def on_main_thread() -> bool:
    """Return whether this is the main thread."""
    import threading

    return threading.current_thread() is threading.main_thread()


def announce(lifeline_fd: int, port: int) -> None:
    """Tell the service this process's pid, and give it a listening socket at its own port (see `sandbox.handshake`)."""
    from _socket import AF_INET, IPPROTO_TCP, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

    control: list[tuple[int, int, bytes]] = []
    if port:
        endpoint = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP)
        endpoint.bind(("127.0.0.1", port))
        endpoint.listen(2_048)
        control.append((SOL_SOCKET, SCM_RIGHTS, endpoint.fileno().to_bytes(4, sys.byteorder)))
    lifeline = socket(fileno=lifeline_fd)
    lifeline.sendmsg([b"@"], control)
    lifeline.detach()


def send_times(lifeline_fd: int, *times_ns: int) -> None:
    """Send times of the monotonic clock to the service (see `start_times.StartTimes`)."""
    try:
        os.write(lifeline_fd, (" ".join(map(str, times_ns)) + "\n").encode())
    except OSError:
        return  # the service has ended, and this process is about to


def keep_limits(text: str) -> None:
    """Set the limits in `text`, such as `7:1024,6:1024`: pairs of resource number and value for setrlimit(2)."""
    from resource import RLIM_INFINITY, getrlimit, setrlimit

    for pair in filter(None, text.split(",")):
        number, value = map(int, pair.split(":"))
        most = getrlimit(number)[1]
        least = value if most == RLIM_INFINITY else min(value, most)
        setrlimit(number, (least, least))


def follow_the_service(
    lifeline_fd: int, mark: str, network: LockType, answer: Callable[[int], object] | None = None
) -> None:
    """Wait until the lifeline closes, because the service closes it or is killed; then end the whole session.

    The lock `network` is released when the service reports that the network is up. A byte with a descriptor is the
    beginning of a request (see `spawning`), which `answer` is called with.

    Where this thread cannot run, because native code holds the GIL, the service's keeper ends the session.
    """
    import _socket

    lifeline, closed_on_exec = _socket.socket(fileno=lifeline_fd), getattr(_socket, "MSG_CMSG_CLOEXEC", 0)
    lifeline.settimeout(None)  # whatever default timeout the code of a restored agent has set
    try:
        while True:
            data, control, _, _ = lifeline.recvmsg(1, _socket.CMSG_SPACE(4), closed_on_exec)
            if data == b"n":
                network.release()
            for level, kind, descriptor in control:
                if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
                    request_fd = int.from_bytes(descriptor[:4], sys.byteorder)
                    start_new_thread(answer or answer_request, (request_fd,))
            if not data:
                break
    except OSError:
        pass
    end_session(mark)


def answer_request(descriptor: int) -> None:
    """Answer a request of the service on its channel."""
    load_beside("spawning").answer(descriptor)


def end_session(mark: str) -> None:
    """Kill every process with the session's mark in its environment, then this process group."""
    marker, own = f"LOOM_SESSION={mark}".encode(), os.getpid()
    try:
        processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        processes = []  # no /proc (macOS): only the process group can be killed
    for pid in processes:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if pid != own and marker in file.read().split(b"\0"):
                    os.kill(pid, 9)
        except OSError:
            continue
    os.killpg(0, 9)


def run_script(script: str) -> None:
    """Execute `script` as `__main__`, as the interpreter does for `python script`."""
    path = os.path.abspath(script)
    sys.argv = [script]
    sys.path[0] = os.path.dirname(path)
    main = type(sys)("__main__")
    names: dict[str, object] = main.__dict__
    names.update(__file__=path, __builtins__=__builtins__)
    with open(path, "rb") as file:
        source = file.read()
    sys.modules["__main__"] = main
    try:
        exec(compile(source, path, "exec", dont_inherit=True), names)  # noqa: S102 (the agent's own script)
    except Exception as failure:  # noqa: BLE001 (foreign code; it is shown and ends the process, as it would by hand)
        trace = failure.__traceback__
        failure.__traceback__ = trace.tb_next if trace is not None else None  # hide this file from the traceback
        sys.excepthook(type(failure), failure, failure.__traceback__)
        sys.exit(1)


def lowered(number: str) -> int:
    """Return the lowest free number for a descriptor, which is not inherited any more.

    It has the number that it had in the service, which may be above the limit of the session's open files.
    """
    descriptor = os.dup(int(number))
    os.close(int(number))
    return descriptor


def start() -> None:
    """Prepare the process and run the agent's script."""
    listener_fd, lifeline_fd = lowered(sys.argv[1]), lowered(sys.argv[2])
    mark, limits, port, control_fd, script = sys.argv[3:8]
    if port != "-":
        announce(lifeline_fd, int(port.rstrip("+")))
    keep_limits(limits)
    share_output()
    network = held_lock()
    start_new_thread(follow_the_service, (lifeline_fd, mark, network))
    package_path = [os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    server = os.environ.pop("LOOM_SERVER", "HTTP 8080 /invocations").split(" ", 2)
    if node := os.environ.pop("LOOM_NODE", ""):
        os.environ.pop("LOOM_SPANS", None)
        if port.endswith("+"):
            network.acquire(timeout=NETWORK_WITHIN_S)
        load_beside("node_agent").run(node, script, listener_fd, int(server[1]))
    spans = load_spans(lifeline_fd, server[2]) if "LOOM_SPANS" in os.environ else None
    hook = StartHook(
        listener_fd, package_path, spans, server, lambda: send_times(lifeline_fd, begins_ns, monotonic_ns())
    )
    if control_fd != "-":
        hook.freezer = load_freezer(lowered(control_fd), listener_fd, lifeline_fd, spans)
    if port.endswith("+"):
        hook.after["socket"] = lambda module: network.acquire(timeout=NETWORK_WITHIN_S)
    sys.meta_path.insert(0, hook)  # pyright: ignore[reportArgumentType]
    begins_ns = monotonic_ns()
    run_script(script)


if __name__ == "__main__":
    start()
