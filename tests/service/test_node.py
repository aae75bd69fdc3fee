"""Agents in JavaScript (NODE_22), where this machine has Node.js 22 or newer; else their refusal."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from loomlib import local
from loomlib.local.runtimes.nodes import find_node

NODE = find_node(22)
AGENT = """
import http from "node:http";

const started = Date.now();
let calls = 0;
http.createServer((request, response) => {
  if (request.url === "/ping") return response.end(JSON.stringify({status: "Healthy"}));
  let body = "";
  request.on("data", (chunk) => { body += chunk; });
  request.on("end", () => {
    const payload = JSON.parse(body);
    if (payload.crash) { console.log("as asked"); process.exit(3); }
    calls += 1;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({
      version: process.versions.node, calls, colour: process.env.COLOUR, folder: process.cwd(), pid: process.pid,
      session: request.headers["x-amzn-bedrock-agentcore-runtime-session-id"],
      own: Object.keys(process.env).filter((name) => name.startsWith("LOOM_NODE") || name === "LOOM_SERVER"),
    }));
  });
}).listen(8080, "0.0.0.0", () => console.log("listening"));
"""


def artifact(aws: Any, code: str) -> dict[str, Any]:
    configuration = aws.upload({"agent.mjs": code})
    configuration["codeConfiguration"] |= {"runtime": "NODE_22", "entryPoint": ["agent.mjs"]}
    return configuration


@pytest.mark.skipif(NODE is not None, reason="this machine has Node.js 22")
def test_the_refusal_names_what_is_there_and_what_is_needed(aws: Any) -> None:
    with pytest.raises(ClientError, match=r"Validation.*NODE_22 needs Node\.js 22 or newer .*; found: .*Install it"):
        aws.create("javascript", artifact(aws, AGENT))


@pytest.mark.skipif(NODE is None, reason="this machine has no Node.js 22")
def test_an_agent_in_javascript_runs_on_the_machines_node(aws: Any) -> None:
    if "bubblewrap" not in local.status(aws.state.home).isolation_label:
        pytest.skip("agents in JavaScript need sessions with a network of their own")
    response = aws.create("javascript", artifact(aws, AGENT), environmentVariables={"COLOUR": "blue"})
    runtime = aws.settled(response["agentRuntimeId"])
    assert runtime["status"] == "READY", runtime
    arn, one, other = runtime["agentRuntimeArn"], str(uuid.uuid4()), str(uuid.uuid4())
    first = json.loads(aws.invoke(arn, runtimeSessionId=one)[1])
    assert int(first["version"].split(".")[0]) >= 22
    assert (first["calls"], first["colour"], first["session"], first["own"]) == (1, "blue", one, [])
    assert json.loads(aws.invoke(arn, runtimeSessionId=other)[1])["calls"] == 1
    assert json.loads(aws.invoke(arn, runtimeSessionId=one)[1])["calls"] == 2
    with pytest.raises(ClientError, match="ended with exit code 3"):
        aws.invoke(arn, b'{"crash": true}', runtimeSessionId=one)
    assert json.loads(aws.invoke(arn, runtimeSessionId=one)[1])["calls"] == 1
    aws.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=one)
    broken = aws.settled(aws.create("broken", artifact(aws, "throw new Error('on purpose')"))["agentRuntimeId"])
    with pytest.raises(ClientError, match="ended with exit code 1"):
        aws.invoke(broken["agentRuntimeArn"])
