"""The first process of a browser session: it waits for the network, says so, and waits to be ended.

It runs in the session, under `sessions.bootstrap`, which answers the service's request to start the browser.
"""

import signal
import socket  # noqa: F401 - the bootstrap lets this import wait for the session's network

print("ready", flush=True)  # noqa: T201 - the service reads it
while True:
    signal.pause()
