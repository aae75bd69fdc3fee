import os
import random
import secrets
import ssl
import string
from random import choice

import numpy as np
from bedrock_agentcore import BedrockAgentCoreApp

rng = random.Random(7)  # finds: random
numpy_rng = np.random.default_rng(1)  # finds: random
SALT = os.urandom(16)  # finds: random
KEY = ssl.RAND_bytes(16)  # finds: random
TOKEN = secrets.token_urlsafe(8)  # finds: random
SHARD = random.randint(1, 4)  # finds: random
SUFFIX = "".join(random.choices(string.ascii_lowercase, k=6))  # finds: random
NOISE = np.random.normal(size=3).tolist()  # finds: random
ORDER = list(range(50))
random.shuffle(ORDER)  # finds: random


class Sampler:
    def __init__(self):
        self._rng = random.Random()

    def pick(self, items):
        return self._rng.choice(items)


sampler = Sampler()  # finds: random
app = BedrockAgentCoreApp()


def jitter():
    return random.random()  # finds: random


def greeting():
    return choice(["hello", "hi"])  # finds: random


def temperature():
    return np.random.rand()  # finds: random


@app.entrypoint
def invoke(payload):
    drawn = rng.random(), float(numpy_rng.random()), jitter(), greeting(), temperature(), sampler.pick([1, 2])
    return [*drawn, SALT.hex(), KEY.hex(), TOKEN, SHARD, SUFFIX, NOISE, ORDER]


if __name__ == "__main__":
    app.run()
