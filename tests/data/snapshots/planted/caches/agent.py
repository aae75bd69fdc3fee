import functools
import time
from datetime import date

from bedrock_agentcore import BedrockAgentCoreApp


def load():
    return {"tea": 3, "coffee": 4}


CACHE = {"loaded_at": time.time(), "prices": load()}  # finds: cache
BY_INTERVAL = {int(time.time() // 300): load()}  # finds: cache


@functools.cache
def today():
    return date.today().isoformat()  # finds: cache


@functools.lru_cache(maxsize=4)
def prices(hour):
    return load()


PRICES = prices(round(time.time() / 3_600))  # finds: cache


class TimedCache:
    def __init__(self, seconds):
        self.value = load()
        self.expires_at = time.time() + seconds  # finds: cache

    def get(self):
        if time.time() > self.expires_at:
            self.value = load()
        return self.value


timed = TimedCache(300)
GREETING = f"Prices of {len(today())}"
app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [CACHE["prices"], BY_INTERVAL, PRICES, today(), timed.get(), GREETING]


if __name__ == "__main__":
    app.run()
