import random
import secrets

from bedrock_agentcore import BedrockAgentCoreApp

rng = random.SystemRandom()
choose = secrets.choice


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [rng.random(), choose([1, 2])]


if __name__ == "__main__":
    app.run()
