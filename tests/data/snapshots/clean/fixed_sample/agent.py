import random

import numpy as np
from bedrock_agentcore import BedrockAgentCoreApp


def sample():
    return random.Random(42).sample(range(10), 3)


WEIGHTS = np.random.default_rng(3).normal(size=4).tolist()
EXAMPLES = sample()


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [WEIGHTS, EXAMPLES]


if __name__ == "__main__":
    app.run()
