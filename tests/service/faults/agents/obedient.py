"""An agent that does what its payload (or its environment) says, and writes a tally of every call that reached it.

pause_s, words, fail ("raise", "every third", "mid-stream"), skew_s, spawn: a key of the payload, or a variable of the
same name in capitals. A file beside the tally may contain the number of the first call that is not answered while the
file exists.
"""

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

from plain_app import PlainApp

app = PlainApp()
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def option(payload, name, default=""):
    return payload.get(name) or os.environ.get(name.upper()) or default


def first_held_call():
    try:
        with open(os.environ["TALLY"] + ".hold") as file:
            return int(file.read())
    except FileNotFoundError:
        return sys.maxsize


@app.entrypoint
async def answer(payload, context):
    start_time = datetime.now(UTC) + timedelta(seconds=float(option(payload, "skew_s", 0)))
    print(f"Agent invoked - Start time: {start_time.replace(tzinfo=None).isoformat()}, Session: {context.session_id}")
    with open(os.environ["TALLY"], "a+") as tally:
        tally.write(f"{context.session_id} {os.getpid()}\n")
        tally.seek(0)
        calls = len(tally.readlines())
    while calls >= first_held_call():
        await asyncio.sleep(0.01)
    fail = option(payload, "fail")
    if fail == "raise" or (fail == "every third" and calls % 3 == 0):
        raise ValueError("the loom has no yarn")
    pause_s, words = float(option(payload, "pause_s", 0)), int(option(payload, "words", 0))
    if option(payload, "spawn"):
        # As tools do: an MCP server started with Popen, and a daemon that leaves the session's process group.
        tools = [subprocess.Popen(SLEEP), subprocess.Popen(SLEEP, start_new_session=True)]
        return {"pids": [os.getpid(), *(tool.pid for tool in tools)]}
    if not words:
        await asyncio.sleep(pause_s)
        return {"result": f"You said: {payload.get('prompt')}"}
    return stream(words, pause_s, fail)


async def stream(words, pause_s, fail):
    for number in range(words):
        yield f"word{number} "
        await asyncio.sleep(pause_s)
    if fail == "mid-stream":
        raise ValueError("the yarn broke")


if __name__ == "__main__":
    app.run()
