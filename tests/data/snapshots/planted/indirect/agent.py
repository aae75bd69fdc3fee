import itertools
import random
import threading
import time
import uuid
from pathlib import Path

import state
from bedrock_agentcore import BedrockAgentCoreApp
from pydantic import BaseModel, Field
from strands import Agent
from strands.models import BedrockModel

random.seed(1234)  # finds: random
SHARD = ""
CONFIG = {}


def init():
    global SHARD
    SHARD = uuid.uuid4().hex  # finds: id
    state.run = uuid.uuid4().hex[:4]  # finds: id


init()
CONFIG["worker"] = uuid.uuid4().hex[:5]  # finds: id
numbers = itertools.count(int(time.time()))  # finds: clock
local = threading.local()
local.id = uuid.uuid4().hex  # finds: id
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text()  # finds: id


class Record(BaseModel):
    id: str = Field(default_factory=lambda: uuid.uuid4().hex)  # finds: id


record = Record()
agent = Agent(
    model=BedrockModel(),
    name="helper-" + uuid.uuid4().hex[:8],  # finds: id
    state={"opened": time.time()},  # finds: clock
)
app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [
        SHARD,
        state.run,
        CONFIG,
        next(numbers),
        local.id,
        BOOT,
        record.id,
        agent.name,
        random.random(),  # finds: random
    ]


if __name__ == "__main__":
    app.run()
