import functools
import time

from bedrock_agentcore import BedrockAgentCoreApp


def timed(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        began = time.perf_counter()
        result = function(*arguments)
        print(function.__name__, time.perf_counter() - began)
        return result

    return wrapper


@timed
def load():
    return "a text that is loaded once"


TEXT = load()


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return TEXT


if __name__ == "__main__":
    app.run()
