import functools
import os
from dataclasses import dataclass, field

from bedrock_agentcore import BedrockAgentCoreApp


@dataclass(frozen=True)
class Settings:
    model: str = os.environ.get("MODEL_ID", "some-model")
    region: str = os.environ.get("AWS_REGION", "")
    api_key: str = os.environ.get("SERVICE_API_KEY", "not-set")
    tags: tuple = field(default_factory=tuple)
    home: str = os.environ.get("HOME", "")
    endpoint: str = os.environ.get("AWS_ENDPOINT_URL", "")


@functools.lru_cache
def settings():
    return Settings()


SETTINGS = settings()


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [SETTINGS.model, SETTINGS.region, bool(SETTINGS.api_key), SETTINGS.tags, SETTINGS.home, SETTINGS.endpoint]


if __name__ == "__main__":
    app.run()
