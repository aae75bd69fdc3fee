"""The scripted model over HTTP, and blueprints that run against it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from served_model import AgentProcess, ConverseApp, ServedModel, serving

from loomlib.local.models import make_model

BLUEPRINTS = Path(__file__).parents[3] / "loomlib" / "blueprints"


@pytest.fixture(scope="session")
def models() -> Iterator[ServedModel]:
    """The scripted model without any waiting."""
    with serving(ConverseApp(make_model())) as url, contextlib.closing(ServedModel(url=url)) as service:
        yield service


@pytest.fixture(scope="module")
def start_blueprint(
    models: ServedModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], AgentProcess]]:
    """Starts a blueprint's unchanged agent.py on a free port; each at most once a module."""
    running: dict[str, tuple[subprocess.Popen[bytes], AgentProcess]] = {}

    def start(name: str) -> AgentProcess:
        if name in running:
            return running[name][1]
        folder = tmp_path_factory.mktemp(name)
        log = folder / "agent.log"
        listener = socket.create_server(("127.0.0.1", 0))  # inherited: no other process can take its port
        port, descriptor = listener.getsockname()[1], listener.fileno()
        # The blueprint calls app.run() and so listens on 8080; uvicorn gets the test's own socket instead.
        run = (
            "import runpy, socket, sys, uvicorn; uvicorn.run = lambda app, **options: "
            f"uvicorn.Server(uvicorn.Config(app, **options)).run([socket.socket(fileno={descriptor})]); "
            "sys.argv = ['agent.py']; sys.path.insert(0, ''); runpy.run_path('agent.py', run_name='__main__')"
        )
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONUNBUFFERED": "1", "TZ": "UTC"}
        with listener, log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", run],
                cwd=BLUEPRINTS / name,
                env={**environment, **models.environment()},
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(descriptor,),
            )
        agent = AgentProcess(url=f"http://127.0.0.1:{port}", log=log)
        running[name] = (process, agent)
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"{agent.url}/ping", timeout=5).close()
                return agent
            except OSError:
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
        raise AssertionError(log.read_text())

    yield start
    for process, _ in running.values():
        process.terminate()
        process.wait(60)
