"""A hub with users of the operating system, in mount and process namespaces of its own.

`/etc/passwd`, `/etc/shadow` and `/etc/group` of the namespace have the users; the machine's own stay as they are. All
processes of the hub and of its users end with the namespace, also when the tests are killed.
"""

from __future__ import annotations

import contextlib
import grp
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import requests
import websocket
from waiting import wait_until

from loomlib.errors import LoomError
from loomlib.hub import HubSettings, prepare_folder

_REPOSITORY = Path(__file__).resolve().parent.parent
_FIRST_ID = 61_000
_GROUP_IDS = {"loom": 61_900, "loom-teachers": 61_901}


def why_no_hub() -> str:
    """Why no hub can run here; "" if one can."""
    from loomlib.hub.proxy import find_proxy

    try:
        import jupyterhub  # noqa: F401
        import jupyterhub_idle_culler  # noqa: F401
    except ImportError as error:
        return f"needs requirements-hub.txt ({error.name})"
    try:
        find_proxy()
    except LoomError as error:
        return f"needs configurable-http-proxy: {error}"
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root on Linux can start the servers of other users"
    if shutil.which("openssl") is None:
        return "needs openssl, which hashes the passwords of the users"
    command = ["unshare", "--mount", "--pid", "--fork", "true"]
    if shutil.which("unshare") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        return "needs namespaces for mounts and processes"
    if any(not folder.stat().st_mode & 0o001 for folder in _needed()):
        return "this machine's packages or sources are closed to other users"
    return ""


class HubMachine:
    """A running hub, its users, and their passwords.

    Attributes:
        folder: The hub's folder, and the users' home folders in `homes`.
        url: The hub's address, with a slash at its end.
    """

    def __init__(self, users: Sequence[str], *, teachers: Sequence[str] = (), idle_s: int = 3600) -> None:
        self._base = Path(tempfile.mkdtemp(prefix="loom-hub-", dir="/tmp"))
        self._base.chmod(0o755)
        self.folder = self._base / "hub"
        self.passwords = {name: secrets.token_hex(8) for name in users}
        port, hub_port, proxy_port = _free_ports(3)
        self.settings = HubSettings(folder=self.folder, port=port, idle_s=idle_s)
        self.url = f"https://localhost:{port}/"
        prepare_folder(self.settings)
        with self.settings.configuration.open("a") as file:
            file.write(
                f'c.JupyterHub.hub_port = {hub_port}\nc.ConfigurableHTTPProxy.api_url = "https://127.0.0.1:{proxy_port}"\n'
            )
        self._make_users(teachers)
        self.log = self._base / "hub.log"
        self._process: subprocess.Popen[bytes] | None = None

    def home(self, user: str) -> Path:
        """The home folder of a user."""
        return self._base / "homes" / user

    def start(self) -> None:
        """Start the hub and wait until it answers."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("LOOM_", "AWS_"))}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc",
                 sys.executable, __file__, str(self._base)],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
                env=variables | {"HUB_OWN_SECRET": "of the hub"},
            )  # fmt: skip

        def answers() -> bool:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"the hub ended: {self.log.read_text()[-3000:]}")
            with contextlib.suppress(requests.ConnectionError, requests.Timeout):
                return requests.get(f"{self.url}hub/api/", verify=self.authority, timeout=30).ok
            return False

        wait_until(answers, what="the hub's first answer", pause_s=0.3)

    @property
    def authority(self) -> str:
        """The certificate to trust."""
        return str(self.settings.certificates / "authority.pem")

    def sign_in(self, user: str) -> HubUser:
        """Sign in with the password in the login form, as a browser does."""
        return HubUser(self, user)

    def processes(self) -> list[int]:
        """The process ids of the hub's and its users' processes, in this namespace."""
        import psutil

        assert self._process is not None
        return [child.pid for child in psutil.Process(self._process.pid).children(recursive=True)]

    def close(self) -> None:
        """End the hub, and with it all that its users run."""
        if self._process is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._process.communicate(timeout=90)  # its standard input ends
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._base, ignore_errors=True)

    def _make_users(self, teachers: Sequence[str]) -> None:
        texts = {name: Path("/etc", name).read_text() for name in ("passwd", "shadow", "group")}
        for number, (user, password) in enumerate(self.passwords.items(), _FIRST_ID):
            home = self.home(user)
            home.mkdir(parents=True)
            os.chown(home, number, number)
            home.chmod(0o700)
            hashed = subprocess.run(
                ["openssl", "passwd", "-6", "-stdin"], input=password, text=True, capture_output=True, check=True
            ).stdout.strip()
            texts["passwd"] += f"{user}:x:{number}:{number}::{home}:/bin/sh\n"
            texts["shadow"] += f"{user}:{hashed}:20000:0:99999:7:::\n"
            texts["group"] += f"{user}:x:{number}:\n"
        group_names = {entry.gr_name for entry in grp.getgrall()}
        for name, members in (
            ("loom", [user for user in self.passwords if user not in teachers]),
            ("loom-teachers", teachers),
        ):
            if name not in group_names:
                texts["group"] += f"{name}:x:{_GROUP_IDS[name]}:{','.join(members)}\n"
        for name, text in texts.items():
            file = self._base / name
            file.write_text(text)
            file.chmod(0o600 if name == "shadow" else 0o644)


class HubUser:
    """A user who has signed in: their server, and kernels on it."""

    def __init__(self, machine: HubMachine, name: str) -> None:
        self.machine, self.name = machine, name
        self.web = requests.Session()
        self.web.trust_env = False  # a variable with certificates would come before these
        self.web.verify = machine.authority
        self.url = f"{machine.url}user/{name}/"
        page = self.web.get(f"{machine.url}hub/login")
        form = {
            "username": name,
            "password": machine.passwords[name],
            "_xsrf": self.web.cookies.get("_xsrf", path="/hub/"),
        }
        answer = self.web.post(f"{machine.url}hub/login", data=form, allow_redirects=False)
        assert page.ok
        assert answer.status_code == 302, answer.text
        self._socket: Any = None

    def hub(self, method: str, path: str, **more: Any) -> requests.Response:
        """A call of the hub's API with this user's cookie."""
        headers = {"X-XSRFToken": self.web.cookies.get("_xsrf", path="/hub/") or ""}
        return self.web.request(method, f"{self.machine.url}hub/api/{path}", headers=headers, **more)

    def start(self) -> None:
        """Start the user's server, wait for it, and take a token of the user's for it."""
        answer = self.hub("POST", f"users/{self.name}/tokens", json={"note": "test"})
        assert answer.status_code == 201, answer.text
        self.headers = {"Authorization": f"token {answer.json()['token']}"}
        self.web.cookies.clear()
        answer = requests.post(
            f"{self.machine.url}hub/api/users/{self.name}/server", headers=self.headers, verify=self.machine.authority
        )
        assert answer.status_code in (201, 202), answer.text

        def is_ready() -> bool:
            state = self._get(f"{self.machine.url}hub/api/users/{self.name}")
            server = state["servers"].get("", {})
            assert state["pending"] == "spawn" or server, self.machine.log.read_text()[-3000:]
            return bool(server.get("ready"))

        wait_until(is_ready, what=f"the server of {self.name}", pause_s=0.3)

    def notebook(self, path: str) -> dict[str, Any]:
        """A notebook in the home folder, through the server."""
        return self._get(f"{self.url}api/contents/{path}")["content"]

    def execute(self, code: str) -> str:
        """Execute code in the user's kernel and return what it printed."""
        if self._socket is None:
            answer = requests.post(
                f"{self.url}api/kernels", headers=self.headers, verify=self.machine.authority,
                json={"name": "python3", "path": "workshop"},
            )  # fmt: skip
            assert answer.status_code == 201, answer.text
            self._socket = websocket.create_connection(
                f"{self.url.replace('https', 'wss', 1)}api/kernels/{answer.json()['id']}/channels",
                header=self.headers, sslopt={"ca_certs": self.machine.authority, "cert_reqs": ssl.CERT_REQUIRED},
                timeout=300,
            )  # fmt: skip
        msg_id = uuid.uuid4().hex
        header = {"msg_id": msg_id, "msg_type": "execute_request", "username": "", "session": msg_id, "version": "5.3"}
        content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
        self._socket.send(
            json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"})
        )
        printed: list[str] = []
        while True:
            message = json.loads(self._socket.recv())
            if message["parent_header"].get("msg_id") != msg_id:
                continue
            match message["msg_type"], message["content"]:
                case "stream", {"name": "stdout", "text": text}:
                    printed.append(text)
                case "error", {"ename": name, "evalue": value}:
                    raise RuntimeError(f"{self.name}: {name}: {value}")
                case "status", {"execution_state": "idle"}:
                    return "".join(printed)

    def close(self) -> None:
        """Close the connections; the server goes on."""
        if self._socket is not None:
            self._socket.close()
        self.web.close()

    def _get(self, url: str) -> Any:
        answer = requests.get(url, headers=self.headers, verify=self.machine.authority, timeout=120)
        answer.raise_for_status()
        return answer.json()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as closing:
        servers = [closing.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(server.getsockname()[1]) for server in servers]


