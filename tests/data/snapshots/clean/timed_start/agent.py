import time

from bedrock_agentcore import BedrockAgentCoreApp

_began = time.perf_counter()
_started = time.time()
WORDS = {word: len(word) for word in ("tea", "coffee")}
START_UP_S = time.perf_counter() - _began
LOADED_IN_MS = (time.time() - _started) * 1_000
print(f"loaded in {START_UP_S:.3f} s")


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [WORDS, START_UP_S, LOADED_IN_MS]


if __name__ == "__main__":
    app.run()
