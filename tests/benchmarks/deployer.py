"""A process that deploys a large package whenever it is told to: `python -m tests.benchmarks.deployer HOME MEGABYTES`.

It is a process of its own, so that only the service, and not the caller's interpreter, is shared.
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
import zipfile
from pathlib import Path

from loomlib import local
from loomlib.aws import Clients, Connection

AGENT = "from bedrock_agentcore import BedrockAgentCoreApp\napp = BedrockAgentCoreApp()\napp.run()\n"


def package(megabytes: int) -> bytes:
    """A zip file of about this size: a tenth Python source, the rest data that cannot be compressed."""
    noise = random.Random(megabytes)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("agent.py", AGENT)
        for number in range(megabytes * 9 // 10):
            archive.writestr(f"data/{number}.bin", noise.randbytes(1_000_000))
        line = "def function_{0}(first, second):\n    return [first * {0} + second for item in range(first)]\n\n\n"
        for number in range(megabytes):
            archive.writestr(f"vendored/module_{number}.py", "".join(line.format(at) for at in range(1_000)))
    return packed.getvalue()


def main(home: Path, megabytes: int) -> None:
    """Deploy once for each line of standard input and report how long it took."""
    state = local.find(home)
    assert state is not None
    clients = Clients(Connection(region=state.region, environment=state.environment()))
    s3, control = clients.s3(), clients.control()
    s3.create_bucket(Bucket="large")
    content = package(megabytes)
    print("ready", flush=True)
    for number, _ in enumerate(sys.stdin):
        begun = time.perf_counter()
        s3.put_object(Bucket="large", Key="large.zip", Body=content)
        uploaded = time.perf_counter()
        response = control.create_agent_runtime(
            agentRuntimeName=f"large_{number}",
            agentRuntimeArtifact={
                "codeConfiguration": {
                    "code": {"s3": {"bucket": "large", "prefix": "large.zip"}},
                    "runtime": "PYTHON_3_11",
                    "entryPoint": ["agent.py"],
                }
            },
            roleArn="arn:aws:iam::123456789012:role/loom",
            networkConfiguration={"networkMode": "PUBLIC"},
        )
        while (runtime := control.get_agent_runtime(agentRuntimeId=response["agentRuntimeId"]))["status"] == "CREATING":
            time.sleep(0.05)
        control.delete_agent_runtime(agentRuntimeId=response["agentRuntimeId"])
        took = {"status": runtime["status"], "upload_s": uploaded - begun, "took_s": time.perf_counter() - begun}
        print(json.dumps(took), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
