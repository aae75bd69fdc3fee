import random
import secrets
import time
import uuid
from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp


def describe():
    return {
        "id": uuid.uuid4().hex,
        "token": secrets.token_hex(8),
        "at": datetime.now(UTC).isoformat(),
        "t": time.time(),
    }


def shuffled(items):
    return random.Random().sample(items, len(items))


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [describe(), shuffled([1, 2, 3])]


if __name__ == "__main__":
    app.run()
