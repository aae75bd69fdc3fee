"""An agent that never gets to answer, in the way that the variable HOW names."""

import os
import sys
import time

HOW = os.environ["HOW"]
print(f"about to fail: {HOW}", flush=True)
if HOW == "dies":
    sys.exit("no model, no agent")
if HOW == "import":
    import nothing_of_this_name  # noqa: F401
if HOW == "never serves":
    time.sleep(600)

from plain_app import PlainApp  # noqa: E402

app = PlainApp()


@app.entrypoint
def answer(payload):
    if HOW == "raises":
        raise RuntimeError("the shuttle is stuck")
    if HOW == "is killed":
        os.kill(os.getpid(), 9)
    if HOW == "too slow":
        time.sleep(600)
    return {}


if HOW == "garbage":
    import asyncio

    import uvicorn

    class Garbage(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            healthy, garbage = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"I am a little teapot\r\n\r\n"
            self.transport.write(healthy if data.startswith(b"GET /ping") else garbage)

    async def nothing(scope, receive, send):
        pass

    uvicorn.run(nothing, http=lambda *_args, **_more: Garbage(), port=8080, lifespan="off", log_level="critical")
else:
    app.run()
