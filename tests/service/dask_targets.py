"""Functions that workers of a Dask cluster import; each call leaves a line in the file that the prompt names."""

from __future__ import annotations

import asyncio
import os


async def noted(prompt: str) -> str:
    """Answer `FILE|TEXT|SECONDS` with the text after the seconds, noted in the file, and in `FILE.pids` with the pid.

    With `open` for the seconds, it answers once `FILE.open` exists.
    """
    file, text, seconds = prompt.split("|")
    for path, line in ((f"{file}.pids", f"{text} {os.getpid()}"), (file, text)):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)
    if seconds == "open":
        while not os.path.exists(f"{file}.open"):
            await asyncio.sleep(0.05)
    else:
        await asyncio.sleep(float(seconds))
    return text


def deadly(prompt: str) -> str:
    """End the worker when asked to."""
    if prompt == "end":
        os._exit(1)
    return prompt
