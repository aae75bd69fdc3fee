"""An agent in several versions, for tests of versions, endpoints and A/B tests."""

from __future__ import annotations

from pathlib import Path

from plain_agents import PLAIN_APP

import loomlib as loom

CODE = '''"""Answers with its version."""

from plain_app import PlainApp

app = PlainApp()
VERSION = "{version}"
{more}

@app.entrypoint
def answer(payload):
    if "fail" in payload.get("prompt", ""):
        raise ValueError("asked to fail")
    return {{"result": "version " + VERSION}}


app.run()
'''


def deploy_version(
    bench: loom.Workbench, folder: Path, name: str, version: str, *, more: str = "", **options: object
) -> loom.Agent:
    """Deploy the next version of the agent; it answers with `version`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plain_app.py").write_text(PLAIN_APP)
    (folder / "agent.py").write_text(CODE.format(version=version, more=more))
    return bench.deploy(folder, name=name, platform_version="V1", **options)
