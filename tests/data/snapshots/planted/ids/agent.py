import contextvars
import os
import secrets
import socket
import tempfile
import uuid
from dataclasses import dataclass, field
from uuid import uuid4

import config
from bedrock_agentcore import BedrockAgentCoreApp

RUN_ID = str(uuid.uuid4())  # finds: id
SHORT = uuid4().hex[:6]  # finds: id
TAGS = {"run": f"run-{secrets.token_hex(4)}"}  # finds: random
HOST = socket.gethostname()  # finds: id
WORKER = f"worker-{os.getpid()}"  # finds: id
FOLDER = tempfile.mkdtemp()  # finds: id
SESSION = config.new_id()
os.environ["APP_RUN"] = uuid4().hex  # finds: id
current = contextvars.ContextVar("current")
current.set({"id": uuid4().hex})  # finds: id


class Settings:
    worker = uuid.uuid1().hex  # finds: id


@dataclass
class Options:
    name: str = "x"
    id: str = field(default_factory=lambda: uuid4().hex)  # finds: id


class Store:
    def __init__(self):
        self.shard = uuid4().hex[:3]  # finds: id


options, store = Options(), Store()


def label(name, run=uuid4().hex[:8]):  # finds: id
    return f"{name}-{run}"


def make_handler():
    handler_id = uuid4().hex  # finds: id

    def handle(text):
        return f"{handler_id}: {text}"

    return handle


handle = make_handler()
app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [
        RUN_ID, SHORT, TAGS, HOST, WORKER, FOLDER, SESSION, Settings.worker, options.id, store.shard, label("a"),
        handle("b"), str(config.INSTANCE), os.environ["APP_RUN"], current.get({}),
    ]  # fmt: skip


if __name__ == "__main__":
    app.run()
