import random

from bedrock_agentcore import BedrockAgentCoreApp


def choose(items):
    random.seed()
    return random.choice(items)


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return choose([1, 2, 3])


if __name__ == "__main__":
    app.run()