def _needed() -> list[Path]:
    """Folders that users must read: Python, its packages and Loom."""
    return [Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), _REPOSITORY]


def _open(base: Path) -> None:
    """Let others reach what they must read: folders above it that are closed to them are replaced in this namespace."""
    mounts: list[tuple[Path, Path]] = []
    closed_folders: set[Path] = set()
    for number, path in enumerate(_needed()):
        above = [folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001]
        if above:
            closed_folders.add(above[0])
            mounts.append((path, base / f"kept-{number}"))
            mounts[-1][1].mkdir()
            _mount("--bind", str(path), str(mounts[-1][1]))
    for folder in closed_folders:
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(folder))
    for path, mount_point in mounts:
        path.mkdir(parents=True, exist_ok=True)
        _mount("--bind", str(mount_point), str(path))


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _main(base: Path) -> None:
    """The first process of the namespace: mounts, starts the hub, ends it with standard input, and collects orphans."""
    for name in ("passwd", "shadow", "group"):
        _mount("--bind", str(base / name), f"/etc/{name}")
    _open(base)
    hub = subprocess.Popen(
        [sys.executable, "-c", "from loomlib.cli import main; main()", "hub", "up", str(base / "hub")],
        stdin=subprocess.DEVNULL,
        cwd="/",
    )

    def end() -> None:
        sys.stdin.buffer.read()
        hub.send_signal(signal.SIGTERM)

    threading.Thread(target=end, daemon=True).start()
    while True:
        pid, status = os.wait()
        if pid == hub.pid:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
