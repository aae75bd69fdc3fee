import random

from bedrock_agentcore import BedrockAgentCoreApp

rng = random.SystemRandom()
random.seed(7)
ORDER = random.sample(range(10), 3)
COLOURS = list({"red", "green", "blue"})
WORDS = ", ".join({"tea", "coffee", "water"})
EXAMPLE = random.Random(3).choice(["a", "b", "c"])
app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [ORDER, COLOURS, WORDS, EXAMPLE, rng.random()]


if __name__ == "__main__":
    app.run()
