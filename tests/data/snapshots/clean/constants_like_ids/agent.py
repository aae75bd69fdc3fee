import datetime
import re
import uuid

from bedrock_agentcore import BedrockAgentCoreApp

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
PROJECT = uuid.uuid5(NAMESPACE, "loom").hex
RELEASED = datetime.date(2024, 5, 17)
MODEL = "global.anthropic.claude-sonnet-4-20250514-v1:0"
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
TIMEOUT = datetime.timedelta(minutes=5)
DIGITS = re.compile(r"[0-9]+")
PORT = 8080


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [str(NAMESPACE), PROJECT, str(RELEASED), MODEL, str(EPOCH), str(TIMEOUT), DIGITS.pattern, PORT]


if __name__ == "__main__":
    app.run()
