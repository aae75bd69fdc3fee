from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from loomlib.local.runtimes.pythons import MINORS, find_python, own_runtime

PLAIN_AGENT = """
import json, sys
import uvicorn

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    answer = {"status": "Healthy", "version": list(sys.version_info[:2]), "path": sys.executable}
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

uvicorn.run(app, host="0.0.0.0", port=8080, log_level="warning", lifespan="off")
"""


def server_files() -> dict[str, bytes]:
    """uvicorn and its dependencies, all pure Python, laid out as in a deployment package."""
    files: dict[str, bytes] = {}
    for name in ("uvicorn", "h11", "click", "typing_extensions"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        if origin.name != "__init__.py":
            files[origin.name] = origin.read_bytes()
            continue
        for path in origin.parent.rglob("*.py"):
            files[str(path.relative_to(origin.parents[1]))] = path.read_bytes()
    return files


def other_minor() -> int | None:
    return next((minor for minor in MINORS if minor != sys.version_info[1] and find_python(f"PYTHON_3_{minor}")), None)


@pytest.mark.skipif(other_minor() is None, reason="this machine has one Python only")
def test_a_session_runs_on_the_python_that_its_runtime_names(start_service: Callable[..., Any]) -> None:
    minor = other_minor()
    aws = start_service(python="machine")
    artifact = aws.upload({"agent.py": PLAIN_AGENT, **server_files()})
    artifact["codeConfiguration"]["runtime"] = f"PYTHON_3_{minor}"
    runtime = aws.settled(aws.create("older_python", artifact)["agentRuntimeId"])
    assert runtime["status"] == "READY", runtime
    content = json.loads(aws.invoke(runtime["agentRuntimeArn"])[1])
    assert content["version"] == [3, minor]


def test_a_python_that_the_machine_lacks_is_refused_with_what_is_there(start_service: Callable[..., Any]) -> None:
    missing = next((f"PYTHON_3_{minor}" for minor in MINORS if find_python(f"PYTHON_3_{minor}") is None), None)
    if missing is None or missing == own_runtime():
        pytest.skip("this machine has every Python")
    aws = start_service(python="machine")
    artifact = aws.upload({"agent.py": "pass"})
    artifact["codeConfiguration"]["runtime"] = missing
    with pytest.raises(ClientError, match=f"no Python for {missing}; it has .*{own_runtime()}") as refused:
        aws.create("no_python", artifact)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
